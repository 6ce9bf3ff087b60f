// Block structs of the formats for weights that are -1, 0 or +1 times a scale: TQ1_0, TQ2_0. 256 elements.
// Layout only: no arithmetic, so that kernel files built for other instruction sets can include it safely.
//
//   TQ1_0  | qs 48 | qh 4 | d f16 |      five (qs) or four (qh) base-3 digits per byte, first digit first:
//          digit n of byte b is ((b * 3^n mod 256) * 3) >> 8;   x = d * (digit - 1)
//          elements   0..159: qs[ 0..31], for n = 0..4, for each of the 32 bytes
//          elements 160..239: qs[32..47], for n = 0..4, for each of the 16 bytes
//          elements 240..255: qh[ 0.. 3], for n = 0..3, for each of the 4 bytes
//   TQ2_0  | qs 64 | d f16 |             x[i] = d * (((qs[32n+l] >> 2j) & 3) - 1)
//          n = i / 128, j = (i mod 128) / 32, l = i mod 32
#pragma once

#include <cstdint>

namespace powerinfer::quant {

// Packed, because a block may lie at any address inside a mapped file.
#pragma pack(push, 1)

struct BlockTQ1_0 {
    uint8_t qs[48];
    uint8_t qh[4];
    uint16_t d;
};

struct BlockTQ2_0 {
    uint8_t qs[64];
    uint16_t d;
};

#pragma pack(pop)

static_assert(sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66);

}  // namespace powerinfer::quant
