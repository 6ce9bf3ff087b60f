// Floats to the formats whose codes index a table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "quant/codecs.h"
#include "quant/super_block.h"

namespace powerinfer::quant {
namespace {

unsigned iq4_index(float level) {
    unsigned index = 0;
    for (unsigned k = 1; k < 16; ++k) index += level >= static_cast<float>(kIq4Table[k]) ? 1u : 0u;
    return index;
}

/// Codes of 32 values: element b in the low half of byte b, element b + 16 in the high half.
void pack_iq4(const float* levels, uint8_t* qs) {
    for (int b = 0; b < 16; ++b) {
        qs[b] = static_cast<uint8_t>(iq4_index(levels[b]) | iq4_index(levels[b + 16]) << 4);
    }
}

/// Index of the MXFP4 number nearest to v; the smaller one on a tie.
unsigned mxfp4_index(float v) {
    unsigned index = 0;
    for (unsigned k = 0; k < 7; ++k) {
        index += std::fabs(v) > static_cast<float>(kMxfp4Table[k] + kMxfp4Table[k + 1]) / 2 ? 1u : 0u;
    }
    return v < 0 && index > 0 ? index + 8 : index;
}

/// Beyond this, 12 * 2^(e - 128) leaves the range of f32, and no finite number asks for more.
constexpr int kLargestMxfp4Exponent = 252;

}  // namespace

void encode_block(const float* x, const float* importance, BlockIQ4_NL& block) {
    const auto y = tame<32>(x);
    const auto w = weights<32>(importance);
    uint16_t d = f16_scale(search_scale<Iq4Levels, 32>(y.data(), w.data(), {6, 3}));
    // The table has no zero: numbers far below the smallest f16 are better off with no scale at all.
    const float error = scale_error<Iq4Levels, 32>(y.data(), w.data(), f16_to_f32(d));
    if (error > scale_error<Iq4Levels, 32>(y.data(), w.data(), 0)) d = 0;
    block.d = d;
    pack_iq4(nearest_levels<Iq4Levels, 32>(y.data(), inverse_of(f16_to_f32(d))).data(), block.qs);
}

void encode_block(const float* x, const float* importance, BlockIQ4_XS& block) {
    const auto y = tame<256>(x);
    const auto w = weights<256>(importance);
    const auto fit = fit_scaled_block<Iq4Levels, 8, -32, 31>(y.data(), w.data(), {6, 3});
    std::memset(&block, 0, sizeof(block));
    block.d = fit.d;
    unsigned high = 0;
    for (size_t g = 0; g < 8; ++g) {
        const auto scale = static_cast<unsigned>(fit.scale[g] + 32);
        block.scales_l[g / 2] |= static_cast<uint8_t>((scale & 15) << 4 * (g % 2));
        high |= scale >> 4 << 2 * g;
        pack_iq4(fit.level.data() + 32 * g, block.qs + 16 * g);
    }
    block.scales_h = static_cast<uint16_t>(high);
}

void encode_block(const float* x, const float* importance, BlockMXFP4& block) {
    const auto y = tame<32>(x, std::numeric_limits<float>::max());
    const auto w = weights<32>(importance);
    std::memset(&block, 0, sizeof(block));
    float most = 0;
    for (const float v : y) most = std::max(most, std::fabs(v));
    if (most == 0) return;

    // The scale that brings the largest value to 8..16 in table units (which end at 12), and its neighbours.
    const int centre = std::max(std::ilogb(most) - 3 + 128, 0);
    float least = std::numeric_limits<float>::infinity();
    for (const int e : {centre, centre + 1, centre - 1}) {
        if (e < 0 || e > kLargestMxfp4Exponent) continue;
        float error = 0;
        std::array<unsigned, 32> index;
        for (size_t i = 0; i < 32; ++i) {
            // In table units of the centre, so that neither huge nor tiny blocks leave the range of f32.
            const float v = std::ldexp(y[i], 128 - centre);
            index[i] = mxfp4_index(std::ldexp(v, centre - e));
            const float difference = v - std::ldexp(static_cast<float>(kMxfp4Table[index[i]]), e - centre);
            error += w[i] * difference * difference;
        }
        if (!(error < least)) continue;
        least = error;
        block.e = static_cast<uint8_t>(e);
        for (size_t b = 0; b < 16; ++b) block.qs[b] = static_cast<uint8_t>(index[b] | index[b + 16] << 4);
    }
}

}  // namespace powerinfer::quant
