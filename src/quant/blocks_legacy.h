// Block structs of the formats with 32 elements and one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
// Layout only: no arithmetic, so that kernel files built for other instruction sets can include it safely.
//
// Bytes in file order; f16 and u32 are little endian. x[i] is the value of element i, 0 <= i < 32.
// Nibbles: byte k of qs holds element k in its low half and element k + 16 in its high half.
//
//   Q4_0  | d f16 | qs 16 |                      x[i] = d * (nibble - 8)
//   Q4_1  | d f16 | m f16 | qs 16 |              x[i] = d * nibble + m
//   Q5_0  | d f16 | qh u32 | qs 16 |             x[i] = d * (nibble + 16 * (bit i of qh) - 16)
//   Q5_1  | d f16 | m f16 | qh u32 | qs 16 |     x[i] = d * (nibble + 16 * (bit i of qh)) + m
//   Q8_0  | d f16 | qs 32 x int8 |               x[i] = d * qs[i]
#pragma once

#include <cstdint>

namespace powerinfer::quant {

// Packed, because a block may lie at any address inside a mapped file.
#pragma pack(push, 1)

struct BlockQ4_0 {
    uint16_t d;
    uint8_t qs[16];
};

struct BlockQ4_1 {
    uint16_t d, m;
    uint8_t qs[16];
};

struct BlockQ5_0 {
    uint16_t d;
    uint32_t qh;
    uint8_t qs[16];
};

struct BlockQ5_1 {
    uint16_t d, m;
    uint32_t qh;
    uint8_t qs[16];
};

struct BlockQ8_0 {
    uint16_t d;
    int8_t qs[32];
};

#pragma pack(pop)

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34);

}  // namespace powerinfer::quant
