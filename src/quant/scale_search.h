// Least-squares fits x ~ scale * level of one group of floats, where levels come from a fixed set: the work
// that the encoders without a minimum share. Loops have fixed lengths and sums are trees, so that compilers
// make vector code of them without changing any result.
#pragma once

#include <array>
#include <cstddef>

#include "quant/blocks_table.h"
#include "quant/float_block.h"

namespace powerinfer::quant {

/// Nearest integer as a float, ties to even, for |x| < 2^22.
inline float round_to_float(float x) {
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

/// Sum of all elements in a fixed order: halves added to halves. n is a power of two.
template <size_t n>
float tree_sum(std::array<float, n> p) {
    for (size_t half = n / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; ++i) p[i] += p[i + half];
    }
    return p[0];
}

/// All integers from low to high.
template <int low, int high>
struct IntegerLevels {
    static constexpr float kLow = low, kHigh = high;
    static float nearest(float v) { return round_to_float(clamped(v, kLow, kHigh)); }
};

/// The table of IQ4_NL and IQ4_XS.
struct Iq4Levels {
    static constexpr float kLow = kIq4Table[0], kHigh = kIq4Table[15];
    static float nearest(float v) {
        float level = kLow;
        for (int k = 0; k < 15; ++k) {
            const auto here = static_cast<float>(kIq4Table[k]), next = static_cast<float>(kIq4Table[k + 1]);
            level += v > (here + next) / 2 ? next - here : 0.0f;
        }
        return level;
    }
};

/// Inverse of a scale; for a zero scale, the inverse that gives only level zero.
inline float inverse_of(float scale) {
    return scale != 0 ? 1 / scale : 0;
}

template <class Levels, size_t n>
std::array<float, n> nearest_levels(const float* x, float inverse) {
    std::array<float, n> q;
    for (size_t i = 0; i < n; ++i) q[i] = Levels::nearest(x[i] * inverse);
    return q;
}

/// Weighted squared error of x with nearest levels for this scale.
template <class Levels, size_t n>
float scale_error(const float* x, const float* w, float scale) {
    const float inverse = inverse_of(scale);
    std::array<float, n> e;
    for (size_t i = 0; i < n; ++i) {
        const float difference = x[i] - scale * Levels::nearest(x[i] * inverse);
        e[i] = w[i] * difference * difference;
    }
    return tree_sum(e);
}

/// Sums from which the best scale for given levels follows.
struct ScaleSums {
    float xq, qq;  ///< sums of w*x*q and w*q*q
};

template <size_t n>
ScaleSums scale_sums(const float* x, const float* w, const std::array<float, n>& q) {
    std::array<float, n> xq, qq;
    for (size_t i = 0; i < n; ++i) {
        const float wq = w[i] * q[i];
        xq[i] = wq * x[i];
        qq[i] = wq * q[i];
    }
    return {tree_sum(xq), tree_sum(qq)};
}

/// The value of largest magnitude, with its sign.
template <size_t n>
float extreme(const float* x) {
    float low = 0, high = 0;
    for (size_t i = 0; i < n; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return high > -low ? high : low;
}

/// Which scales to try: those that put the value of largest magnitude at either end of the levels, and
/// `steps` more to each side of that, a distance of `step` levels apart.
struct Candidates {
    int steps;
    float step;
};

/// The scale for which the nearest levels give the least weighted squared error; 0 for all-zero x.
template <class Levels, size_t n>
float search_scale(const float* x, const float* w, Candidates candidates) {
    const float most = extreme<n>(x);
    if (most == 0) return 0;
    float best_scale = 0, best_gain = 0;
    for (const float end : {Levels::kLow, Levels::kHigh}) {
        for (int k = -candidates.steps; k <= candidates.steps; ++k) {
            const float inverse = (end + static_cast<float>(k) * candidates.step) / most;
            const ScaleSums sums = scale_sums<n>(x, w, nearest_levels<Levels, n>(x, inverse));
            if (!(sums.qq > 0)) continue;
            const float scale = sums.xq / sums.qq;
            const float gain = scale * sums.xq;  // sum of w*x*x less the error
            if (gain > best_gain) {
                best_gain = gain;
                best_scale = scale;
            }
        }
    }
    return best_scale;
}

}  // namespace powerinfer::quant
