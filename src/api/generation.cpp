// From a prompt to a text: the loop of the room generate, run on a session of the public API.
#include "api/handles.h"
#include "generate/generate.h"

namespace powerinfer {
namespace {

/// A sequence lent to the loop: what it knows of the tokens comes back, whatever it throws.
struct Loan {
    std::vector<Token>& held;
    generate::Session loop;

    Loan(engine::Engine& engine, const tokenizer::Tokenizer& tokenizer, int seq, std::vector<Token>& tokens)
        : held(tokens), loop(engine, tokenizer, seq, tokens) {}
    ~Loan() { held = loop.take_held(); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
};

}  // namespace

Generation Session::Impl::generate(const std::vector<Token>& prompt, const GenerateOptions& options,
                                   const TextCallback& callback) {
    const tokenizer::Tokenizer& tokenizer = model.impl_->vocabulary();
    check_seq(options.seq);
    Generation result;
    bool go_on = true;
    generate::GenerateOptions with;
    with.sampling = options.sampling;
    with.stop.n_predict = options.n_predict;
    with.stop.strings = options.stop;
    with.context_shift = options.context_shift;
    with.n_keep = options.n_keep;
    with.show_special = options.show_special;
    with.should_stop = [&] { return !go_on || stop.load(std::memory_order_relaxed); };
    const auto on_text = [&](std::string_view text) {
        if (!go_on) return;  // nothing more for a callback that has had enough
        result.text += text;
        if (callback) go_on = callback(text);
    };
    Loan loan(engine, tokenizer, options.seq, tokens[static_cast<size_t>(options.seq)]);
    generate::Answer answer = loan.loop.generate(prompt, with, on_text);

    result.reason = answer.reason;
    result.tokens = std::move(answer.tokens);
    result.stop_string = std::move(answer.stop_match);
    result.n_prompt = prompt.size();
    result.n_reused = static_cast<size_t>(answer.n_cached);
    result.seed = answer.seed;
    timings.prompt_seconds += answer.timings.prompt_s;
    timings.n_prompt += answer.timings.n_prompt;
    timings.decode_seconds += answer.timings.decode_s;
    timings.n_decode += answer.timings.n_decode;
    timings.sample_seconds += answer.timings.sample_s;
    timings.n_sample += answer.timings.n_sample;
    return result;
}

}  // namespace powerinfer
