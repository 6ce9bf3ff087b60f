// Finds out which activation a model's feed-forwards were trained with, where its file is silent or wrong about it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "formats/gguf.h"
#include "model/spec.h"

namespace powerinfer::learn {

struct ActivationTrial {
    model::Activation activation;
    double perplexity = 0;         ///< of the text, with this activation
    double gates_below_zero = 0;   ///< share over all layers and tokens
    std::vector<double> gates_below_zero_per_layer;
};

/// Runs the text through the model once per candidate, computing everything, and returns the trials sorted by
/// perplexity: the first is the activation the weights were trained with. `ids` is cut into windows of `window` tokens;
/// the second half of each is scored. Throws Error{bad_argument} when there is not one whole window.
std::vector<ActivationTrial> probe_activations(std::shared_ptr<const formats::GgufFile> file, std::span<const int32_t> ids,
                                               int window, int n_threads, const Progress& progress = {});

}  // namespace powerinfer::learn
