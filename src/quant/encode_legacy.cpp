// Floats to the formats of 32 elements with one scale.
#include "quant/affine_search.h"
#include "quant/codecs.h"

namespace powerinfer::quant {
namespace {

using Codes = std::array<float, 32>;

/// Integer 0 and up from a code that starts at `low`.
uint32_t index_of(float code, float low) {
    return static_cast<uint32_t>(code - low);
}

void pack_nibbles(const Codes& q, float low, uint8_t* qs) {
    for (size_t k = 0; k < 16; ++k) {
        const uint32_t first = index_of(q[k], low) & 15, second = index_of(q[k + 16], low) & 15;
        qs[k] = static_cast<uint8_t>(first | second << 4);
    }
}

uint32_t pack_fifth_bits(const Codes& q, float low) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 32; ++i) bits |= index_of(q[i], low) >> 4 << i;
    return bits;
}

/// Finds the scale and the codes that go with its f16 value.
template <int low, int high>
Codes fit_symmetric(const float* x, const float* importance, Candidates candidates, uint16_t& d) {
    using Levels = IntegerLevels<low, high>;
    const auto y = tame<32>(x);
    const auto w = weights<32>(importance);
    d = f16_scale(search_scale<Levels, 32>(y.data(), w.data(), candidates));
    return nearest_levels<Levels, 32>(y.data(), inverse_of(f16_to_f32(d)));
}

template <int high>
Codes fit_affine(const float* x, const float* importance, Candidates candidates, uint16_t& d, uint16_t& m) {
    const auto y = tame<32>(x);
    const auto w = weights<32>(importance);
    const AffineFit fit = search_affine<high, false, 32>(y.data(), w.data(), candidates);
    d = f16_scale(fit.scale);
    m = f16_scale(fit.offset);
    return affine_codes<high, 32>(y.data(), {f16_to_f32(d), f16_to_f32(m)});
}

}  // namespace

void encode_block(const float* x, const float* importance, BlockQ4_0& block) {
    uint16_t d;
    const Codes q = fit_symmetric<-8, 7>(x, importance, {4, 0.2f}, d);
    block.d = d;
    pack_nibbles(q, -8, block.qs);
}

void encode_block(const float* x, const float* importance, BlockQ4_1& block) {
    uint16_t d, m;
    const Codes q = fit_affine<15>(x, importance, {6, 0.3f}, d, m);
    block.d = d;
    block.m = m;
    pack_nibbles(q, 0, block.qs);
}

void encode_block(const float* x, const float* importance, BlockQ5_0& block) {
    uint16_t d;
    const Codes q = fit_symmetric<-16, 15>(x, importance, {4, 0.3f}, d);
    block.d = d;
    block.qh = pack_fifth_bits(q, -16);
    pack_nibbles(q, -16, block.qs);
}

void encode_block(const float* x, const float* importance, BlockQ5_1& block) {
    uint16_t d, m;
    const Codes q = fit_affine<31>(x, importance, {6, 0.3f}, d, m);
    block.d = d;
    block.m = m;
    block.qh = pack_fifth_bits(q, 0);
    pack_nibbles(q, 0, block.qs);
}

void encode_block(const float* x, const float* importance, BlockQ8_0& block) {
    uint16_t d;
    const Codes q = fit_symmetric<-127, 127>(x, importance, {2, 0.4f}, d);
    block.d = d;
    for (size_t i = 0; i < 32; ++i) block.qs[i] = static_cast<int8_t>(q[i]);
}

}  // namespace powerinfer::quant
