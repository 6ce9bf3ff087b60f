// What all encoders share: making a block of outside numbers safe to compute with, and scales that fit f16.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace powerinfer::quant {

/// No format with an f16 scale reaches further than 65504 * 128 * 32; larger magnitudes are clamped to this,
/// so that sums of squares of a block stay finite.
inline constexpr float kLargestInput = 0x1p28f;

inline float clamped(float x, float low, float high) {
    const float y = x > low ? x : low;
    return y < high ? y : high;
}

/// n values without NaN (taken as 0) and without magnitudes beyond the limit.
template <size_t n>
std::array<float, n> tame(const float* x, float limit = kLargestInput) {
    std::array<float, n> y;
    for (size_t i = 0; i < n; ++i) y[i] = x[i] == x[i] ? clamped(x[i], -limit, limit) : 0.0f;
    return y;
}

/// Weights of n squared errors, at most about 1. Without usable importance all count the same. No element
/// counts for nothing: what a calibration text never touched must still come out roughly right.
template <size_t n>
std::array<float, n> weights(const float* importance) {
    std::array<float, n> w;
    w.fill(1);
    if (importance == nullptr) return w;
    constexpr float kLeast = 1e-5f;
    const auto given = tame<n>(importance, 0x1p120f);
    float most = 0;
    for (const float v : given) most = v > most ? v : most;
    if (!(most > 0x1p-100f)) return w;
    for (size_t i = 0; i < n; ++i) w[i] = clamped(given[i] / most, 0, 1) + kLeast;
    return w;
}

/// A finite scale as f16: the nearest, but never infinity, and away from zero where f16 loses precision. A
/// scale that is too small cuts off the largest values, one that is too large only rounds more coarsely.
inline uint16_t f16_scale(float d) {
    const uint16_t h = f32_to_f16(d);
    if ((h & 0x7FFFu) == 0x7C00u) return static_cast<uint16_t>(h - 1);
    const float rounded = f16_to_f32(h);
    const bool subnormal = (h & 0x7C00u) == 0;
    const bool shrunk = d > 0 ? rounded < d : rounded > d;
    return subnormal && shrunk ? static_cast<uint16_t>(h + 1) : h;
}

}  // namespace powerinfer::quant
