// The vector primitives that lane_dot.h and lane_formats.h are written in, for AVX-512 with VNNI: one weight
// row per 32-bit lane. For files compiled for AVX-512 only. Everything is in an anonymous namespace, so that
// no copy of it can reach plain code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"
#include "kernels/cpu/lane_strip.h"

namespace powerinfer::kernels {
namespace {

struct LanesAvx512 {
    using I = __m512i;  ///< one int32, or four bytes, per row
    using F = __m512;   ///< one float per row
    static constexpr int kRows = 16;
    static constexpr int kTokens = 8;  ///< tokens that share one read of a weight panel
    static constexpr bool kTwoTokens = false;  ///< whether there is a product of rows with two tokens at once

    KERNEL_INLINE static I set(int32_t x) { return _mm512_set1_epi32(x); }
    KERNEL_INLINE static F set(float x) { return _mm512_set1_ps(x); }
    KERNEL_INLINE static F zero() { return _mm512_setzero_ps(); }
    KERNEL_INLINE static I and_(I a, I b) { return _mm512_and_si512(a, b); }
    KERNEL_INLINE static I or_(I a, I b) { return _mm512_or_si512(a, b); }
    KERNEL_INLINE static I xor_(I a, I b) { return _mm512_xor_si512(a, b); }
    KERNEL_INLINE static I add(I a, I b) { return _mm512_add_epi32(a, b); }
    KERNEL_INLINE static I add8(I a, I b) { return _mm512_add_epi8(a, b); }
    KERNEL_INLINE static I add16(I a, I b) { return _mm512_add_epi16(a, b); }
    KERNEL_INLINE static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return _mm512_mullo_epi32(a, b); }
    KERNEL_INLINE static I mul16(I a, I b) { return _mm512_mullo_epi16(a, b); }
    template <int n>
    KERNEL_INLINE static I shr(I a) {
        return _mm512_srli_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl(I a) {
        return _mm512_slli_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return _mm512_srli_epi16(a, n);
    }
    /// Byte-wise table look-up; every index byte is below 16.
    KERNEL_INLINE static I look_up(const int8_t* table16, I index) {
        const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table16));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), index);
    }
    KERNEL_INLINE static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
    KERNEL_INLINE static F as_float(I a) { return _mm512_castsi512_ps(a); }
    KERNEL_INLINE static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    KERNEL_INLINE static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    KERNEL_INLINE static F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }

    KERNEL_INLINE static __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1); }
    KERNEL_INLINE static void store(float* out, F x, int count) {
        _mm512_mask_storeu_ps(out, first(count), x);
    }
    KERNEL_INLINE static F load(const float* in, int count) {
        return _mm512_maskz_loadu_ps(first(count), in);
    }

    KERNEL_INLINE static __m128i load16(const uint8_t* p) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }
    KERNEL_INLINE static I four_rows(const uint8_t* const* row, size_t at, int r) {
        __m512i x = _mm512_castsi128_si512(load16(row[r] + at));
        x = _mm512_inserti32x4(x, load16(row[r + 4] + at), 1);
        x = _mm512_inserti32x4(x, load16(row[r + 8] + at), 2);
        return _mm512_inserti32x4(x, load16(row[r + 12] + at), 3);
    }

    /// z[g] = bytes at + 4g .. at + 4g + 3 of every row, g < 4.
    KERNEL_INLINE static void load_16_bytes(const uint8_t* const* row, size_t at, I* z) {
        const I x0 = four_rows(row, at, 0), x1 = four_rows(row, at, 1);
        const I x2 = four_rows(row, at, 2), x3 = four_rows(row, at, 3);
        const I t0 = _mm512_unpacklo_epi32(x0, x1), t1 = _mm512_unpackhi_epi32(x0, x1);
        const I t2 = _mm512_unpacklo_epi32(x2, x3), t3 = _mm512_unpackhi_epi32(x2, x3);
        z[0] = _mm512_unpacklo_epi64(t0, t2);
        z[1] = _mm512_unpackhi_epi64(t0, t2);
        z[2] = _mm512_unpacklo_epi64(t1, t3);
        z[3] = _mm512_unpackhi_epi64(t1, t3);
    }

    KERNEL_INLINE static int half_bits(const uint8_t* p) {
        uint16_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return bits;
    }
    KERNEL_INLINE static __m128i eight_halves(const uint8_t* const* row, size_t at) {
        __m128i h = _mm_cvtsi32_si128(half_bits(row[0] + at));
        h = _mm_insert_epi16(h, half_bits(row[1] + at), 1);
        h = _mm_insert_epi16(h, half_bits(row[2] + at), 2);
        h = _mm_insert_epi16(h, half_bits(row[3] + at), 3);
        h = _mm_insert_epi16(h, half_bits(row[4] + at), 4);
        h = _mm_insert_epi16(h, half_bits(row[5] + at), 5);
        h = _mm_insert_epi16(h, half_bits(row[6] + at), 6);
        return _mm_insert_epi16(h, half_bits(row[7] + at), 7);
    }
    /// The f16 at byte `at` of every row.
    KERNEL_INLINE static F load_half(const uint8_t* const* row, size_t at) {
        return _mm512_cvtph_ps(_mm256_set_m128i(eight_halves(row + 8, at), eight_halves(row, at)));
    }

    KERNEL_INLINE static int32_t dword(const void* p) {
        int32_t x;
        __builtin_memcpy(&x, p, sizeof x);
        return x;
    }
    /// The dword at byte `at` of every row.
    KERNEL_INLINE static I load_dword(const uint8_t* const* row, size_t at) {
        return _mm512_setr_epi32(
            dword(row[0] + at), dword(row[1] + at), dword(row[2] + at), dword(row[3] + at),
            dword(row[4] + at), dword(row[5] + at), dword(row[6] + at), dword(row[7] + at),
            dword(row[8] + at), dword(row[9] + at), dword(row[10] + at), dword(row[11] + at),
            dword(row[12] + at), dword(row[13] + at), dword(row[14] + at), dword(row[15] + at));
    }
    /// The byte at byte `at` of every row.
    KERNEL_INLINE static I load_byte(const uint8_t* const* row, size_t at) {
        return _mm512_setr_epi32(row[0][at], row[1][at], row[2][at], row[3][at], row[4][at], row[5][at],
                                 row[6][at], row[7][at], row[8][at], row[9][at], row[10][at], row[11][at],
                                 row[12][at], row[13][at], row[14][at], row[15][at]);
    }

    // The same pieces of sixteen interleaved rows (quant/interleave.h) are one load.
    KERNEL_INLINE static I load64(const uint8_t* p) { return _mm512_loadu_si512(p); }
    KERNEL_INLINE static void load_16_bytes(const Strip& rows, size_t at, I* z) {
        for (int g = 0; g < 4; ++g) z[g] = load64(rows.base + 16 * at + 64 * g);
    }
    KERNEL_INLINE static F load_half(const Strip& rows, size_t at) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows.base + 16 * at)));
    }
    KERNEL_INLINE static I load_dword(const Strip& rows, size_t at) { return load64(rows.base + 16 * at); }
    KERNEL_INLINE static I load_byte(const Strip& rows, size_t at) {
        return _mm512_cvtepu8_epi32(load16(rows.base + 16 * at));
    }

    /// The f16 in the low, or the high, half of every dword.
    KERNEL_INLINE static F low_half(I x) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)); }
    KERNEL_INLINE static F high_half(I x) { return low_half(shr<16>(x)); }

    /// The zero point that is left in the codes of prepare(): vpdpbusd takes any unsigned code.
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
        I total = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (int g = 0; g < n; ++g) total = _mm512_dpbusd_epi32(total, code[g], act(a, g));
        return total;
    }
    /// Dword g of the activations of every row.
    KERNEL_INLINE static I act(const int8_t* a, int g) { return set(dword(a + 4 * g)); }
    KERNEL_INLINE static I act(LaneActs a, int g) { return _mm512_loadu_si512(a.base + 64 * g); }
    /// Byte j of every row less `zero`, in the form that dot() multiplies by.
    template <int j>
    KERNEL_INLINE static I scale(I x, int zero) {
        return sub(bytes<j, -1, -1, -1>(x), set(zero));
    }
    /// Bytes i and j of every row less `zero`, as a pair for add_pairs().
    template <int i, int j>
    KERNEL_INLINE static I pair(I x, int zero) {
        return _mm512_sub_epi16(bytes<i, -1, j, -1>(x), _mm512_set1_epi16(static_cast<int16_t>(zero)));
    }
    /// Bytes of every dword in another order; -1 stands for a zero byte.
    template <int b0, int b1, int b2, int b3>
    KERNEL_INLINE static I bytes(I x) {
        constexpr int32_t kPattern =
            static_cast<int32_t>((b0 & 255u) | (b1 & 255u) << 8 | (b2 & 255u) << 16 | (b3 & 255u) << 24);
        const __m128i pattern =
            _mm_or_si128(_mm_set1_epi32(kPattern), _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0C0C0C0C));
        return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(pattern));
    }

    // Four lanes, each of them a token.
    using Four = __m128;
    KERNEL_INLINE static Four load_four(const float* p) { return _mm_loadu_ps(p); }
    KERNEL_INLINE static void store_four(float* p, Four x) { _mm_storeu_ps(p, x); }
    KERNEL_INLINE static Four fma(Four a, Four b, Four c) { return _mm_fmadd_ps(a, b, c); }
    KERNEL_INLINE static Four fnma(Four a, Four b, Four c) { return _mm_fnmadd_ps(a, b, c); }
    /// out[kRows * (i % 4) + 4 * (i / 4) + t] = lane i of x[t], for four t.
    KERNEL_INLINE static void store_fours(const F* x, float* out) {
        const F t0 = _mm512_unpacklo_ps(x[0], x[1]), t1 = _mm512_unpackhi_ps(x[0], x[1]);
        const F t2 = _mm512_unpacklo_ps(x[2], x[3]), t3 = _mm512_unpackhi_ps(x[2], x[3]);
        _mm512_store_ps(out, _mm512_shuffle_ps(t0, t2, 0x44));
        _mm512_store_ps(out + 16, _mm512_shuffle_ps(t0, t2, 0xEE));
        _mm512_store_ps(out + 32, _mm512_shuffle_ps(t1, t3, 0x44));
        _mm512_store_ps(out + 48, _mm512_shuffle_ps(t1, t3, 0xEE));
    }

    /// sum + (low half of a) * (low half of b) + (high half of a) * (high half of b) as int16.
    KERNEL_INLINE static I add_pairs(I sum, I a, I b) {
        return _mm512_dpwssd_epi32(sum, a, b);
    }
};

}  // namespace
}  // namespace powerinfer::kernels
