// A model file becomes a PowerInfer file: neurons in the order of their heat, the down projection by neuron, predictors,
// optionally smaller number formats. Not for learning what goes into it: see learn/.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "model/model.h"
#include "sparsity/predictor.h"
#include "sparsity/profile.h"

namespace powerinfer::convert {

struct CompleteOptions {
    std::string output;
    std::string type = "COPY";      ///< a target of quantize_file; COPY keeps every tensor's type
    bool allow_requantize = false;  ///< accept matrices that have lost precision already where they must be encoded again
    /// Keys to be set besides; they win over the model's.
    std::vector<std::pair<std::string, formats::GgufValue>> keys;
    int n_threads = 0;
    LogSink log;
    Progress progress;
};

/// Predictors and profile are numbered as the model is. The file has the magic PWRI where the original engine can run it.
/// The down projection of an ordinary file has to be encoded anew, by
/// neuron: quantised ones are refused unless allowed. Throws Error naming what does not fit.
void write_complete(const model::Model& model, const sparsity::PredictorSet& predictors,
                    const sparsity::ActivationProfile& profile, const CompleteOptions& options);

}  // namespace powerinfer::convert
