// Encoded activation vectors in the order that dot products with lists of tokens read: sixteen neighbouring blocks side
// by side, so that one vector load brings the same piece of each. What is in a block: activation_q8.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/activation_q8.h"

namespace powerinfer::quant {

/// Blocks of 32 (q8_32) or 256 (q8_256) values that lie side by side. The last such group of a vector is filled up with
/// zeros.
inline constexpr int64_t kLaneBlocks = 16;

/// Bytes of one vector of n values in lane order; a multiple of 64.
size_t lane_order_bytes(ActivationEncoding encoding, int64_t n);

/// Where the parts lie. Per group of kLaneBlocks blocks:
///   q     dword g of every block, then dword g + 1 of every block, ...
///   d     f32 per block
///   sums  q8_32: int32 per block; q8_256: dword g (two int16) of every block, then dword g + 1, ...
Q8Parts lane_order_parts(ActivationEncoding encoding, int64_t n);

/// `src` as encode() made it, to `dst` of lane_order_bytes(). The encoding is q8_32 or q8_256.
void to_lane_order(ActivationEncoding encoding, const void* src, void* dst, int64_t n);

}  // namespace powerinfer::quant
