// Every block format back to floats, written as the layout drawings in the block headers read.
#include <bit>

#include "base/half.h"
#include "quant/codecs.h"
#include "quant/scales6.h"

namespace powerinfer::quant {
namespace {

/// Element i of 32 when byte k holds elements k (low half) and k + 16 (high half).
int nibble32(const uint8_t* qs, int i) {
    return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

/// Element i of 256 in the order that the 2-bit fields of Q2_K, Q3_K, Q6_K and TQ2_0 share.
int two_bits(const uint8_t* qs, int i) {
    return (qs[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32)) & 3;
}

/// Element i of 256 in the order that the nibbles of Q4_K and Q5_K share: group pairs in one run of 32 bytes.
int nibble256(const uint8_t* qs, int i) {
    const int g = i / 32;
    const int byte = qs[32 * (g / 2) + i % 32];
    return g % 2 == 0 ? byte & 15 : byte >> 4;
}

/// Digit n of a byte of base-3 digits; the byte is a fraction of 256, so that each multiplication by 3 moves
/// the next digit above the top.
int trit(uint8_t byte, int n) {
    constexpr int kPower[5] = {1, 3, 9, 27, 81};
    return ((byte * kPower[n] & 255) * 3) >> 8;
}

}  // namespace

void decode_block(const BlockQ4_0& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(nibble32(block.qs, i) - 8);
}

void decode_block(const BlockQ4_1& block, float* x) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(nibble32(block.qs, i)) + m;
}

void decode_block(const BlockQ5_0& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) {
        const int high = (block.qh >> i) & 1;
        x[i] = d * static_cast<float>(nibble32(block.qs, i) + 16 * high - 16);
    }
}

void decode_block(const BlockQ5_1& block, float* x) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 32; ++i) {
        const int high = (block.qh >> i) & 1;
        x[i] = d * static_cast<float>(nibble32(block.qs, i) + 16 * high) + m;
    }
}

void decode_block(const BlockQ8_0& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(block.qs[i]);
}

void decode_block(const BlockQ2_K& block, float* x) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int i = 0; i < 256; ++i) {
        const uint8_t scale = block.scales[i / 16];
        x[i] = d * static_cast<float>(scale & 15) * static_cast<float>(two_bits(block.qs, i)) -
               dmin * static_cast<float>(scale >> 4);
    }
}

void decode_block(const BlockQ3_K& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) {
        const int high = (block.hmask[i % 32] >> (i / 32)) & 1;
        const int q = two_bits(block.qs, i) + 4 * high - 4;
        x[i] = d * static_cast<float>(scale6(block.scales, i / 16) - 32) * static_cast<float>(q);
    }
}

void decode_block(const BlockQ4_K& block, float* x) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int i = 0; i < 256; ++i) {
        const ScaleMin s = scale_min6(block.scales, i / 32);
        x[i] = d * static_cast<float>(s.scale) * static_cast<float>(nibble256(block.qs, i)) -
               dmin * static_cast<float>(s.min);
    }
}

void decode_block(const BlockQ5_K& block, float* x) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int i = 0; i < 256; ++i) {
        const ScaleMin s = scale_min6(block.scales, i / 32);
        const int high = (block.qh[i % 32] >> (i / 32)) & 1;
        x[i] = d * static_cast<float>(s.scale) * static_cast<float>(nibble256(block.qs, i) + 16 * high) -
               dmin * static_cast<float>(s.min);
    }
}

void decode_block(const BlockQ6_K& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) {
        const int j = i % 128 / 32;
        const int byte = block.ql[64 * (i / 128) + 32 * (j & 1) + i % 32];
        const int q = (j < 2 ? byte & 15 : byte >> 4) + 16 * two_bits(block.qh, i) - 32;
        x[i] = d * static_cast<float>(block.scales[i / 16]) * static_cast<float>(q);
    }
}

void decode_block(const BlockIQ4_NL& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(kIq4Table[nibble32(block.qs, i)]);
}

void decode_block(const BlockIQ4_XS& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) {
        const int g = i / 32;
        const int low = g % 2 == 0 ? block.scales_l[g / 2] & 15 : block.scales_l[g / 2] >> 4;
        const int scale = low + 16 * ((block.scales_h >> 2 * g) & 3) - 32;
        x[i] = d * static_cast<float>(scale) *
               static_cast<float>(kIq4Table[nibble32(block.qs + 16 * g, i % 32)]);
    }
}

void decode_block(const BlockMXFP4& block, float* x) {
    // 2^(e - 128) from its bits; the two smallest are below the normal range of f32.
    const uint32_t bits = block.e < 2 ? 0x00200000u << block.e : static_cast<uint32_t>(block.e - 1) << 23;
    const float d = std::bit_cast<float>(bits);
    for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(kMxfp4Table[nibble32(block.qs, i)]);
}

void decode_block(const BlockTQ1_0& block, float* x) {
    const float d = f16_to_f32(block.d);
    const auto run = [&](const uint8_t* bytes, int n_bytes, int n_digits) {
        for (int n = 0; n < n_digits; ++n) {
            for (int b = 0; b < n_bytes; ++b) *x++ = d * static_cast<float>(trit(bytes[b], n) - 1);
        }
    };
    run(block.qs, 32, 5);
    run(block.qs + 32, 16, 5);
    run(block.qh, 4, 4);
}

void decode_block(const BlockTQ2_0& block, float* x) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 256; ++i) x[i] = d * static_cast<float>(two_bits(block.qs, i) - 1);
}

}  // namespace powerinfer::quant
