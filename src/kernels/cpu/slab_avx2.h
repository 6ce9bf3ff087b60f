// The vector primitives that slab_axpy.h and slab_formats.h are written in, for AVX2: bytes in two lanes of 16, and
// eight floats. For files compiled for AVX2 only. Everything is in an anonymous namespace, so that no copy of it can
// reach plain code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

struct SlabAvx2 {
    using I = __m256i;
    using F = __m256;
    static constexpr int kLanes = 2;   ///< of 16 bytes
    static constexpr int kFloats = 8;

    KERNEL_INLINE static I zero() { return _mm256_setzero_si256(); }
    KERNEL_INLINE static I set(int32_t x) { return _mm256_set1_epi32(x); }
    KERNEL_INLINE static I set8(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
    KERNEL_INLINE static I load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
    KERNEL_INLINE static void store(int32_t* p, I x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
    /// Lane k from p[k].
    KERNEL_INLINE static I load_lanes(const uint8_t* const p[kLanes]) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(p[0])), load16(p[1]), 1);
    }
    /// 32 bytes from p[0], in AVX-512 another 32 from p[1].
    KERNEL_INLINE static I load_halves(const uint8_t* first, const uint8_t*) { return load(first); }
    /// The same 16 or 32 bytes in all lanes or pairs of lanes.
    KERNEL_INLINE static I repeat16(const void* p) { return _mm256_broadcastsi128_si256(load16(p)); }
    KERNEL_INLINE static I repeat32(const void* p) { return load(p); }

    KERNEL_INLINE static I and_(I a, I b) { return _mm256_and_si256(a, b); }
    KERNEL_INLINE static I or_(I a, I b) { return _mm256_or_si256(a, b); }
    KERNEL_INLINE static I xor_(I a, I b) { return _mm256_xor_si256(a, b); }
    KERNEL_INLINE static I add(I a, I b) { return _mm256_add_epi32(a, b); }
    KERNEL_INLINE static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return _mm256_mullo_epi32(a, b); }
    KERNEL_INLINE static I mul16(I a, I b) { return _mm256_mullo_epi16(a, b); }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return _mm256_srli_epi16(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl16(I a) {
        return _mm256_slli_epi16(a, n);
    }
    template <int n>
    KERNEL_INLINE static I sar32(I a) {
        return _mm256_srai_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl32(I a) {
        return _mm256_slli_epi32(a, n);
    }
    /// Words to the right, by `second` in the upper half of an AVX-512 register.
    KERNEL_INLINE static I shr16(I a, int first, int) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(first)); }
    /// Within lanes: byte index[i] of `a`.
    KERNEL_INLINE static I shuffle(I a, I index) { return _mm256_shuffle_epi8(a, index); }
    /// `value` in the bytes where a & bit is bit.
    KERNEL_INLINE static I where(I a, I bit, I value) {
        return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(a, bit), bit), value);
    }
    KERNEL_INLINE static I low_words(I a, I b) { return _mm256_unpacklo_epi16(a, b); }
    KERNEL_INLINE static I high_words(I a, I b) { return _mm256_unpackhi_epi16(a, b); }
    /// sum + the products of the two words of every 32 bits.
    KERNEL_INLINE static I dot(I sum, I a, I b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
    /// Element index[i] of the numbers at p, of which as many as fit a register can be read.
    KERNEL_INLINE static I pick(const int32_t* p, I index) { return _mm256_permutevar8x32_epi32(load(p), index); }
    /// Sums of 16 columns per lane, as dot() leaves them when the words were interleaved by low_words and high_words
    /// and split into even and odd bytes: those of lane k go to out[k].
    KERNEL_INLINE static void store_columns(I low_even, I low_odd, I high_even, I high_odd, int32_t* const out[kLanes]) {
        const I a = _mm256_unpacklo_epi32(low_even, low_odd), b = _mm256_unpackhi_epi32(low_even, low_odd);
        const I c = _mm256_unpacklo_epi32(high_even, high_odd), d = _mm256_unpackhi_epi32(high_even, high_odd);
        store(out[0], _mm256_permute2x128_si256(a, b, 0x20));
        store(out[0] + 8, _mm256_permute2x128_si256(c, d, 0x20));
        store(out[1], _mm256_permute2x128_si256(a, b, 0x31));
        store(out[1] + 8, _mm256_permute2x128_si256(c, d, 0x31));
    }

    KERNEL_INLINE static F set(float x) { return _mm256_set1_ps(x); }
    KERNEL_INLINE static F load(const float* p) { return _mm256_loadu_ps(p); }
    KERNEL_INLINE static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
    KERNEL_INLINE static F to_float(I x) { return _mm256_cvtepi32_ps(x); }
    KERNEL_INLINE static F add(F a, F b) { return _mm256_add_ps(a, b); }
    KERNEL_INLINE static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }

  private:
    KERNEL_INLINE static __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
};

}  // namespace
}  // namespace powerinfer::kernels
