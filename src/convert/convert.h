// Other people's checkpoints to ours: a Hugging Face folder becomes a GGUF file, or a PWRI file with
// predictors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/log.h"
#include "model/spec.h"

namespace powerinfer::convert {

struct ConvertOptions {
    std::string folder;     ///< config.json, *.safetensors, tokenizer files
    std::string output;     ///< appears under this name only when complete and checked
    std::string predictor;  ///< folder of model_N.pt and config.json, or empty
    std::string outtype =
        "auto";        ///< type of all matrices: a name such as "f16" or "q8_0"; "auto" keeps each one's
    std::string name;  ///< `general.name`; empty = the folder's name
    std::optional<model::Activation> activation;  ///< wins over what config.json says
    int n_threads = 0;                            ///< 0 = all cores
    LogSink log;
    Progress progress;
};

struct ConvertResult {
    int n_tensors = 0;
    int n_fallbacks = 0;   ///< matrices stored as F16 because the block size does not divide their rows
    uint64_t n_bytes = 0;  ///< of tensor data
    bool has_predictors = false;
};

/// Streams tensor by tensor: memory does not grow with the model. The same input gives the same bytes,
/// whatever the number of threads. Throws Error with one sentence that names the file, key or tensor at
/// fault.
ConvertResult convert_folder(const ConvertOptions& options);

}  // namespace powerinfer::convert
