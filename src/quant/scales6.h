// The two packings of 6-bit scales in K blocks, both directions. Not for kernel files: those have vector
// forms.
#pragma once

#include <cstdint>

namespace powerinfer::quant {

/// Scale of group k (0 to 15) of a Q3_K block, 0 to 63.
inline int scale6(const uint8_t* packed, int k) {
    const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4;
    const int high = (packed[8 + k % 4] >> 2 * (k / 4)) & 3;
    return low | high << 4;
}

/// Stores it. The bytes start at zero.
inline void put_scale6(uint8_t* packed, int k, int scale) {
    packed[k % 8] |= static_cast<uint8_t>(k < 8 ? scale & 15 : (scale & 15) << 4);
    packed[8 + k % 4] |= static_cast<uint8_t>(scale >> 4 << 2 * (k / 4));
}

struct ScaleMin {
    int scale, min;  ///< 0 to 63 each
};

/// Scale and minimum of group g (0 to 7) of a Q4_K or Q5_K block.
inline ScaleMin scale_min6(const uint8_t* packed, int g) {
    if (g < 4) return {packed[g] & 63, packed[g + 4] & 63};
    return {(packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4, (packed[g + 4] >> 4) | (packed[g] >> 6) << 4};
}

/// Stores them. The bytes start at zero.
inline void put_scale_min6(uint8_t* packed, int g, ScaleMin s) {
    if (g < 4) {
        packed[g] |= static_cast<uint8_t>(s.scale);
        packed[g + 4] |= static_cast<uint8_t>(s.min);
    } else {
        packed[g + 4] |= static_cast<uint8_t>((s.scale & 15) | (s.min & 15) << 4);
        packed[g - 4] |= static_cast<uint8_t>(s.scale >> 4 << 6);
        packed[g] |= static_cast<uint8_t>(s.min >> 4 << 6);
    }
}

}  // namespace powerinfer::quant
