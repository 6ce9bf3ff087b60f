// Runs a text through a model, window by window, while somebody looks into the feed-forwards.
// Not for scoring predictions: see evaluate.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/log.h"
#include "engine/engine.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::learn {

/// Windows lie side by side and each is read from an empty context; the last may be shorter.
struct Text {
    std::span<const int32_t> ids;
    int window = 512;                 ///< tokens of the text that are read together
    std::optional<int32_t> bos = {};  ///< put before each window and never shown

    int64_t n_tokens() const { return static_cast<int64_t>(ids.size()); }
    int64_t n_windows() const { return (n_tokens() + window - 1) / window; }
    int64_t window_begin(int64_t w) const { return w * window; }
    int64_t window_size(int64_t w) const { return std::min<int64_t>(window, n_tokens() - w * window); }
};

/// The text of that model: the window is cut to the model's context, and models that want a start token get
/// it. Throws Error{bad_argument} where there are no tokens or the window is below 2.
Text make_text(std::span<const int32_t> ids, int window, const model::ModelSpec& spec,
               const tokenizer::SpecialTokens& special);

/// An engine with room for one window of the text as one pass, that computes everything.
engine::Engine load_dense(std::shared_ptr<const model::Model> model, const Text& text, int n_threads);

/// Shows each layer of each window from `first_window` on, once, in order, start tokens left out.
void run_text(engine::Engine& engine, const Text& text, int64_t first_window,
              const std::function<void(int64_t window, const engine::ObservedFeedForward&)>& see,
              const Progress& progress = {});

/// Whether neuron i % n_ff fires for token i / n_ff: its pre-activation is above zero; with dReLU, gate and
/// up are.
inline bool fires(const engine::ObservedFeedForward& f, model::Activation activation, int64_t i) {
    if (f.gate == nullptr) return f.up[i] > 0;
    return f.gate[i] > 0 && (activation != model::Activation::drelu || f.up[i] > 0);
}

}  // namespace powerinfer::learn
