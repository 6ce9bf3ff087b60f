// What attention needs beyond wide_avx2.h: many sums at once, and 8-bit dot products of eight cached rows. Gives the
// same bits as attention_avx512.h. For files compiled for AVX2 only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
#include "kernels/cpu/wide_avx2.h"

namespace powerinfer::kernels {
namespace {

struct AttentionAvx2 : WideAvx2 {
    static constexpr int kHeads = 2;         ///< most query heads that share a read of keys and values
    static constexpr int kAccumulators = 4;  ///< that fit the registers beside what they are made of
    static constexpr int kColumns = 4;       ///< most accumulators of sixteen values for one head

    /// out[i] = sum(acc[i]) for four of them.
    KERNEL_INLINE static void totals(const F* acc, float* out) {
        const __m256 a = halves(acc[0], acc[1]), b = halves(acc[2], acc[3]);
        const __m256 two = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        const __m256 one = _mm256_add_ps(two, _mm256_permute_ps(two, 0x4E));
        _mm_storeu_ps(out, _mm_unpacklo_ps(_mm256_castps256_ps128(one), _mm256_extractf128_ps(one, 1)));
    }
    KERNEL_INLINE static __m256 halves(F a, F b) {
        const __m256 x = _mm256_add_ps(a.lo, a.hi), y = _mm256_add_ps(b.lo, b.hi);
        return _mm256_add_ps(_mm256_permute2f128_ps(x, y, 0x20), _mm256_permute2f128_ps(x, y, 0x31));
    }

    /// Of eight rows, the dot products of two blocks of 32 (only the first if `single`) with H queries:
    /// out[h][r] = rows[r][0 .. 31] . q[h][0 .. 31], out[h][8 + r] = the same of 32 .. 63.
    template <int H>
    KERNEL_INLINE static void dots(const int8_t* const* rows, const int8_t* const* q, int at, bool single, F* out) {
        for (int h = 0; h < H; ++h) {
            out[h].lo = one_block(rows, q[h], at);
            out[h].hi = single ? _mm256_setzero_ps() : one_block(rows, q[h], at + 32);
        }
    }
    KERNEL_INLINE static __m256 one_block(const int8_t* const* rows, const int8_t* q, int at) {
        const __m256i query = load32(q + at);
        __m256i d[8];
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r) {
            // Pairs of products fit 16 bits, since neither side holds -128.
            const __m256i k = load32(rows[r] + at);
            const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(k), _mm256_sign_epi8(query, k));
            d[r] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        }
        const __m256i a = four_rows(d), b = four_rows(d + 4);
        return _mm256_cvtepi32_ps(
            _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)));
    }
    KERNEL_INLINE static __m256i load32(const int8_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    /// In every 128-bit lane: the sum of that lane of each d[0 .. 3].
    KERNEL_INLINE static __m256i four_rows(const __m256i* d) {
        const __m256i a = _mm256_add_epi32(_mm256_unpacklo_epi32(d[0], d[1]), _mm256_unpackhi_epi32(d[0], d[1]));
        const __m256i b = _mm256_add_epi32(_mm256_unpacklo_epi32(d[2], d[3]), _mm256_unpackhi_epi32(d[2], d[3]));
        return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    }

    KERNEL_INLINE static F load_int8(const uint8_t* p) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(x, 8)))};
    }
    /// The first `count` (at most 8) of a, then of b.
    KERNEL_INLINE static F two_f16(const uint16_t* a, const uint16_t* b, int count) {
        return {eight_f16(a, count), eight_f16(b, count)};
    }
    KERNEL_INLINE static __m256 eight_f16(const uint16_t* p, int count) {
        if (count == 8) return _mm256_cvtph_ps(load8(p));
        alignas(16) uint16_t all[8] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return _mm256_cvtph_ps(load8(all));
    }
    /// a eight times, then b.
    KERNEL_INLINE static F two(float a, float b) { return {_mm256_set1_ps(a), _mm256_set1_ps(b)}; }
    /// out[i] = x[i] + x[i + 8]
    KERNEL_INLINE static void store_folded(float* out, F x) { _mm256_storeu_ps(out, _mm256_add_ps(x.lo, x.hi)); }
};

}  // namespace
}  // namespace powerinfer::kernels
