// A long text in windows, as perplexity is measured: each is run from an empty cache, with BOS in place of
// its first token where the model wants BOS, and its second half is scored. With a stride, windows overlap
// and only what is new counts.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/engine.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::learn {

struct Windows {
    int n_ctx;  ///< tokens of each
    int step;   ///< from one to the next
    int n_windows;
    int first;  ///< the first position of a window whose successor is scored
};

/// stride 0 = side by side; n_windows_limit -1 = all. Throws Error{bad_argument} where the text is too short.
Windows cut_windows(int64_t n_tokens, int n_ctx, int stride, int n_windows_limit);

/// The tokens of one window, as they are fed.
std::vector<int32_t> window_input(std::span<const int32_t> tokens, const Windows& w, int window,
                                  const tokenizer::SpecialTokens& special);

/// Runs one window and calls score(position, logits [n_vocab]) for every position from `first` on but the
/// last.
void run_window(engine::Engine& engine, std::span<const int32_t> input, int first,
                FunctionRef<void(int, std::span<const float>)> score);

}  // namespace powerinfer::learn
