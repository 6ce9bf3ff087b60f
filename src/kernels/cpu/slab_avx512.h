// The vector primitives that slab_axpy.h and slab_formats.h are written in, for AVX-512 with VNNI: bytes in four lanes
// of 16, and 16 floats. For files compiled for AVX-512 only. Everything is in an anonymous namespace, so that no copy
// of it can reach plain code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

/// What each function does: slab_avx2.h.
struct SlabAvx512 {
    using I = __m512i;
    using F = __m512;
    static constexpr int kLanes = 4;
    static constexpr int kFloats = 16;

    KERNEL_INLINE static I zero() { return _mm512_setzero_si512(); }
    KERNEL_INLINE static I set(int32_t x) { return _mm512_set1_epi32(x); }
    KERNEL_INLINE static I set8(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }
    KERNEL_INLINE static I load(const void* p) { return _mm512_loadu_si512(p); }
    KERNEL_INLINE static void store(int32_t* p, I x) { _mm512_storeu_si512(p, x); }
    KERNEL_INLINE static I load_lanes(const uint8_t* const p[kLanes]) {
        I x = _mm512_castsi128_si512(load16(p[0]));
        x = _mm512_mask_broadcast_i32x4(x, 0x00F0, load16(p[1]));
        x = _mm512_mask_broadcast_i32x4(x, 0x0F00, load16(p[2]));
        return _mm512_mask_broadcast_i32x4(x, 0xF000, load16(p[3]));
    }
    KERNEL_INLINE static I load_halves(const uint8_t* first, const uint8_t* second) {
        return _mm512_mask_broadcast_i64x4(_mm512_castsi256_si512(load32(first)), 0xF0, load32(second));
    }
    KERNEL_INLINE static I repeat16(const void* p) { return _mm512_broadcast_i32x4(load16(p)); }
    KERNEL_INLINE static I repeat32(const void* p) { return _mm512_broadcast_i64x4(load32(p)); }

    KERNEL_INLINE static I and_(I a, I b) { return _mm512_and_si512(a, b); }
    KERNEL_INLINE static I or_(I a, I b) { return _mm512_or_si512(a, b); }
    KERNEL_INLINE static I xor_(I a, I b) { return _mm512_xor_si512(a, b); }
    KERNEL_INLINE static I add(I a, I b) { return _mm512_add_epi32(a, b); }
    KERNEL_INLINE static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return _mm512_mullo_epi32(a, b); }
    KERNEL_INLINE static I mul16(I a, I b) { return _mm512_mullo_epi16(a, b); }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return _mm512_srli_epi16(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl16(I a) {
        return _mm512_slli_epi16(a, n);
    }
    template <int n>
    KERNEL_INLINE static I sar32(I a) {
        return _mm512_srai_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl32(I a) {
        return _mm512_slli_epi32(a, n);
    }
    KERNEL_INLINE static I shr16(I a, int first, int second) {
        const __m256i low = _mm256_set1_epi16(static_cast<int16_t>(first));
        const __m256i high = _mm256_set1_epi16(static_cast<int16_t>(second));
        return _mm512_srlv_epi16(a, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
    KERNEL_INLINE static I shuffle(I a, I index) { return _mm512_shuffle_epi8(a, index); }
    KERNEL_INLINE static I where(I a, I bit, I value) {
        return _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(a, bit), value);
    }
    KERNEL_INLINE static I low_words(I a, I b) { return _mm512_unpacklo_epi16(a, b); }
    KERNEL_INLINE static I high_words(I a, I b) { return _mm512_unpackhi_epi16(a, b); }
    KERNEL_INLINE static I dot(I sum, I a, I b) { return _mm512_dpwssd_epi32(sum, a, b); }
    KERNEL_INLINE static I pick(const int32_t* p, I index) { return _mm512_permutexvar_epi32(index, load(p)); }
    KERNEL_INLINE static void store_columns(I low_even, I low_odd, I high_even, I high_odd, int32_t* const out[kLanes]) {
        const I a = _mm512_unpacklo_epi32(low_even, low_odd), b = _mm512_unpackhi_epi32(low_even, low_odd);
        const I c = _mm512_unpacklo_epi32(high_even, high_odd), d = _mm512_unpackhi_epi32(high_even, high_odd);
        // Lanes 0 and 1, 2 and 3 of the four registers, then one lane of each.
        const I ab01 = _mm512_shuffle_i32x4(a, b, 0x44), ab23 = _mm512_shuffle_i32x4(a, b, 0xEE);
        const I cd01 = _mm512_shuffle_i32x4(c, d, 0x44), cd23 = _mm512_shuffle_i32x4(c, d, 0xEE);
        store(out[0], _mm512_shuffle_i32x4(ab01, cd01, 0x88));
        store(out[1], _mm512_shuffle_i32x4(ab01, cd01, 0xDD));
        store(out[2], _mm512_shuffle_i32x4(ab23, cd23, 0x88));
        store(out[3], _mm512_shuffle_i32x4(ab23, cd23, 0xDD));
    }

    KERNEL_INLINE static F set(float x) { return _mm512_set1_ps(x); }
    KERNEL_INLINE static F load(const float* p) { return _mm512_loadu_ps(p); }
    KERNEL_INLINE static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
    KERNEL_INLINE static F to_float(I x) { return _mm512_cvtepi32_ps(x); }
    KERNEL_INLINE static F add(F a, F b) { return _mm512_add_ps(a, b); }
    KERNEL_INLINE static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }

  private:
    KERNEL_INLINE static __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
    KERNEL_INLINE static __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
};

}  // namespace
}  // namespace powerinfer::kernels
