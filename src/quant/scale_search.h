// Least-squares fits of a small set of floats by integer codes: the work that all good encoders share. Loops have
// fixed lengths and sums are trees, so that compilers make vector code of them without changing any result.
#pragma once

#include <array>
#include <cstddef>

namespace powerinfer::quant {

/// Nearest integer as a float, ties to even, for |x| < 2^22.
inline float round_to_float(float x) {
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

inline float clamped(float x, float low, float high) {
    const float y = x < low ? low : x;
    return y > high ? high : y;
}

/// Sum of all elements in a fixed order: halves added to halves. n is a power of two.
template <size_t n>
float tree_sum(std::array<float, n> p) {
    for (size_t half = n / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; ++i) p[i] += p[i + half];
    }
    return p[0];
}

/// Codes of x for a scale: nearest of low..high to x * inverse. |x * inverse| < 2^22.
template <size_t n>
std::array<float, n> codes_of(const float* x, float inverse, float low, float high) {
    std::array<float, n> q;
    for (size_t i = 0; i < n; ++i) q[i] = clamped(round_to_float(x[i] * inverse), low, high);
    return q;
}

/// The value of largest magnitude, with its sign.
template <size_t n>
float extreme(const float* x) {
    float most = 0;
    for (size_t i = 0; i < n; ++i) {
        const float a = x[i] < 0 ? -x[i] : x[i], b = most < 0 ? -most : most;
        if (a > b) most = x[i];
    }
    return most;
}

struct ScaleFit {
    float scale = 0;
    float gain = 0;  ///< by how much sum(w * x^2) exceeds the weighted squared error of the fit
};

/// The best scale for given codes.
template <size_t n>
ScaleFit fit_scale(const float* x, const float* w, const std::array<float, n>& q) {
    std::array<float, n> xq, qq;
    for (size_t i = 0; i < n; ++i) {
        const float wq = w[i] * q[i];
        xq[i] = wq * x[i];
        qq[i] = wq * q[i];
    }
    const float sum_xq = tree_sum(xq), sum_qq = tree_sum(qq);
    if (!(sum_qq > 0)) return {};
    const float scale = sum_xq / sum_qq;
    return {scale, scale * sum_xq};
}

/// Searches the scale d for which nearest codes low..high of x / d give the least sum of w * (x - d * code)^2.
/// Candidates put the value of largest magnitude at codes around both ends of the range; `steps` per side, a
/// distance of `step` codes apart. Returns 0 for all-zero x.
template <size_t n>
float search_scale(const float* x, const float* w, float low, float high, int steps, float step) {
    const float most = extreme<n>(x);
    if (most == 0) return 0;
    ScaleFit best;
    for (const float end : {low, high}) {
        for (int k = -steps; k <= steps; ++k) {
            const float inverse = (end + static_cast<float>(k) * step) / most;
            const ScaleFit fit = fit_scale<n>(x, w, codes_of<n>(x, inverse, low, high));
            if (fit.gain > best.gain) best = fit;
        }
    }
    return best.scale;
}

}  // namespace powerinfer::quant
