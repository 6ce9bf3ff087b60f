#include "learn/windows.h"

#include <algorithm>

#include "base/error.h"

namespace powerinfer::learn {

Windows cut_windows(int64_t n_tokens, int n_ctx, int stride, int n_windows_limit) {
    if (n_tokens < 2 * static_cast<int64_t>(n_ctx))
        fail(ErrorKind::bad_argument,
             "the text has {} tokens, a context of {} needs at least {}; give a longer text or a smaller "
             "--ctx-size",
             n_tokens, n_ctx, 2 * n_ctx);
    if (stride >= n_ctx)
        fail(ErrorKind::bad_argument, "--ppl-stride {} must be smaller than the context of {}", stride,
             n_ctx);
    Windows w = {n_ctx, n_ctx, static_cast<int>(n_tokens / n_ctx), n_ctx / 2};
    if (stride > 0)
        w = {n_ctx, stride, static_cast<int>((n_tokens - n_ctx + stride - 1) / stride), n_ctx - stride - 1};
    if (n_windows_limit >= 0) w.n_windows = std::min(w.n_windows, n_windows_limit);
    return w;
}

std::vector<int32_t> window_input(std::span<const int32_t> tokens, const Windows& w, int window,
                                  const tokenizer::SpecialTokens& special) {
    const auto part = tokens.subspan(static_cast<size_t>(window) * static_cast<size_t>(w.step),
                                     static_cast<size_t>(w.n_ctx));
    std::vector<int32_t> input(part.begin(), part.end());
    if (special.add_bos) input[0] = special.bos;
    return input;
}

void run_window(engine::Engine& engine, std::span<const int32_t> input, int first,
                FunctionRef<void(int, std::span<const float>)> score) {
    engine.truncate(0, 0);
    std::vector<engine::BatchToken> batch;
    const auto n_batch = static_cast<size_t>(engine.plan().n_batch);
    for (size_t begin = 0; begin < input.size(); begin += n_batch) {
        batch.clear();
        const size_t end = std::min(begin + n_batch, input.size());
        for (size_t i = begin; i < end; ++i)
            batch.push_back({input[i], 0, i >= static_cast<size_t>(first) && i + 1 < input.size()});
        engine.step(batch);
        size_t n = 0;
        for (size_t i = begin; i < end; ++i)
            if (batch[i - begin].want_logits) score(static_cast<int>(i), engine.logits(n++));
    }
}

}  // namespace powerinfer::learn
