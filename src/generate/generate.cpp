#include "generate/generate.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "generate/sampler.h"

namespace powerinfer::generate {

namespace {

/// Adds the seconds of its life to a sum.
class Timer {
  public:
    explicit Timer(double& sum) : sum_(sum) {}
    ~Timer() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    double& sum_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A stop string that is the name of a control token can only be met as that token.
std::vector<TokenId> stop_tokens(const tokenizer::Tokenizer& tokenizer,
                                 const std::vector<std::string>& strings) {
    std::vector<TokenId> ids;
    for (const std::string& s : strings) {
        const auto id = tokenizer.find(s);
        if (id && tokenizer.kind(*id) == tokenizer::TokenKind::control) ids.push_back(*id);
    }
    return ids;
}

}  // namespace

Session::Session(engine::Engine& engine, const tokenizer::Tokenizer& tokenizer, int seq)
    : engine_(engine), tokenizer_(tokenizer), seq_(seq) {
    engine_.truncate(seq_, 0);
}

Session::Session(engine::Engine& engine, const tokenizer::Tokenizer& tokenizer, int seq, std::vector<TokenId> held)
    : engine_(engine), tokenizer_(tokenizer), seq_(seq), held_(std::move(held)) {}

void Session::step(std::span<const TokenId> tokens, bool want_logits) {
    batch_.clear();
    for (const TokenId id : tokens) batch_.push_back({id, seq_, false});
    batch_.back().want_logits = want_logits;
    try {
        engine_.step(batch_);
    } catch (...) {
        // How far the engine came is its own knowledge; what it holds is what we hold.
        held_.insert(held_.end(), tokens.begin(), tokens.end());
        held_.resize(static_cast<size_t>(engine_.n_past(seq_)));
        throw;
    }
    held_.insert(held_.end(), tokens.begin(), tokens.end());
}

/// False when the user stopped it. Afterwards the engine has the logits of the last token.
bool Session::evaluate_prompt(std::span<const TokenId> prompt, const GenerateOptions& options,
                              Answer& answer) {
    if (prompt.empty())
        fail(ErrorKind::bad_argument, "The prompt has no tokens; at least one is needed to go on from.");
    const auto n_ctx = static_cast<size_t>(engine_.plan().n_ctx);
    if (prompt.size() > n_ctx)
        fail(ErrorKind::bad_argument, "The prompt has {} tokens, which is more than the context of {}.",
             prompt.size(), n_ctx);
    for (const TokenId id : prompt)
        if (id < 0 || id >= engine_.spec().n_vocab)
            fail(ErrorKind::bad_argument, "The prompt has the token {}; the vocabulary has tokens 0 to {}.",
                 id, engine_.spec().n_vocab - 1);

    const size_t same = static_cast<size_t>(
        std::mismatch(held_.begin(), held_.end(), prompt.begin(), prompt.end()).first - held_.begin());
    const size_t n_cached = std::min(same, prompt.size() - 1);  // the last token is needed for its logits
    engine_.truncate(seq_, static_cast<int>(n_cached));
    held_.resize(n_cached);
    answer.n_cached = static_cast<int>(n_cached);

    const Timer timer(answer.timings.prompt_s);
    const auto n_batch = static_cast<size_t>(std::max(1, engine_.plan().n_batch));
    for (size_t at = n_cached; at < prompt.size(); at += n_batch) {
        if (options.should_stop && options.should_stop()) return false;
        const size_t n = std::min(n_batch, prompt.size() - at);
        step(prompt.subspan(at, n), at + n == prompt.size());
        answer.timings.n_prompt += static_cast<int>(n);
    }
    return true;
}

/// Drops the older half of what may be dropped. False when that is nothing.
bool Session::make_room(int n_keep, Answer& answer) {
    const int n_past = engine_.n_past(seq_);
    const int n_discard = (n_past - n_keep) / 2;
    if (n_discard < 1) return false;
    engine_.shift(seq_, n_keep, n_discard);
    held_.erase(held_.begin() + n_keep, held_.begin() + n_keep + n_discard);
    ++answer.n_shifts;
    return true;
}

Answer Session::generate(std::span<const TokenId> prompt, const GenerateOptions& options,
                         const OnText& on_text) {
    Sampler sampler(options.sampling, describe_vocab(tokenizer_, options.sampling, engine_.spec().n_vocab,
                                                     engine_.plan().n_ctx));
    return generate(prompt, options, sampler, on_text);
}

Answer Session::generate(std::span<const TokenId> prompt, const GenerateOptions& options, Sampler& sampler,
                         const OnText& on_text) {
    Answer answer;
    const int n_ctx = engine_.plan().n_ctx;
    if (options.n_keep < -1)
        fail(ErrorKind::bad_argument, "The option n_keep is {}; it must be -1 (the whole prompt), 0 or more.",
             options.n_keep);
    std::vector<TokenId> ends;
    for (TokenId id = 0; id < tokenizer_.n_vocab() && !options.sampling.ignore_eos; ++id)
        if (tokenizer_.is_end_of_generation(id)) ends.push_back(id);
    StopRules rules(options.stop, std::move(ends), stop_tokens(tokenizer_, options.stop.strings));
    answer.seed = sampler.seed();
    const int prompt_size = static_cast<int>(prompt.size());
    const int n_keep = options.n_keep < 0 ? prompt_size : std::min(options.n_keep, prompt_size);

    const auto emit = [&](const std::string& text) {
        if (!text.empty() && on_text) on_text(text);
    };
    bool cancelled = !evaluate_prompt(prompt, options, answer);
    bool full = false;
    sampler.forget_history();
    if (!cancelled)
        for (const TokenId id : prompt) sampler.accept(id);
    const uint64_t bytes_before = engine_.counts().weight_bytes;
    while (!cancelled && !rules.reason()) {
        cancelled = options.should_stop && options.should_stop();
        if (cancelled) break;
        TokenId id = 0;
        {
            const Timer timer(answer.timings.sample_s);
            id = sampler.sample(engine_.logits(0));
            sampler.accept(id);
        }
        answer.tokens.push_back(id);
        ++answer.timings.n_sample;
        emit(rules.push(id, tokenizer_.piece(id, options.show_special)));
        if (rules.reason()) break;

        const bool shifts = options.context_shift && options.stop.n_predict != -2;
        full = engine_.n_past(seq_) >= n_ctx && !(shifts && make_room(n_keep, answer));
        if (full) break;
        const Timer timer(answer.timings.decode_s);
        step({&id, 1}, true);
        ++answer.timings.n_decode;
    }
    emit(rules.finish());
    answer.timings.decode_bytes = engine_.counts().weight_bytes - bytes_before;
    answer.reason = cancelled ? FinishReason::cancelled : full ? FinishReason::context_full : *rules.reason();
    answer.stop_match = rules.match();
    return answer;
}

}  // namespace powerinfer::generate
