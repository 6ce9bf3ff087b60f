// The library for C++17 and later: load a model, turn text into tokens, step, sample, generate, stop.
// Not for C, which has powerinfer_c.h with the same abilities.
//
//   powerinfer::Model model = powerinfer::Model::load("model.gguf");
//   powerinfer::Session session(model);
//   session.generate("Once upon a time", {}, [](std::string_view text) {
//       std::cout << text;
//       return true;
//   });
//
// Whatever goes wrong is thrown as powerinfer::Error (or std::bad_alloc). There is no state outside these objects, no
// environment variable is read and nothing is printed: several models and sessions live side by side in one process.
#pragma once

#include <powerinfer/callbacks.h>
#include <powerinfer/error.h>
#include <powerinfer/export.h>
#include <powerinfer/generation.h>
#include <powerinfer/version.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace powerinfer {

using Token = int32_t;
inline constexpr Token kNoToken = -1;

/// What this library can do on this machine.
struct Capabilities {
    std::string version;
    std::string cpu;                         ///< as its vendor calls it
    int n_cores = 0;                         ///< distinct cores that this process may use: the default thread count
    std::vector<std::string> isas;           ///< instruction sets that can run here, best first
    std::vector<std::string> compiled_isas;  ///< all that were built in
};
POWERINFER_API Capabilities capabilities();

struct ModelOptions {
    std::string activation;          ///< "relu", "silu", "relu_squared", "gelu", "drelu"; empty: what the file says
    std::optional<float> threshold;  ///< of the predictors; nothing: what the file says
    LogSink log = {};                ///< used during load() only
    Progress progress = {};          ///< used during load() only; returning false makes load() throw Error{cancelled}
};

struct ChatMessage {
    std::string role;  ///< "system", "user", "assistant"
    std::string content;
};

/// Weights (mapped, not copied) and vocabulary of one file. A handle: copies share one model, which lives as long as a
/// copy or a Session of it. All members may be called from several threads at once.
class POWERINFER_API Model {
  public:
    /// Opens and checks a GGUF or PWRI file, or the first of a split set.
    static Model load(const std::string& path, const ModelOptions& options = {});
    Model(const Model&);
    Model(Model&&) noexcept;
    Model& operator=(const Model&);
    Model& operator=(Model&&) noexcept;
    ~Model();

    const std::string& architecture() const;
    const std::string& name() const;  ///< as the file says, may be empty
    int n_vocab() const;              ///< logits per token
    int n_embd() const;
    int n_layer() const;
    int n_ff() const;
    int n_ctx_train() const;
    uint64_t n_bytes() const;  ///< of all files of the model
    std::string activation() const;
    bool has_predictors() const;
    float threshold() const;  ///< of the predictors, in force

    /// Keys of the file in their order, and the value of one as text: strings as they are, arrays as "[1, 2]" (their
    /// strings in quotes). Nothing for a key that the file does not have.
    std::vector<std::string> metadata_keys() const;
    std::optional<std::string> metadata(std::string_view key) const;

    /// False for a file without a vocabulary; then everything below throws Error{unsupported}.
    bool has_vocabulary() const;
    /// add_special: BOS and EOS as the vocabulary wants them. parse_special: recognise control tokens in the text.
    std::vector<Token> tokenize(std::string_view text, bool add_special = true, bool parse_special = false) const;
    std::string detokenize(const std::vector<Token>& tokens, bool show_special = false) const;
    /// The bytes of one token, which may end inside a UTF-8 sequence.
    std::string piece(Token token, bool show_special = false) const;
    bool is_end_of_generation(Token token) const;
    Token bos() const;  ///< kNoToken where the vocabulary has none
    Token eos() const;
    /// The template of the file, empty where there is none.
    const std::string& chat_template() const;
    /// The text of a conversation as the model was trained on it, ready for Session::generate(). `wanted` is empty for
    /// the file's template, the name of a known one ("chatml") or a template. Throws Error{bad_argument} where there
    /// is none, or with the template's own refusal. The BOS that a template writes and generate() adds is dropped.
    std::string apply_chat_template(const std::vector<ChatMessage>& messages, bool add_generation_prompt = true,
                                    const std::string& wanted = "") const;

  private:
    friend class Session;
    friend class Sampler;
    struct Impl;
    explicit Model(std::shared_ptr<const Impl> impl);
    std::shared_ptr<const Impl> impl_;
};

struct SessionOptions {
    int n_ctx = 0;                  ///< tokens per sequence; 0: what the model was trained for
    int n_seq = 1;                  ///< sequences
    int n_batch = 512;              ///< tokens computed in one pass
    int n_threads = 0;              ///< for single tokens; 0: one per core
    int n_threads_batch = 0;        ///< for prompts; 0: n_threads
    std::string sparsity = "auto";  ///< "off", "exact", "predict", "auto"
    std::string kv_type = "f16";    ///< "f32", "f16", "bf16" or "q8_0"
    bool repack = true;             ///< copy weights into the order that is fastest to read, where memory allows
    std::string isa;                ///< one of Capabilities::isas; empty: the best
    LogSink log = {};               ///< used by the constructor only
    Progress progress = {};         ///< used by the constructor only; returning false throws Error{cancelled}
};

/// One token to be appended to a sequence.
struct StepToken {
    Token id = 0;
    int seq = 0;
    bool want_logits = false;
};

/// The logits of one token: n_vocab floats that belong to the session.
struct Logits {
    const float* values = nullptr;
    size_t count = 0;
    const float* data() const { return values; }
    size_t size() const { return count; }
    const float* begin() const { return values; }
    const float* end() const { return values + count; }
    float operator[](size_t i) const { return values[i]; }
};

/// Where the time went since the session began or reset_counters().
struct Timings {
    double prompt_seconds = 0;  ///< in steps of several tokens
    int64_t n_prompt = 0;       ///< tokens in them
    double decode_seconds = 0;  ///< in steps of one token
    int64_t n_decode = 0;
    double sample_seconds = 0;
    int64_t n_sample = 0;
    uint64_t weight_bytes = 0;  ///< read at least once, summed over passes
};

struct GenerateOptions {
    int n_predict = -1;             ///< tokens to make; -1: no limit; -2: until the context is full
    std::vector<std::string> stop;  ///< strings that end the text and do not belong to it
    bool context_shift = false;     ///< when the context is full, drop the older half instead of stopping
    int n_keep = 0;                 ///< tokens at the start that this never drops; -1: the whole prompt
    bool show_special = false;      ///< control tokens appear in the text
    int seq = 0;
    SamplerOptions sampling;
};

struct Generation {
    FinishReason reason = FinishReason::length;
    std::string text;           ///< what the callback was given, joined
    std::vector<Token> tokens;  ///< all that were sampled
    std::string stop_string;    ///< the one that came up, or empty
    size_t n_prompt = 0;        ///< tokens of the prompt
    size_t n_reused = 0;        ///< of those, how many the session still held and did not compute again
    uint32_t seed = 0;          ///< in use: that of the options, or the random one
};

/// Given each new piece of text, in whole UTF-8 sequences, as soon as it is certain. Returning false ends the generation
/// with FinishReason::cancelled. An exception passes through generate() and leaves the session usable.
using TextCallback = std::function<bool(std::string_view text)>;

class Sampler;

/// A plan for one model with its KV cache: one or several sequences. Not for several threads at once: a second thread
/// that enters while one is inside gets Error{bad_argument}, and so does a callback that calls back into its session.
/// Only request_stop() may be called from anywhere. Results do not depend on thread counts, on how tokens are cut into
/// steps, or on other sequences. Weights that have to be re-laid for a sparsity mode (the log says so) are held by each
/// session for itself, so several texts at once cost less memory as sequences of one session.
class POWERINFER_API Session {
  public:
    /// Throws Error{bad_argument | unsupported | out_of_memory} where model, machine and options do not fit.
    explicit Session(const Model& model, const SessionOptions& options = {});
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    const Model& model() const;
    int n_ctx() const;
    int n_seq() const;
    int n_threads() const;
    int n_threads_batch() const;
    std::string isa() const;
    std::string sparsity() const;  ///< what "auto" became
    std::string plan() const;      ///< one line for people: mode, why, bytes by kind

    /// Makes the sequence begin with the prompt and continues it. What is said is decided by prompt, options and seed
    /// alone: tokens that the sequence already holds are reused where they agree with the prompt and forgotten where not.
    /// So a conversation is generated from its whole text each time, and only what is new is computed. Afterwards the
    /// sequence holds the prompt and the answer without its last token. Text is tokenized with its special tokens.
    /// Throws Error{bad_argument} for an empty prompt, one longer than the context, and impossible options.
    Generation generate(std::string_view prompt, const GenerateOptions& options = {}, const TextCallback& callback = {});
    Generation generate(const std::vector<Token>& prompt, const GenerateOptions& options = {},
                        const TextCallback& callback = {});

    /// Ends the generation that runs, or the next one if none does, with FinishReason::cancelled, before its next pass.
    /// Used up when that generation ends, however it does. Thread-safe, and safe in a signal handler.
    void request_stop() noexcept;
    /// Takes back a request that nothing has followed yet.
    void clear_stop() noexcept;

    /// Appends tokens to their sequences and computes the logits that are wanted. Throws Error{bad_argument} for ids or
    /// sequences that do not exist and Error{out_of_memory} when a sequence would exceed n_ctx, with nothing done.
    void step(const std::vector<StepToken>& tokens);
    /// Appends to one sequence and computes the logits after the last token.
    void append(const std::vector<Token>& tokens, int seq = 0);

    /// Of the i-th token of the last step that wanted them; valid until the next step or generate().
    Logits logits(size_t i = 0) const;
    size_t n_logits() const;
    /// Fingerprint of the last logits computed; 0 before the first.
    uint64_t logits_hash() const;

    /// Tokens that a sequence holds.
    const std::vector<Token>& tokens(int seq = 0) const;
    /// Forgets everything from position n on.
    void truncate(int seq, int n);
    /// Forgets positions [n_keep, n_keep + n_discard) and moves the later ones down.
    void shift(int seq, int n_keep, int n_discard);
    /// Makes sequence `to` equal to the first n tokens of `from`.
    void copy(int from, int to, int n);

    /// Share of feed-forward neurons whose rows were used, over all layers or of one. 0 before the first step.
    double active_share() const;
    double active_share(int layer) const;
    Timings timings() const;
    void reset_counters();

  private:
    friend class Sampler;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A sampling chain with its history, for loops of one's own; generate() makes its own. Not for several threads at once.
class POWERINFER_API Sampler {
  public:
    /// Takes vocabulary and context from the session, which it does not need afterwards.
    explicit Sampler(const Session& session, const SamplerOptions& options = {});
    Sampler(const Sampler&);
    Sampler(Sampler&&) noexcept;
    Sampler& operator=(const Sampler&);
    Sampler& operator=(Sampler&&) noexcept;
    ~Sampler();

    /// The next token by the i-th logits of the session's last step. Does not remember it: accept() does.
    Token sample(const Session& session, size_t i = 0);
    /// The same for logits from elsewhere, [n_vocab].
    Token sample(const float* logits, size_t n);
    /// Adds a token of the prompt or of the answer to the history.
    void accept(Token token);
    uint32_t seed() const;
    /// "logit-bias -> penalties -> ... -> dist": what is really applied.
    std::string chain() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace powerinfer
