// Floats to the ternary formats: -1, 0 or +1 times a scale.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "quant/codecs.h"
#include "quant/scale_search.h"

namespace powerinfer::quant {
namespace {

struct TernaryFit {
    uint16_t d;                      ///< f16
    std::array<uint8_t, 256> digit;  ///< 0, 1, 2 for -d, 0, +d
};

/// The least-squares scale, exactly: whatever the scale, the elements that become +-1 are those of largest
/// magnitude, so it suffices to try every count of them.
TernaryFit fit_ternary(const float* x, const float* importance) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    std::array<uint16_t, 256> order;
    std::iota(order.begin(), order.end(), uint16_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](uint16_t a, uint16_t b) { return std::fabs(y[a]) > std::fabs(y[b]); });
    float sum_x = 0, sum_w = 0, best_gain = 0, scale = 0;
    for (const uint16_t i : order) {
        sum_x += w[i] * std::fabs(y[i]);
        sum_w += w[i];
        const float gain = sum_x * (sum_x / sum_w);
        if (gain > best_gain) {
            best_gain = gain;
            scale = sum_x / sum_w;
        }
    }
    TernaryFit fit;
    fit.d = f16_scale(scale);
    const auto level = nearest_levels<IntegerLevels<-1, 1>, 256>(y.data(), inverse_of(f16_to_f32(fit.d)));
    for (size_t i = 0; i < 256; ++i) fit.digit[i] = static_cast<uint8_t>(static_cast<int>(level[i]) + 1);
    return fit;
}

/// A byte whose first digits are the given ones, spaced `stride` apart. The byte is the base-3 number as a
/// fraction of 3^5, scaled to 256 and rounded up, so that truncating multiplications by 3 bring the digits
/// back.
uint8_t pack_trits(const uint8_t* digits, size_t stride, size_t n_digits) {
    unsigned number = 0;
    for (size_t n = 0; n < 5; ++n) number = number * 3 + (n < n_digits ? digits[n * stride] : 0u);
    return static_cast<uint8_t>((number * 256 + 242) / 243);
}

}  // namespace

void encode_block(const float* x, const float* importance, BlockTQ1_0& block) {
    const TernaryFit fit = fit_ternary(x, importance);
    block.d = fit.d;
    for (size_t b = 0; b < 32; ++b) block.qs[b] = pack_trits(&fit.digit[b], 32, 5);
    for (size_t b = 0; b < 16; ++b) block.qs[32 + b] = pack_trits(&fit.digit[160 + b], 16, 5);
    for (size_t b = 0; b < 4; ++b) block.qh[b] = pack_trits(&fit.digit[240 + b], 4, 4);
}

void encode_block(const float* x, const float* importance, BlockTQ2_0& block) {
    const TernaryFit fit = fit_ternary(x, importance);
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    for (size_t i = 0; i < 256; ++i) {
        block.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(fit.digit[i] << 2 * (i % 128 / 32));
    }
}

}  // namespace powerinfer::quant
