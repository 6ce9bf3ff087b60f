// A look into the feed-forwards while an engine runs, for those who learn about a model. Not for changing
// anything.
#pragma once

#include <cstdint>
#include <functional>

namespace powerinfer::engine {

/// One feed-forward of one pass, all neurons computed whatever the mode. Everything is row-major F32 and
/// valid during the call. The model's own output does not change by being looked at: not a bit.
struct ObservedFeedForward {
    int layer = 0;
    int64_t n_tokens = 0, n_embd = 0, n_ff = 0;
    const float* residual = nullptr;  ///< [n_tokens][n_embd] before the FFN norm
    const float* normed = nullptr;    ///< [n_tokens][n_embd] what gate and up read
    const float* gate =
        nullptr;                ///< [n_tokens][n_ff] gate . normed (+ bias); null where the model has no gate
    const float* up = nullptr;  ///< [n_tokens][n_ff] up . normed (+ bias)
    const float* h = nullptr;   ///< [n_tokens][n_ff] act(gate) * up, or act(up): before anything is left out
    const uint8_t* selected =
        nullptr;  ///< [n_tokens][n_ff] 1 where the predictor says "may fire"; null without one
};

/// Called once per layer and pass, in order, from the thread that called step(). What it throws leaves
/// step().
using Observer = std::function<void(const ObservedFeedForward&)>;

}  // namespace powerinfer::engine
