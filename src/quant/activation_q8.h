// The two 8-bit activation encodings and their slow, obvious encoders.
//
// Both are stored in parts rather than as structs of blocks, because kernels read the parts at different
// strides:
//
//   q8_32   of n values (n a multiple of 32):    [ n int8 q | n/32 f32 d | n/32 int32 sums ]
//           x[i] ~ d[i/32] * q[i],  sums[b] = sum of q in block b: a whole number, so that kernels can use it
//           exactly both for minima (Q4_1, Q5_1) and for the zero point of unsigned codes
//   q8_256  of n values (n a multiple of 256):   [ n int8 q | n/256 f32 d | n/16 int16 sums ]
//           x[i] ~ d[i/256] * q[i], sums[k] = sum of q[16k .. 16k+15]
//
// d = max|x| / 127 over the block, kept in f32, and q = round to nearest, ties to even, of x / d (computed as
// x * (127 / max|x|)). A block whose max|x| is below kSmallestQ8Max counts as zero: d = 0 and q = 0. A block
// with an infinity or NaN has d = NaN and q = 0, so that the damage reaches the logits, where it is noticed.
// So q lies in
// [-127, 127]: -128 never occurs, which lets AVX2 kernels use sign tricks safely.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/format.h"

namespace powerinfer::quant {

/// Below this, 127 / max|x| leaves the range of f32.
inline constexpr float kSmallestQ8Max = 0x1p-100f;

/// Bytes of one encoded activation vector of n values (a multiple of 64, so that vectors can lie side by side
/// aligned).
size_t activation_bytes(ActivationEncoding encoding, int64_t n);

/// Byte offsets of the parts inside one encoded vector.
struct Q8Parts {
    size_t d;    ///< f32 scales
    size_t sum;  ///< int32 (q8_32) or int16 (q8_256) sums of q
};
Q8Parts q8_parts(ActivationEncoding encoding, int64_t n);

/// The reference encoder. `dst` has activation_bytes(encoding, n) bytes.
void encode_activation(ActivationEncoding encoding, const float* x, void* dst, int64_t n);

/// The values that an encoded vector stands for.
void decode_activation(ActivationEncoding encoding, const void* src, float* x, int64_t n);

}  // namespace powerinfer::quant
