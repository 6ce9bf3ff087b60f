// Fits of a super-block of 256 floats whose groups have small integer scales of one common f16 scale (and
// integer minima of one common f16 minimum). First each group is fitted alone, then integer scales and common
// scales are improved in turn on the error that really results, since rounding the scales moves the best
// codes too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "quant/affine_search.h"

namespace powerinfer::quant {

/// Common scales to start from, as shares of the one that lets the largest group have the largest integer
/// scale. Where one group stands out, a smaller common scale that serves the others better can be worth more.
inline constexpr float kStartShares[] = {1, 0.85f, 0.7f, 0.55f, 0.4f};

/// How often integer scales and common scales are improved in turn, at most.
inline constexpr int kRounds = 3;

/// The integer in low..high nearest to v, as a float.
inline float nearest_integer(float v, float low, float high) {
    return round_to_float(clamped(v, low, high));
}

/// Integer scales of one group, as floats, and the weighted squared error that they leave.
struct GroupChoice {
    float scale = 0, min = 0, error = -1;  ///< error < 0: nothing chosen yet

    void consider(float s, float m, float e) {
        if (error < 0 || e < error) *this = {s, m, e};
    }
};

/// x[i] ~ d * scale[group] * level[i]
template <size_t n_groups>
struct ScaledBlock {
    uint16_t d = 0;  ///< f16
    std::array<int, n_groups> scale{};
    std::array<float, 256> level{};  ///< 0 where d * scale is 0
};

/// The best integer scale in low..high among `centre` and its neighbours.
template <class Levels, size_t n>
GroupChoice choose_scale(const float* x, const float* w, float common, float centre, float low, float high) {
    GroupChoice choice;
    for (const float s : {centre, centre - 1, centre + 1}) {
        if (s >= low && s <= high) choice.consider(s, 0, scale_error<Levels, n>(x, w, common * s));
    }
    return choice;
}

/// Integer scales lie in scale_low..scale_high.
template <class Levels, size_t n_groups, int scale_low, int scale_high>
ScaledBlock<n_groups> fit_scaled_block(const float* x, const float* w, Candidates candidates) {
    constexpr size_t n = 256 / n_groups;
    std::array<float, n_groups> alone;
    for (size_t g = 0; g < n_groups; ++g)
        alone[g] = search_scale<Levels, n>(x + g * n, w + g * n, candidates);
    const float most = extreme<n_groups>(alone.data());
    ScaledBlock<n_groups> best;
    if (most == 0) return best;

    constexpr float kScaleLow = scale_low, kScaleHigh = scale_high;
    float start = 0, start_error = -1;
    for (const float end : {kScaleLow, kScaleHigh}) {
        for (const float share : kStartShares) {
            const float common = f16_to_f32(f16_scale(share * most / end));
            float error = 0;
            for (size_t g = 0; g < n_groups; ++g) {
                const float s = nearest_integer(alone[g] / common, kScaleLow, kScaleHigh);
                error += scale_error<Levels, n>(x + g * n, w + g * n, common * s);
            }
            if (start_error >= 0 && error >= start_error) continue;
            start_error = error;
            start = common;
        }
    }
    float best_error = -1;
    for (int round = 0; round < kRounds && start != 0; ++round) {
        ScaledBlock<n_groups> now;
        now.d = f16_scale(start);
        const float common = f16_to_f32(now.d);
        float error = 0, sum_xq = 0, sum_qq = 0;
        for (size_t g = 0; g < n_groups; ++g) {
            const float* xg = x + g * n;
            const float* wg = w + g * n;
            const float centre = nearest_integer(alone[g] / common, kScaleLow, kScaleHigh);
            const GroupChoice choice = choose_scale<Levels, n>(xg, wg, common, centre, kScaleLow, kScaleHigh);
            const auto q = nearest_levels<Levels, n>(xg, inverse_of(common * choice.scale));
            const ScaleSums sums = scale_sums<n>(xg, wg, q);
            sum_xq += choice.scale * sums.xq;
            sum_qq += choice.scale * choice.scale * sums.qq;
            error += choice.error;
            now.scale[g] = static_cast<int>(choice.scale);
            std::copy(q.begin(), q.end(), now.level.begin() + static_cast<std::ptrdiff_t>(g * n));
        }
        if (best_error >= 0 && error >= best_error) break;
        best = now;
        best_error = error;
        start = sum_qq > 0 ? sum_xq / sum_qq : 0;
    }
    return best;
}

/// x[i] ~ d * scale[group] * code[i] - dmin * min[group]
template <size_t n_groups>
struct AffineBlock {
    uint16_t d = 0, dmin = 0;  ///< f16
    std::array<int, n_groups> scale{}, min{};
    std::array<uint8_t, 256> code{};
};

/// The best integer scale and minimum in 0..top among the given ones and their neighbours.
template <int high, size_t n>
GroupChoice choose_pair(const float* x, const float* w, AffineFit common, float scale, float min, float top) {
    GroupChoice choice;
    for (const float s : {scale, scale - 1, scale + 1}) {
        for (const float m : {min, min - 1, min + 1}) {
            if (s < 0 || s > top || m < 0 || m > top) continue;
            choice.consider(s, m, affine_error<high, n>(x, w, {common.scale * s, common.offset * m}));
        }
    }
    return choice;
}

/// Codes lie in 0..high, integer scales and minima in 0..scale_high.
template <int high, size_t n_groups, int scale_high>
AffineBlock<n_groups> fit_affine_block(const float* x, const float* w, Candidates candidates) {
    constexpr size_t n = 256 / n_groups;
    constexpr float kTop = scale_high;
    std::array<AffineFit, n_groups> alone;
    float most_scale = 0, most_min = 0;
    for (size_t g = 0; g < n_groups; ++g) {
        alone[g] = search_affine<high, true, n>(x + g * n, w + g * n, candidates);
        most_scale = std::max(most_scale, alone[g].scale);
        most_min = std::max(most_min, -alone[g].offset);
    }
    AffineBlock<n_groups> best;
    float d = 0, dmin = 0, start_error = -1;
    for (const float share : kStartShares) {
        const float common = f16_to_f32(f16_scale(share * most_scale / kTop));
        const float common_min = f16_to_f32(f16_scale(share * most_min / kTop));
        float error = 0;
        for (size_t g = 0; g < n_groups; ++g) {
            const float s = nearest_integer(alone[g].scale * inverse_of(common), 0, kTop);
            const float m = nearest_integer(-alone[g].offset * inverse_of(common_min), 0, kTop);
            error += affine_error<high, n>(x + g * n, w + g * n, {common * s, -common_min * m});
        }
        if (start_error >= 0 && error >= start_error) continue;
        start_error = error;
        d = common;
        dmin = common_min;
    }
    float best_error = -1;
    for (int round = 0; round < kRounds; ++round) {
        AffineBlock<n_groups> now;
        now.d = f16_scale(d);
        now.dmin = f16_scale(dmin);
        const float common = f16_to_f32(now.d), common_min = f16_to_f32(now.dmin);
        const float inverse = inverse_of(common), inverse_min = inverse_of(common_min);
        float error = 0;
        // Normal equations of d and dmin over the whole block.
        float aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
        for (size_t g = 0; g < n_groups; ++g) {
            const float* xg = x + g * n;
            const float* wg = w + g * n;
            const float scale = nearest_integer(alone[g].scale * inverse, 0, kTop);
            const float min = nearest_integer(-alone[g].offset * inverse_min, 0, kTop);
            const GroupChoice choice = choose_pair<high, n>(xg, wg, {common, -common_min}, scale, min, kTop);
            const auto q = affine_codes<high, n>(xg, {common * choice.scale, -common_min * choice.min});
            for (size_t i = 0; i < n; ++i) {
                const float a = choice.scale * q[i], b = -choice.min;
                aa += wg[i] * a * a;
                ab += wg[i] * a * b;
                bb += wg[i] * b * b;
                xa += wg[i] * xg[i] * a;
                xb += wg[i] * xg[i] * b;
                now.code[g * n + i] = static_cast<uint8_t>(q[i]);
            }
            error += choice.error;
            now.scale[g] = static_cast<int>(choice.scale);
            now.min[g] = static_cast<int>(choice.min);
        }
        if (best_error >= 0 && error >= best_error) break;
        best = now;
        best_error = error;
        const float determinant = aa * bb - ab * ab;
        if (determinant > 0) {
            d = (xa * bb - xb * ab) / determinant;
            dmin = (xb * aa - xa * ab) / determinant;
        } else if (aa > 0) {
            d = xa / aa;
        }
        if (!(d > 0) || dmin < 0) break;
    }
    return best;
}

}  // namespace powerinfer::quant
