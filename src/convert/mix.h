// Which storage type each tensor of a quantized file gets: the usual mixtures, where sensitive matrices get
// more bits, overrides from the user, and fallbacks for rows that a block size does not divide. Not for
// encoding: see tensor_stream.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "convert/file_type.h"
#include "formats/gguf.h"

namespace powerinfer::convert {

/// What the mixtures depend on besides the tensor itself.
struct MixFacts {
    std::string architecture;
    int64_t n_layer = 0;
    int64_t n_head = 1, n_head_kv = 1;
    int64_t n_expert = 0;
};

MixFacts facts_of(const formats::GgufFile& file);

/// What the user asked for.
struct MixChoice {
    const FileType* target = nullptr;
    bool pure = false;          ///< base type for every matrix
    bool leave_output = false;  ///< output.weight keeps its type
    std::optional<DType> output, token_embedding, predictor;
};

struct MixTensor {
    std::string_view name;
    DType type;  ///< stored type of the input
    std::array<int64_t, 4> ne;
};

struct MixDecision {
    DType type;
    DType wanted;  ///< differs from `type` where the row length forced a fallback
};

/// True for matrices that are stored in compressed types: at least two dimensions, a name that ends in
/// "weight", and not one of the small tensors whose precision matters more than their size.
bool is_quantizable(std::string_view name, const std::array<int64_t, 4>& ne);

/// The type to use for rows of n elements when `wanted` is asked for: itself where its block divides n, else
/// the nearest type that fits, in the end F16.
DType fitting_type(DType wanted, int64_t n);

/// One decision per tensor, in the same order.
std::vector<MixDecision> decide_types(const MixChoice& choice, const MixFacts& facts,
                                      std::span<const MixTensor> tensors);

}  // namespace powerinfer::convert
