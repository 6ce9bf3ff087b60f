// What makers of predictors look at: a layer's gate, and of recorded tokens what predictors read and what neurons did.
#pragma once

#include "learn/matmul.h"
#include "learn/recording.h"
#include "model/model.h"

namespace powerinfer::learn {

/// The gate's rows (those of up where the model has no gate), [n_ff][n_embd].
Floats gate_rows(const model::Model& model, int layer);

/// out [n][n_embd]: what predictors of that input read for tokens [first, first + n).
Floats predictor_input(const model::Model& model, const LayerRecording& recording, int layer, int64_t first, int64_t n,
                       model::PredictorInput input);

/// [n_ff][n]: h^2 |down row|^2, positive exactly where a neuron fired. norms [n_ff]: |down row|^2 (profiler.h).
Floats contributions(const std::vector<double>& norms, const LayerRecording& recording, int64_t first, int64_t n,
                     Multiplier& multiply);

}  // namespace powerinfer::learn
