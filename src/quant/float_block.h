// What all encoders share: making a block of outside numbers safe to compute with, and scales that fit f16.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace powerinfer::quant {

/// No format reaches further than 65504 * 127 * 32; larger magnitudes are clamped to this, so that sums of squares
/// of a block stay finite.
inline constexpr float kLargestInput = 0x1p28f;

/// A block of n values without NaN (taken as 0) and without magnitudes beyond kLargestInput.
template <size_t n>
std::array<float, n> tame(const float* x) {
    std::array<float, n> y;
    for (size_t i = 0; i < n; ++i) {
        // Comparisons with NaN are false, so NaN falls through to 0.
        const float low = x[i] > -kLargestInput ? x[i] : -kLargestInput;
        const float both = low < kLargestInput ? low : kLargestInput;
        y[i] = x[i] == x[i] ? both : 0.0f;
    }
    return y;
}

/// Nearest integer, ties to even, for |x| < 2^22; a form that compilers turn into vector code.
inline int round_to_int(float x) {
    const float shifted = x + 0x1.8p23f;
    return static_cast<int>(std::bit_cast<uint32_t>(shifted) & 0x7FFFFFu) - 0x400000;
}

/// The f16 nearest to a finite scale, never infinity.
inline uint16_t f16_scale(float d) {
    const uint16_t h = f32_to_f16(d);
    return (h & 0x7FFFu) == 0x7C00u ? static_cast<uint16_t>(h - 1) : h;
}

}  // namespace powerinfer::quant
