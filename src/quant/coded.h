// Blocks taken apart into whole numbers and the scales they are multiplied with: how rows are re-laid without loss.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace powerinfer::quant {

/// x[i] = scale[i / group] * code[i] - min[i / group], in exactly these two rounded operations.
struct CodedBlock {
    int8_t code[256];
    float scale[16];
    float min[16];
};

/// The codes of a block format.
struct CodedFormat {
    DType type;
    int block;           ///< elements
    int group;           ///< elements that share a scale
    bool has_min;        ///< else all minima are zero
    int lowest, highest; ///< range of the codes
    bool half_scale;     ///< every scale is an F16 value
    void (*take_apart)(const void* block, CodedBlock& out);
};

/// Null for F32, F16 and BF16, which are not made of blocks, and for types without weights.
const CodedFormat* find_coded_format(DType type);

}  // namespace powerinfer::quant
