// The order of a model's feed-forward neurons: hottest first, and how to get back. Not for moving weights (convert/).
//
// In a model file: powerinfer.neuron_order.N  i32[n_ff] for every layer N: entry j is the number that neuron j had before
// it was moved. Files without these keys were never re-ordered.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "sparsity/predictor.h"
#include "sparsity/profile.h"

namespace powerinfer::sparsity {

/// [n_layer][n_ff]; empty = as numbered.
using NeuronOrder = std::vector<std::vector<int32_t>>;

/// By falling firing count; equal ones keep their order.
NeuronOrder order_by_firing(const ActivationProfile& profile);

/// The order of a file's neurons; empty where it has none. Throws Error{bad_file} naming the key where a list is not a
/// permutation of the layer's neurons or is missing.
NeuronOrder read_neuron_order(const formats::GgufFile& file, int n_layer, int n_ff);

/// The keys that say so. `before`: the order that the neurons had already, or empty.
std::vector<std::pair<std::string, formats::GgufValue>> neuron_order_keys(const NeuronOrder& order, const NeuronOrder& before);

/// The same counts, re-numbered.
ActivationProfile reordered(const ActivationProfile& profile, const NeuronOrder& order);
/// The same predictors, re-numbered.
PredictorSet reordered(const PredictorSet& set, const NeuronOrder& order);

}  // namespace powerinfer::sparsity
