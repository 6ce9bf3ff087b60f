// Floats to the formats of 32 elements with one scale.
#include "base/half.h"
#include "quant/codecs.h"
#include "quant/float_block.h"
#include "quant/scale_search.h"

namespace powerinfer::quant {
namespace {

std::array<float, 32> weights32(const float* importance) {
    std::array<float, 32> w;
    for (size_t i = 0; i < 32; ++i) w[i] = importance ? importance[i] : 1.0f;
    return w;
}

}  // namespace

void encode_block(const float* x, const float* importance, BlockQ4_0& block) {
    const auto y = tame<32>(x);
    const auto w = weights32(importance);
    block.d = f16_scale(search_scale<32>(y.data(), w.data(), -8, 7, 6, 0.15f));
    const float d = f16_to_f32(block.d);
    const auto q = codes_of<32>(y.data(), d == 0 ? 0 : 1 / d, -8, 7);
    for (size_t k = 0; k < 16; ++k) {
        block.qs[k] = static_cast<uint8_t>((static_cast<int>(q[k]) + 8) | (static_cast<int>(q[k + 16]) + 8) << 4);
    }
}

void encode_block(const float* x, const float* importance, BlockQ8_0& block) {
    const auto y = tame<32>(x);
    const auto w = weights32(importance);
    block.d = f16_scale(search_scale<32>(y.data(), w.data(), -127, 127, 1, 0.5f));
    const float d = f16_to_f32(block.d);
    const auto q = codes_of<32>(y.data(), d == 0 ? 0 : 1 / d, -127, 127);
    for (size_t i = 0; i < 32; ++i) block.qs[i] = static_cast<int8_t>(q[i]);
}

}  // namespace powerinfer::quant
