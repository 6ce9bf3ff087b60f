// Published predictors (a folder of model_N.pt and config.json) as data. Not for making them: see learn/.
#pragma once

#include <string>

#include "model/model.h"
#include "sparsity/predictor.h"

namespace powerinfer::convert {

/// Checks every file against the model (predictors.h). Matrices are stored as `type` where its block divides their rows,
/// else as F16. Throws Error naming the file, tensor or key at fault.
sparsity::PredictorSet import_predictors(const std::string& folder, const model::Model& model, DType type);

}  // namespace powerinfer::convert
