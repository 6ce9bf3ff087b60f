// A folder of trained predictors: model_0.pt ... model_{n-1}.pt (fc1.weight [rank, n_embd], fc2.weight [n_ff,
// rank]) and config.json with the threshold.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "convert/tensor_stream.h"

namespace powerinfer::convert {

struct PredictorFolder {
    std::vector<TensorJob> jobs;     ///< blk.N.fc1.weight {n_embd, rank}, blk.N.fc2.weight {rank, n_ff}
    std::optional<float> threshold;  ///< a neuron takes part iff its predictor's output is at least this
};

/// Checks every file (number, names, shapes) and keeps none in memory: each is opened again when its turn
/// comes. `type_for` decides the stored type of a matrix from its name, its type in the file and its row
/// length.
PredictorFolder open_predictors(
    const std::string& folder, int64_t n_layer, int64_t n_embd, int64_t n_ff,
    const std::function<DType(const std::string& name, DType stored, int64_t n)>& type_for);

}  // namespace powerinfer::convert
