// What attention needs beyond wide_avx512.h: many sums at once, and 8-bit dot products of eight cached rows. Gives the
// same bits as attention_avx2.h. For files compiled for AVX-512 with VNNI only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
#include "kernels/cpu/wide_avx512.h"

namespace powerinfer::kernels {
namespace {

struct AttentionAvx512 : WideAvx512 {
    static constexpr int kHeads = 4;          ///< most query heads that share a read of keys and values
    static constexpr int kAccumulators = 16;  ///< that fit the registers beside what they are made of
    static constexpr int kColumns = 8;        ///< most accumulators of sixteen values for one head

    /// out[i] = sum(acc[i]) for sixteen of them.
    KERNEL_INLINE static void totals(const F* acc, float* out) {
        F four[4];  // 128-bit lane j of four[i]: what is left of acc[4 j + i]
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const F a = halves(acc[i], acc[i + 4]), b = halves(acc[i + 8], acc[i + 12]);
            four[i] = add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
        }
        const F a = add(_mm512_unpacklo_ps(four[0], four[1]), _mm512_unpackhi_ps(four[0], four[1]));
        const F b = add(_mm512_unpacklo_ps(four[2], four[3]), _mm512_unpackhi_ps(four[2], four[3]));
        const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
        store(out, add(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y))));
    }
    KERNEL_INLINE static F halves(F a, F b) {
        return add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    }

    /// Of eight rows, the dot products of two blocks of 32 (only the first if `single`) with H queries:
    /// out[h][r] = rows[r][0 .. 31] . q[h][0 .. 31], out[h][8 + r] = the same of 32 .. 63.
    template <int H>
    KERNEL_INLINE static void dots(const int8_t* const* rows, const int8_t* const* q, int at, bool single, F* out) {
        const __mmask64 valid = single ? 0xFFFFFFFFu : ~__mmask64{0};
        const __m512i offset = _mm512_set1_epi8(-128);
        __m512i k[8];
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r) k[r] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(valid, rows[r] + at), offset);
#pragma GCC unroll 4
        for (int h = 0; h < H; ++h) {
            const __m512i query = _mm512_maskz_loadu_epi8(valid, q[h] + at);
            // Keys are taken as unsigned, 128 too large.
            const __m512i zero = _mm512_setzero_si512();
            const __m512i start = _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, offset, query));
            __m512i d[8];
#pragma GCC unroll 8
            for (int r = 0; r < 8; ++r) d[r] = _mm512_dpbusd_epi32(start, k[r], query);
            const __m512i a = four_rows(d), b = four_rows(d + 4);
            const __m512i sums = _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
            out[h] = _mm512_cvtepi32_ps(_mm512_shuffle_i32x4(sums, sums, 0xD8));
        }
    }
    /// In every 128-bit lane: the sum of that lane of each d[0 .. 3].
    KERNEL_INLINE static __m512i four_rows(const __m512i* d) {
        const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(d[0], d[1]), _mm512_unpackhi_epi32(d[0], d[1]));
        const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(d[2], d[3]), _mm512_unpackhi_epi32(d[2], d[3]));
        return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    }

    KERNEL_INLINE static F load_int8(const uint8_t* p) {
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
    /// The first `count` (at most 8) of a, then of b.
    KERNEL_INLINE static F two_f16(const uint16_t* a, const uint16_t* b, int count) {
        const auto valid = static_cast<__mmask8>((1u << count) - 1);
        return _mm512_cvtph_ps(
            _mm256_set_m128i(_mm_maskz_loadu_epi16(valid, b), _mm_maskz_loadu_epi16(valid, a)));
    }
    /// a eight times, then b.
    KERNEL_INLINE static F two(float a, float b) {
        return _mm512_insertf32x8(_mm512_set1_ps(a), _mm256_set1_ps(b), 1);
    }
    /// out[i] = x[i] + x[i + 8]
    KERNEL_INLINE static void store_folded(float* out, F x) {
        _mm256_storeu_ps(out, _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
