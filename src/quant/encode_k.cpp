// Floats to the K formats.
#include <cstring>

#include "quant/codecs.h"
#include "quant/scales6.h"
#include "quant/super_block.h"

namespace powerinfer::quant {
namespace {

/// Puts the 2-bit field of element i where Q2_K, Q3_K and Q6_K have it. Fields start at zero.
void put_two_bits(uint8_t* qs, size_t i, unsigned value) {
    qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(value << 2 * (i % 128 / 32));
}

/// Puts the nibble of element i where Q4_K and Q5_K have it. Nibbles start at zero.
void put_nibble(uint8_t* qs, size_t i, unsigned value) {
    const size_t g = i / 32;
    qs[32 * (g / 2) + i % 32] |= static_cast<uint8_t>(value << 4 * (g % 2));
}

}  // namespace

void encode_block(const float* x, const float* importance, BlockQ2_K& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_affine_block<3, 16, 15>(y.data(), w.data(), {8, 0.15f});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    block.dmin = fit.dmin;
    for (size_t k = 0; k < 16; ++k) block.scales[k] = static_cast<uint8_t>(fit.scale[k] | fit.min[k] << 4);
    for (size_t i = 0; i < 256; ++i) put_two_bits(block.qs, i, fit.code[i]);
}

void encode_block(const float* x, const float* importance, BlockQ3_K& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_scaled_block<IntegerLevels<-4, 3>, 16, -32, 31>(y.data(), w.data(), {6, 0.15f});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    for (int k = 0; k < 16; ++k) put_scale6(block.scales, k, fit.scale[static_cast<size_t>(k)] + 32);
    for (size_t i = 0; i < 256; ++i) {
        const auto index = static_cast<unsigned>(static_cast<int>(fit.level[i]) + 4);
        put_two_bits(block.qs, i, index & 3);
        block.hmask[i % 32] |= static_cast<uint8_t>(index >> 2 << (i / 32));
    }
}

void encode_block(const float* x, const float* importance, BlockQ4_K& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_affine_block<15, 8, 63>(y.data(), w.data(), {8, 0.3f});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    block.dmin = fit.dmin;
    for (int g = 0; g < 8; ++g) {
        put_scale_min6(block.scales, g, {fit.scale[static_cast<size_t>(g)], fit.min[static_cast<size_t>(g)]});
    }
    for (size_t i = 0; i < 256; ++i) put_nibble(block.qs, i, fit.code[i]);
}

void encode_block(const float* x, const float* importance, BlockQ5_K& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_affine_block<31, 8, 63>(y.data(), w.data(), {6, 0.3f});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    block.dmin = fit.dmin;
    for (int g = 0; g < 8; ++g) {
        put_scale_min6(block.scales, g, {fit.scale[static_cast<size_t>(g)], fit.min[static_cast<size_t>(g)]});
    }
    for (size_t i = 0; i < 256; ++i) {
        put_nibble(block.qs, i, fit.code[i] & 15u);
        block.qh[i % 32] |= static_cast<uint8_t>(fit.code[i] >> 4 << (i / 32));
    }
}

void encode_block(const float* x, const float* importance, BlockQ6_K& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_scaled_block<IntegerLevels<-32, 31>, 16, -128, 127>(y.data(), w.data(), {4, 0.3f});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    for (size_t k = 0; k < 16; ++k) block.scales[k] = static_cast<int8_t>(fit.scale[k]);
    for (size_t i = 0; i < 256; ++i) {
        const auto index = static_cast<unsigned>(static_cast<int>(fit.level[i]) + 32);
        const size_t j = i % 128 / 32;
        block.ql[64 * (i / 128) + 32 * (j & 1) + i % 32] |= static_cast<uint8_t>((index & 15) << 4 * (j / 2));
        put_two_bits(block.qh, i, index >> 4);
    }
}

}  // namespace powerinfer::quant
