// Block structs of the formats whose 4-bit codes index a table: IQ4_NL, IQ4_XS, MXFP4.
// Layout only: no arithmetic, so that kernel files built for other instruction sets can include it safely.
//
// Nibbles: byte b of a group of 32 holds element b in its low half and element b + 16 in its high half.
//
//   IQ4_NL  | d f16 | qs 16 |                                    x[i] = d * kIq4Table[nibble]
//   IQ4_XS  | d f16 | scales_h u16 | scales_l 4 | qs 128 |       256 elements, g = i / 32
//           ls_g = low 4 bits: half of scales_l[g / 2], the low one for even g; upper 2: (scales_h >> 2g) & 3
//           group g lies in qs[16g .. 16g+15];                   x[i] = d * (ls_g - 32) * kIq4Table[nibble]
//   MXFP4   | e u8 | qs 16 |                                     x[i] = kMxfp4Table[nibble] * 2^(e - 128)
#pragma once

#include <cstdint>

namespace powerinfer::quant {

inline constexpr int8_t kIq4Table[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};

/// Twice the value of an FP4 number (one sign, two exponent, one mantissa bit).
inline constexpr int8_t kMxfp4Table[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Packed, because a block may lie at any address inside a mapped file.
#pragma pack(push, 1)

struct BlockIQ4_NL {
    uint16_t d;
    uint8_t qs[16];
};

struct BlockIQ4_XS {
    uint16_t d;
    uint16_t scales_h;
    uint8_t scales_l[4];
    uint8_t qs[128];
};

struct BlockMXFP4 {
    uint8_t e;
    uint8_t qs[16];
};

#pragma pack(pop)

static_assert(sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136 && sizeof(BlockMXFP4) == 17);

}  // namespace powerinfer::quant
