// The two packings of 6-bit scales in K blocks, both directions. Not for kernel files: those have vector forms.
#pragma once

#include <cstdint>

namespace powerinfer::quant {

/// Scale of group k (0 to 15) of a Q3_K block, 0 to 63.
inline int scale6(const uint8_t* packed, int k) {
    const int low = k < 8 ? packed[k] & 15 : packed[k - 8] >> 4;
    const int high = (packed[8 + k % 4] >> 2 * (k / 4)) & 3;
    return low | high << 4;
}

struct ScaleMin {
    int scale, min;  ///< 0 to 63 each
};

/// Scale and minimum of group g (0 to 7) of a Q4_K or Q5_K block.
inline ScaleMin scale_min6(const uint8_t* packed, int g) {
    if (g < 4) return {packed[g] & 63, packed[g + 4] & 63};
    return {(packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4, (packed[g + 4] >> 4) | (packed[g] >> 6) << 4};
}

}  // namespace powerinfer::quant
