// What the 8-bit matrix product adds to lanes_neon.h: rows times two tokens at once. The sums are whole numbers, so the
// bits are those of LanesNeon. For files compiled for aarch64 with dotprod and i8mm only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lanes_neon.h"

namespace powerinfer::kernels {
namespace {

struct LanesNeonI8mm : LanesNeon {
    static constexpr bool kTwoTokens = true;

    /// total[0] = what dot() gives for the activations at a, total[1] for those at b.
    template <int n>
    KERNEL_INLINE static void dot_two(const I* code, const int8_t* a, const int8_t* b, I* total) {
        // Rows 0 and 1, rows 2 and 3: of each, the sums with a and with b.
        int32x4_t first = vdupq_n_s32(0), second = first;
#pragma GCC unroll 4
        for (int g = 0; g < n; g += 2) {
            const int8x16_t both = vcombine_s8(vld1_s8(a + 4 * g), vld1_s8(b + 4 * g));
            first = vmmlaq_s32(first, vreinterpretq_s8_u32(vzip1q_u32(code[g], code[g + 1])), both);
            second = vmmlaq_s32(second, vreinterpretq_s8_u32(vzip2q_u32(code[g], code[g + 1])), both);
        }
        total[0] = vreinterpretq_u32_s32(vuzp1q_s32(first, second));
        total[1] = vreinterpretq_u32_s32(vuzp2q_s32(first, second));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
