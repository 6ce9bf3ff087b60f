// Eight scales of a row's blocks, for AVX2 and more: what slab_formats.h and slab_axpy.h compute them in. For files
// compiled for AVX2 or more only, hence the anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

struct Eight {
    using F = __m256;
    using I = __m256i;  ///< whole numbers, bits of floats, or masks: all bits of a number or none

    KERNEL_INLINE static F set(float x) { return _mm256_set1_ps(x); }
    KERNEL_INLINE static I set(int32_t x) { return _mm256_set1_epi32(x); }
    KERNEL_INLINE static F load(const float* p) { return _mm256_loadu_ps(p); }
    KERNEL_INLINE static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
    KERNEL_INLINE static void store(int32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }

    KERNEL_INLINE static F from_bytes(uint64_t bytes) {
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes))));
    }
    KERNEL_INLINE static F from_signed_bytes(const int8_t* p) {
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
    KERNEL_INLINE static F from_bits(const uint32_t* p) {
        return _mm256_loadu_ps(reinterpret_cast<const float*>(p));
    }
    KERNEL_INLINE static F from_f16(uint16_t h) { return _mm256_set1_ps(_cvtsh_ss(h)); }
    /// One number from each place, behind which 14 bytes can be read.
    KERNEL_INLINE static F from_f16(const uint8_t* p0, const uint8_t* p1, const uint8_t* p2, const uint8_t* p3,
                                    const uint8_t* p4, const uint8_t* p5, const uint8_t* p6, const uint8_t* p7) {
        const __m128i low = _mm_unpacklo_epi32(two(p0, p1), two(p2, p3));
        const __m128i high = _mm_unpacklo_epi32(two(p4, p5), two(p6, p7));
        return _mm256_cvtph_ps(_mm_unpacklo_epi64(low, high));
    }

    KERNEL_INLINE static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    KERNEL_INLINE static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
    KERNEL_INLINE static F div(F a, F b) { return _mm256_div_ps(a, b); }
    KERNEL_INLINE static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    KERNEL_INLINE static F minus(F x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }
    KERNEL_INLINE static I add(I a, I b) { return _mm256_add_epi32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return _mm256_mullo_epi32(a, b); }
    KERNEL_INLINE static I max(I a, I b) { return _mm256_max_epi32(a, b); }
    KERNEL_INLINE static I magnitude_bits(F x) {
        return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7FFFFFFF));
    }
    KERNEL_INLINE static F as_float(I bits) { return _mm256_castsi256_ps(bits); }
    /// Rounded to nearest even.
    KERNEL_INLINE static I whole(F x) { return _mm256_cvtps_epi32(x); }
    /// a >= b, a > b
    KERNEL_INLINE static I at_least(F a, F b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_GE_OQ)); }
    KERNEL_INLINE static I above(I a, I b) { return _mm256_cmpgt_epi32(a, b); }
    /// x where the mask is set, else 0.
    KERNEL_INLINE static F keep(I mask, F x) { return _mm256_and_ps(_mm256_castsi256_ps(mask), x); }
    KERNEL_INLINE static F choose(I mask, F set, F otherwise) {
        return _mm256_blendv_ps(otherwise, set, _mm256_castsi256_ps(mask));
    }
    /// The low words of `low` and `high` side by side.
    KERNEL_INLINE static void store_words(int32_t* p, I low, I high) {
        store(p, _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xAA));
    }

  private:
    KERNEL_INLINE static __m128i two(const uint8_t* a, const uint8_t* b) {
        return _mm_unpacklo_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                                  _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
