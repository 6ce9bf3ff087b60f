// Block structs of the K formats: 256 elements, cut into groups with small integer scales of their own.
// Layout only: no arithmetic, so that kernel files built for other instruction sets can include it safely.
//
// For element i of 256: n = i / 128 (half), j = (i mod 128) / 32 (quarter of the half), l = i mod 32, and
// g = i / 32 (group of 32, Q4_K and Q5_K), k = i / 16 (group of 16, Q2_K, Q3_K and Q6_K).
//
//   Q2_K  | scales 16 | qs 64 | d f16 | dmin f16 |
//         q = (qs[32n+l] >> 2j) & 3;  x[i] = d * (scales[k] & 15) * q - dmin * (scales[k] >> 4)
//   Q3_K  | hmask 32 | qs 64 | scales 12 | d f16 |
//         q = ((qs[32n+l] >> 2j) & 3) - (bit g of hmask[l] ? 0 : 4);  x[i] = d * (sc_k - 32) * q
//         6-bit sc_k: low 4 bits are the low (k < 8) or high (k >= 8) half of scales[k mod 8],
//         upper 2 bits are (scales[8 + k mod 4] >> 2 * (k / 4)) & 3
//   Q4_K  | d f16 | dmin f16 | scales 12 | qs 128 |
//         q = nibble of qs[32 * (g / 2) + l], low for even g;  x[i] = d * sc_g * q - dmin * m_g
//   Q5_K  | d f16 | dmin f16 | scales 12 | qh 32 | qs 128 |
//         as Q4_K with q + 16 where bit g of qh[l] is set
//         6-bit sc_g and m_g (both):  g < 4:  sc_g = scales[g] & 63,  m_g = scales[g+4] & 63
//                                     g >= 4: sc_g = (scales[g+4] & 15) | (scales[g-4] >> 6) << 4
//                                             m_g  = (scales[g+4] >> 4) | (scales[g]   >> 6) << 4
//   Q6_K  | ql 128 | qh 64 | scales 16 x int8 | d f16 |
//         low 4 bits of q: half of ql[64n + 32 * (j & 1) + l], the low one for j < 2;
//         upper 2 bits: (qh[32n+l] >> 2j) & 3;  x[i] = d * scales[k] * (q - 32)
#pragma once

#include <cstdint>

namespace powerinfer::quant {

// Packed, because a block may lie at any address inside a mapped file.
#pragma pack(push, 1)

struct BlockQ2_K {
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d, dmin;
};

struct BlockQ3_K {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;
};

struct BlockQ4_K {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qs[128];
};

struct BlockQ5_K {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};

struct BlockQ6_K {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint16_t d;
};

#pragma pack(pop)

static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

}  // namespace powerinfer::quant
