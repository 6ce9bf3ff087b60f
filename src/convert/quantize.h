// One model file into another with smaller (or other) number formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/log.h"
#include "formats/gguf.h"

namespace powerinfer::convert {

struct QuantizeOptions {
    std::string input;                 ///< GGUF or PWRI; of a split set the first part
    std::string output;                ///< one file; appears under this name only when complete and checked
    std::string type;                  ///< name or number of a target, see file_type.h
    bool pure = false;                 ///< the base type for every matrix instead of the usual mixture
    bool leave_output_tensor = false;  ///< output.weight keeps its type
    bool allow_requantize = false;     ///< accept an input that has lost precision already
    std::optional<DType> output_tensor_type, token_embedding_type;
    std::optional<DType> predictor_type;  ///< for fc1 and fc2; otherwise the base type
    std::vector<std::pair<std::string, formats::GgufValue>> overrides;  ///< values of keys instead of the input's
    int n_threads = 0;                    ///< 0 = all cores
    LogSink log;                          ///< one line per tensor, totals
    Progress progress;
};

struct QuantizeResult {
    uint64_t n_bytes_before = 0, n_bytes_after = 0;  ///< of tensor data
    int n_tensors = 0, n_fallbacks = 0;              ///< fallbacks: row length not divisible by the block
};

/// Keys are copied (with general.file_type and general.quantization_version of the result, without split.*),
/// the magic and the order of tensors are kept. The result does not depend on the number of threads.
QuantizeResult quantize_file(const QuantizeOptions& options);

}  // namespace powerinfer::convert
