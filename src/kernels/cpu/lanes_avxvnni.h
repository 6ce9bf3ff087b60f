// What AVX-VNNI changes in lanes_avx2.h: products of four bytes are summed into 32 bits at once, for any unsigned code. The
// sums are whole numbers, so the bits are those of LanesAvx2. For files compiled for AVX2 and AVX-VNNI, or (the tests, on
// processors that have only those) with the same instructions of AVX-512 VL and VNNI; hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lanes_avx2.h"

namespace powerinfer::kernels {
namespace {

struct LanesAvxVnni : LanesAvx2 {
    /// The zero point that is left in the codes of prepare().
    template <int max_code>
    static constexpr int zero_point(int zero) {
        return zero;
    }
    template <int max_code>
    KERNEL_INLINE static I prepare(I code) {
        return code;
    }

    /// Per row: sum of code[g] byte i times a[4g + i] over n dwords, times `scale`.
    template <int max_code, int n, class Acts>
    KERNEL_INLINE static I dot(const I* code, Acts a, I scale) {
        return mul(dot<max_code, n>(code, a), scale);
    }
    template <int max_code, int n, class Acts>
    KERNEL_INLINE static I dot(const I* code, Acts a) {
        I total = _mm256_setzero_si256();
#pragma GCC unroll 8
        for (int g = 0; g < n; ++g) total = add_bytes(total, code[g], act(a, g));
        return total;
    }
    /// Byte j of every row less `zero`, in the form that dot() multiplies by.
    template <int j>
    KERNEL_INLINE static I scale(I x, int zero) {
        return sub(bytes<j, -1, -1, -1>(x), set(zero));
    }

  private:
    KERNEL_INLINE static I add_bytes(I sum, I codes, I acts) {
#if defined(__AVXVNNI__)
        return _mm256_dpbusd_avx_epi32(sum, codes, acts);
#else
        return _mm256_dpbusd_epi32(sum, codes, acts);
#endif
    }
};

}  // namespace
}  // namespace powerinfer::kernels
