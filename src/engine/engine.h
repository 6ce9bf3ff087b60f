// Carries a plan out: weights of one model, the KV cache of its sequences, and one verb, step().
// Not for text: tokens in, logits out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "engine/observer.h"
#include "model/model.h"
#include "plan/plan.h"

namespace powerinfer::engine {

struct EngineOptions {
    int n_threads = 0;        ///< for single tokens; 0 = one per physical core
    int n_threads_batch = 0;  ///< for prompts; 0 = n_threads
    std::string isa = {};     ///< instruction set by name; empty = the best this CPU has
    std::string layout_path = {};  ///< file that keeps re-laid weights for the next load; empty = none
};

/// One token to be appended to a sequence.
struct BatchToken {
    int32_t id = 0;
    int seq = 0;  ///< 0 .. plan.n_seq - 1
    bool want_logits = false;
};

/// What the feed-forwards of one layer did, counted over all tokens since the last reset.
struct LayerCounts {
    uint64_t neurons = 0;   ///< n_ff times tokens
    uint64_t selected = 0;  ///< gate rows computed: all without a predictor
    uint64_t positive = 0;  ///< of those, gates above zero
    uint64_t fired = 0;     ///< up rows used: with mode off all, else those with a gate above zero
};

struct EngineCounts {
    std::vector<LayerCounts> layers;
    uint64_t tokens = 0;
    uint64_t weight_bytes = 0;  ///< bytes of weights that had to be read at least once, summed over passes

    /// Share of neurons whose up and down rows were used, over all layers.
    double active_share() const;
};

/// Not thread-safe: one step() at a time. Logits do not depend on thread counts, on how tokens are cut into steps,
/// or on the other sequences.
class Engine {
  public:
    /// Places weights as the plan says. Keeps the model alive. `log` is told when weights are re-laid.
    static Engine load(std::shared_ptr<const model::Model> model, const plan::Plan& plan,
                       const EngineOptions& options = {}, const LogSink& log = {}, const Progress& progress = {});
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    const model::ModelSpec& spec() const;
    const plan::Plan& plan() const;
    std::string_view isa() const;
    int n_threads() const;
    int n_threads_batch() const;

    /// Appends the tokens, in order, each to its sequence, and computes the logits of those that want them.
    /// Throws Error{bad_argument} for ids outside the vocabulary or unknown sequences and Error{out_of_memory} when a
    /// sequence would exceed plan.n_ctx, both before anything is computed; Error{internal} when logits are not finite.
    void step(std::span<const BatchToken> tokens);

    /// Logits [n_vocab] of the i-th token of the last step() that wanted them. Valid until the next step().
    std::span<const float> logits(size_t i) const;
    size_t n_logits() const;

    /// Fingerprint of the last logits computed; 0 before the first.
    uint64_t logits_hash() const;

    /// Tokens held by a sequence.
    int n_past(int seq) const;
    /// Forgets everything from position n_past on.
    void truncate(int seq, int n_past);
    /// Context shift: forgets positions [n_keep, n_keep + n_discard) and moves the later ones down.
    void shift(int seq, int n_keep, int n_discard);
    /// Makes sequence `to` an exact copy of the first n_past positions of `from`.
    void copy(int from, int to, int n_past);

    /// The cached keys and values of the first n_past positions of a sequence, in pieces of a fixed order, for keeping
    /// them in a file. Valid until the sequence changes.
    std::vector<std::span<const uint8_t>> cached(int seq, int n_past) const;
    /// Makes a sequence hold n_past positions whose pieces, in that order, `fill` provides. It must be the work of an
    /// engine of the same model, plan and instruction set: the bytes are not looked at. Holds nothing if `fill` throws.
    void restore(int seq, int n_past, const std::function<void(std::span<uint8_t>)>& fill);

    /// Shows every feed-forward from now on to `observer`, one call per layer and pass of up to plan.n_batch tokens; an
    /// empty one ends that. Slower, and with the same logits.
    void observe(Observer observer);

    const EngineCounts& counts() const;
    void reset_counts();

  private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace powerinfer::engine
