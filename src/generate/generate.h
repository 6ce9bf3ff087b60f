// The one loop from prompt tokens to text, used by run, chat, the server and the library: the prompt is
// evaluated, tokens are drawn until a rule says stop, and text is handed out as soon as it is certain. Not
// for turning a conversation into a prompt (chat_template.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "generate/sampler_options.h"
#include "generate/stop.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::generate {

class Sampler;

struct GenerateOptions {
    SamplerOptions sampling;
    StopOptions stop;
    bool context_shift = false;  ///< when the context is full, drop the older half instead of stopping
    int n_keep = 0;              ///< tokens at the start that a shift never drops; -1: the whole prompt
    bool show_special = false;   ///< control tokens appear in the text

    /// Asked before every token and every piece of the prompt; true ends the answer
    /// (FinishReason::cancelled).
    std::function<bool()> should_stop;
};

/// Where the time of one answer went. Seconds of wall clock.
struct Timings {
    double prompt_s = 0, sample_s = 0, decode_s = 0;
    int n_prompt = 0;           ///< tokens of the prompt that were evaluated, not those found in the cache
    int n_sample = 0;           ///< tokens drawn
    int n_decode = 0;           ///< drawn tokens that were evaluated: all but the last
    uint64_t decode_bytes = 0;  ///< weights read while decoding
};

struct Answer {
    FinishReason reason = FinishReason::length;
    std::vector<TokenId> tokens;  ///< all that were drawn, the ending one included
    std::string stop_match;       ///< the stop string that ended it, or empty
    uint32_t seed = 0;            ///< that was used
    int n_cached = 0;             ///< tokens of the prompt that the sequence held already
    int n_shifts = 0;
    Timings timings;
};

/// Receives text as it becomes certain: whole characters, stop strings left out.
using OnText = std::function<void(std::string_view)>;

/// One sequence of an engine and the tokens it holds, so that a prompt that begins like the last one is not
/// computed again. Borrows engine and tokenizer, which must outlive it.
class Session {
  public:
    /// Whatever the sequence held before is forgotten.
    Session(engine::Engine& engine, const tokenizer::Tokenizer& tokenizer, int seq = 0);
    /// Takes a sequence over with the tokens that it holds. Precondition: held is as long as the engine's n_past.
    Session(engine::Engine& engine, const tokenizer::Tokenizer& tokenizer, int seq, std::vector<TokenId> held);

    /// prompt: the whole text so far, earlier answers included. Nothing is drawn from it, but penalties see
    /// it. Throws Error{bad_argument} for an empty prompt, one longer than the context, or impossible
    /// options; whatever it throws, the session can be used again.
    Answer generate(std::span<const TokenId> prompt, const GenerateOptions& options, const OnText& on_text);
    /// The same with a sampler that lives longer than one answer, so that its random numbers go on instead of
    /// beginning anew. Of options.sampling only ignore_eos is read. Precondition: the sampler was made for the
    /// vocabulary of this engine.
    Answer generate(std::span<const TokenId> prompt, const GenerateOptions& options, Sampler& sampler,
                    const OnText& on_text);

    /// The tokens whose keys and values the sequence holds, in order.
    const std::vector<TokenId>& held() const { return held_; }
    /// The same, for whoever takes the sequence back; the session is not used afterwards.
    std::vector<TokenId> take_held() { return std::move(held_); }

  private:
    bool evaluate_prompt(std::span<const TokenId> prompt, const GenerateOptions& options, Answer& answer);
    bool make_room(int n_keep, Answer& answer);
    void step(std::span<const TokenId> tokens, bool want_logits);

    engine::Engine& engine_;
    const tokenizer::Tokenizer& tokenizer_;
    int seq_;
    std::vector<TokenId> held_;
    std::vector<engine::BatchToken> batch_;
};

}  // namespace powerinfer::generate
