// Least-squares fits x ~ scale * code + offset of one group of floats with codes 0..high: the work that the
// encoders with a minimum share. Same style of loops as scale_search.h.
#pragma once

#include "quant/scale_search.h"

namespace powerinfer::quant {

struct AffineFit {
    float scale = 0, offset = 0;
};

/// Below this relative determinant all codes are the same, and scale and offset cannot both be told.
inline constexpr float kLeastSpread = 1e-6f;

/// Nearest codes 0..high for given scale and offset.
template <int high, size_t n>
std::array<float, n> affine_codes(const float* x, AffineFit fit) {
    const float inverse = inverse_of(fit.scale);
    std::array<float, n> q;
    for (size_t i = 0; i < n; ++i) q[i] = IntegerLevels<0, high>::nearest((x[i] - fit.offset) * inverse);
    return q;
}

/// Weighted squared error of x with nearest codes.
template <int high, size_t n>
float affine_error(const float* x, const float* w, AffineFit fit) {
    const float inverse = inverse_of(fit.scale);
    std::array<float, n> e;
    for (size_t i = 0; i < n; ++i) {
        const float code = IntegerLevels<0, high>::nearest((x[i] - fit.offset) * inverse);
        const float difference = x[i] - fit.offset - fit.scale * code;
        e[i] = w[i] * difference * difference;
    }
    return tree_sum(e);
}

/// Searches scale and offset. `steps` candidates stretch the range of x over high - steps * step / 2 up to
/// high + steps * step / 2 codes; the best is then refined by alternating codes and fit.
/// With `below_zero`, the offset is kept at or below 0, as formats that store a minimum without sign need it.
template <int high, bool below_zero, size_t n>
AffineFit search_affine(const float* x, const float* w, Candidates candidates) {
    float low = x[0], top = x[0];
    for (size_t i = 1; i < n; ++i) {
        low = x[i] < low ? x[i] : low;
        top = x[i] > top ? x[i] : top;
    }
    if (below_zero && low > 0) low = 0;
    if (!(top > low)) return {0, low};

    // All sums are taken of y = x - low, so that a large common offset costs no precision.
    std::array<float, n> y, wy, w_copy;
    for (size_t i = 0; i < n; ++i) {
        y[i] = x[i] - low;
        wy[i] = w[i] * y[i];
        w_copy[i] = w[i];
    }
    const float sum_w = tree_sum(w_copy), sum_y = tree_sum(wy);
    AffineFit best{0, 0};
    float best_gain = -1;
    const auto consider = [&](AffineFit guess) {
        const auto q = affine_codes<high, n>(y.data(), guess);
        std::array<float, n> wq, yq, qq;
        for (size_t i = 0; i < n; ++i) {
            wq[i] = w[i] * q[i];
            yq[i] = wq[i] * y[i];
            qq[i] = wq[i] * q[i];
        }
        const float sum_q = tree_sum(wq), sum_yq = tree_sum(yq), sum_qq = tree_sum(qq);
        if (!(sum_qq > 0)) return false;
        const float determinant = sum_w * sum_qq - sum_q * sum_q;
        AffineFit fit = guess;
        if (determinant > kLeastSpread * sum_w * sum_qq)
            fit.offset = (sum_qq * sum_y - sum_q * sum_yq) / determinant;
        if (below_zero && fit.offset + low > 0) fit.offset = -low;
        fit.scale = (sum_yq - fit.offset * sum_q) / sum_qq;
        // Sum of w*y*y less the error of this fit.
        const float gain = fit.scale * (2 * sum_yq - fit.scale * sum_qq - 2 * fit.offset * sum_q) +
                           fit.offset * (2 * sum_y - fit.offset * sum_w);
        if (!(gain > best_gain) || !(fit.scale > 0)) return false;
        best = fit;
        best_gain = gain;
        return true;
    };
    for (int k = -candidates.steps; k <= candidates.steps; ++k) {
        const float range = static_cast<float>(high) + static_cast<float>(k) * candidates.step;
        consider({(top - low) / range, 0});
    }
    for (int pass = 0; pass < 4 && consider(best); ++pass) {
    }
    return {best.scale, best.offset + low};
}

}  // namespace powerinfer::quant
