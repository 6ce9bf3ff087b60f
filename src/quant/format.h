// The meaning of compressed numbers: one row per number format with a slow, obvious encoder and decoder.
// These are the truth that every kernel is tested against. Not for speed: see kernels/.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace powerinfer::quant {

/// How the activations that meet weights of a format are encoded before the dot product. There is exactly one
/// encoding per weight format, whichever kernel, batch size or thread count computes the product.
enum class ActivationEncoding {
    f32,    ///< left as they are: weights F32, F16, BF16
    q8_32,  ///< blocks of 32 int8 with an f32 scale (activation_q8.h)
    q8_256  ///< blocks of 256 int8 with an f32 scale and 16 partial sums (activation_q8.h)
};

struct Format {
    DType type;
    ActivationEncoding activation;
    /// dst[0..n) = the values of n encoded elements. n is a multiple of the block size.
    void (*decode)(const void* src, float* dst, int64_t n);
    /// Encodes n values; null for formats we only read. `importance` (n weights, or null) says how much an
    /// error in each element matters; formats that search scales use it, others ignore it.
    void (*encode)(const float* src, void* dst, int64_t n, const float* importance);
};

/// The row of a type, or null if tensors of this type hold no weights (I32, Q8_K, ...).
const Format* find_format(DType type);

/// Same, for types known to have one. Throws Error{unsupported} naming the type otherwise.
const Format& format(DType type);

}  // namespace powerinfer::quant
