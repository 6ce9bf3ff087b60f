// The vector primitives that lane_dot.h and lane_formats.h are written in, for AVX2: one weight row per
// 32-bit lane. For files compiled for AVX2 only. Everything is in an anonymous namespace, so that no copy of
// it can reach plain code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"
#include "kernels/cpu/lane_strip.h"

namespace powerinfer::kernels {
namespace {

struct LanesAvx2 {
    using I = __m256i;  ///< one int32, or four bytes, per row
    using F = __m256;   ///< one float per row
    static constexpr int kRows = 8;
    static constexpr int kTokens = 4;  ///< tokens that share one read of a weight panel
    static constexpr bool kTwoTokens = false;  ///< whether there is a product of rows with two tokens at once

    KERNEL_INLINE static I set(int32_t x) { return _mm256_set1_epi32(x); }
    KERNEL_INLINE static F set(float x) { return _mm256_set1_ps(x); }
    KERNEL_INLINE static F zero() { return _mm256_setzero_ps(); }
    KERNEL_INLINE static I and_(I a, I b) { return _mm256_and_si256(a, b); }
    KERNEL_INLINE static I or_(I a, I b) { return _mm256_or_si256(a, b); }
    KERNEL_INLINE static I xor_(I a, I b) { return _mm256_xor_si256(a, b); }
    KERNEL_INLINE static I add(I a, I b) { return _mm256_add_epi32(a, b); }
    KERNEL_INLINE static I add8(I a, I b) { return _mm256_add_epi8(a, b); }
    KERNEL_INLINE static I add16(I a, I b) { return _mm256_add_epi16(a, b); }
    KERNEL_INLINE static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return _mm256_mullo_epi32(a, b); }
    KERNEL_INLINE static I mul16(I a, I b) { return _mm256_mullo_epi16(a, b); }
    template <int n>
    KERNEL_INLINE static I shr(I a) {
        return _mm256_srli_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl(I a) {
        return _mm256_slli_epi32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return _mm256_srli_epi16(a, n);
    }
    /// Byte-wise table look-up; every index byte is below 16.
    KERNEL_INLINE static I look_up(const int8_t* table16, I index) {
        const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table16));
        return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), index);
    }
    KERNEL_INLINE static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
    KERNEL_INLINE static F as_float(I a) { return _mm256_castsi256_ps(a); }
    KERNEL_INLINE static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    KERNEL_INLINE static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    KERNEL_INLINE static F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }

    KERNEL_INLINE static void store(float* out, F x, int count) {
        if (count == kRows) {
            _mm256_storeu_ps(out, x);
            return;
        }
        alignas(32) float all[kRows];
        _mm256_store_ps(all, x);
        for (int i = 0; i < count; ++i) out[i] = all[i];
    }
    KERNEL_INLINE static F load(const float* in, int count) {
        if (count == kRows) return _mm256_loadu_ps(in);
        alignas(32) float all[kRows] = {};
        for (int i = 0; i < count; ++i) all[i] = in[i];
        return _mm256_load_ps(all);
    }

    KERNEL_INLINE static __m128i load16(const uint8_t* p) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }

    /// z[g] = bytes at + 4g .. at + 4g + 3 of every row, g < 4.
    KERNEL_INLINE static void load_16_bytes(const uint8_t* const* row, size_t at, I* z) {
        const __m256i x0 = _mm256_set_m128i(load16(row[4] + at), load16(row[0] + at));
        const __m256i x1 = _mm256_set_m128i(load16(row[5] + at), load16(row[1] + at));
        const __m256i x2 = _mm256_set_m128i(load16(row[6] + at), load16(row[2] + at));
        const __m256i x3 = _mm256_set_m128i(load16(row[7] + at), load16(row[3] + at));
        const __m256i t0 = _mm256_unpacklo_epi32(x0, x1), t1 = _mm256_unpackhi_epi32(x0, x1);
        const __m256i t2 = _mm256_unpacklo_epi32(x2, x3), t3 = _mm256_unpackhi_epi32(x2, x3);
        z[0] = _mm256_unpacklo_epi64(t0, t2);
        z[1] = _mm256_unpackhi_epi64(t0, t2);
        z[2] = _mm256_unpacklo_epi64(t1, t3);
        z[3] = _mm256_unpackhi_epi64(t1, t3);
    }

    /// The f16 at byte `at` of every row.
    KERNEL_INLINE static F load_half(const uint8_t* const* row, size_t at) {
        __m128i h = _mm_setzero_si128();
        h = _mm_insert_epi16(h, half_bits(row[0] + at), 0);
        h = _mm_insert_epi16(h, half_bits(row[1] + at), 1);
        h = _mm_insert_epi16(h, half_bits(row[2] + at), 2);
        h = _mm_insert_epi16(h, half_bits(row[3] + at), 3);
        h = _mm_insert_epi16(h, half_bits(row[4] + at), 4);
        h = _mm_insert_epi16(h, half_bits(row[5] + at), 5);
        h = _mm_insert_epi16(h, half_bits(row[6] + at), 6);
        h = _mm_insert_epi16(h, half_bits(row[7] + at), 7);
        return _mm256_cvtph_ps(h);
    }
    KERNEL_INLINE static int half_bits(const uint8_t* p) {
        uint16_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return bits;
    }

    /// The dword at byte `at` of every row.
    KERNEL_INLINE static I load_dword(const uint8_t* const* row, size_t at) {
        return _mm256_setr_epi32(dword(row[0] + at), dword(row[1] + at), dword(row[2] + at),
                                 dword(row[3] + at), dword(row[4] + at), dword(row[5] + at),
                                 dword(row[6] + at), dword(row[7] + at));
    }
    KERNEL_INLINE static int32_t dword(const void* p) {
        int32_t x;
        __builtin_memcpy(&x, p, sizeof x);
        return x;
    }
    /// The byte at byte `at` of every row.
    KERNEL_INLINE static I load_byte(const uint8_t* const* row, size_t at) {
        return _mm256_setr_epi32(row[0][at], row[1][at], row[2][at], row[3][at], row[4][at], row[5][at],
                                 row[6][at], row[7][at]);
    }

    // The same pieces of eight of sixteen interleaved rows (quant/interleave.h) are one load.
    KERNEL_INLINE static I load32(const uint8_t* p) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    KERNEL_INLINE static void load_16_bytes(const Strip& rows, size_t at, I* z) {
        for (int g = 0; g < 4; ++g) z[g] = load32(rows.base + 16 * at + 64 * g + 4 * rows.first);
    }
    KERNEL_INLINE static F load_half(const Strip& rows, size_t at) {
        return _mm256_cvtph_ps(load16(rows.base + 16 * at + 2 * rows.first));
    }
    KERNEL_INLINE static I load_dword(const Strip& rows, size_t at) {
        return load32(rows.base + 16 * at + 4 * rows.first);
    }
    KERNEL_INLINE static I load_byte(const Strip& rows, size_t at) {
        return _mm256_cvtepu8_epi32(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows.base + 16 * at + rows.first)));
    }

    /// The f16 in the low, or the high, half of every dword.
    KERNEL_INLINE static F low_half(I x) {
        const I halves = _mm256_packus_epi32(and_(x, set(0xFFFF)), set(0));
        return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(halves, 0x08)));
    }
    KERNEL_INLINE static F high_half(I x) { return low_half(shr<16>(x)); }

    // Codes up to 127 multiply as unsigned bytes. Larger ones would overflow the 16-bit pair sums of
    // vpmaddubsw; they are kept as signed bytes (less 128), whose sign moves to the activation.
    template <int max_code>
    static constexpr bool kSigned = max_code > 127;

    /// The zero point that is left in the codes of prepare().
    template <int max_code>
    static constexpr int zero_point(int zero) {
        return kSigned<max_code> ? 0 : zero;
    }

    /// From unsigned codes to the form that dot() reads.
    template <int max_code>
    KERNEL_INLINE static I prepare(I code) {
        return kSigned<max_code> ? xor_(code, set(int32_t(0x80808080))) : code;
    }

    /// Per row: sum of code[g] byte i times a[4g + i] over n dwords (n = 4 or 8), as two 16-bit halves per
    /// lane, with each half times the 16-bit number in the same place of `scale`.
    template <int max_code, int n, class Acts>
    KERNEL_INLINE static I dot(const I* code, Acts a, I scale) {
        constexpr int kPairs = kSigned<max_code> ? 1 : 32767 / (2 * 127 * max_code);  // that fit 16 bits
        I total = _mm256_setzero_si256();
        I part = total;
        int held = 0;
#pragma GCC unroll 8
        for (int g = 0; g < n; ++g) {
            const I x = act(a, g);
            const I p = kSigned<max_code>
                            ? _mm256_maddubs_epi16(_mm256_abs_epi8(code[g]), _mm256_sign_epi8(x, code[g]))
                            : _mm256_maddubs_epi16(code[g], x);
            part = held == 0 ? p : add16(part, p);
            if (++held == kPairs || g == n - 1) {
                total = add(total, _mm256_madd_epi16(part, scale));
                held = 0;
            }
        }
        return total;
    }
    template <int max_code, int n, class Acts>
    KERNEL_INLINE static I dot(const I* code, Acts a) {
        return dot<max_code, n>(code, a, _mm256_set1_epi16(1));
    }
    /// Dword g of the activations of every row.
    KERNEL_INLINE static I act(const int8_t* a, int g) { return set(dword(a + 4 * g)); }
    KERNEL_INLINE static I act(LaneActs a, int g) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.base + 64 * g));
    }
    /// Byte j of every row less `zero`, in the form that dot() multiplies by.
    template <int j>
    KERNEL_INLINE static I scale(I x, int zero) {
        return _mm256_sub_epi16(bytes<j, -1, j, -1>(x), _mm256_set1_epi16(static_cast<int16_t>(zero)));
    }
    /// Bytes i and j of every row less `zero`, as a pair for add_pairs().
    template <int i, int j>
    KERNEL_INLINE static I pair(I x, int zero) {
        return _mm256_sub_epi16(bytes<i, -1, j, -1>(x), _mm256_set1_epi16(static_cast<int16_t>(zero)));
    }
    /// Bytes of every dword in another order; -1 stands for a zero byte.
    template <int b0, int b1, int b2, int b3>
    KERNEL_INLINE static I bytes(I x) {
        constexpr int32_t kPattern =
            static_cast<int32_t>((b0 & 255u) | (b1 & 255u) << 8 | (b2 & 255u) << 16 | (b3 & 255u) << 24);
        const __m128i pattern =
            _mm_or_si128(_mm_set1_epi32(kPattern), _mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0C0C0C0C));
        return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(pattern));
    }

    // Four lanes, each of them a token.
    using Four = __m128;
    KERNEL_INLINE static Four load_four(const float* p) { return _mm_loadu_ps(p); }
    KERNEL_INLINE static void store_four(float* p, Four x) { _mm_storeu_ps(p, x); }
    KERNEL_INLINE static Four fma(Four a, Four b, Four c) { return _mm_fmadd_ps(a, b, c); }
    KERNEL_INLINE static Four fnma(Four a, Four b, Four c) { return _mm_fnmadd_ps(a, b, c); }
    /// out[kRows * (i % 4) + 4 * (i / 4) + t] = lane i of x[t], for four t.
    KERNEL_INLINE static void store_fours(const F* x, float* out) {
        const F t0 = _mm256_unpacklo_ps(x[0], x[1]), t1 = _mm256_unpackhi_ps(x[0], x[1]);
        const F t2 = _mm256_unpacklo_ps(x[2], x[3]), t3 = _mm256_unpackhi_ps(x[2], x[3]);
        _mm256_storeu_ps(out, _mm256_shuffle_ps(t0, t2, 0x44));
        _mm256_storeu_ps(out + 8, _mm256_shuffle_ps(t0, t2, 0xEE));
        _mm256_storeu_ps(out + 16, _mm256_shuffle_ps(t1, t3, 0x44));
        _mm256_storeu_ps(out + 24, _mm256_shuffle_ps(t1, t3, 0xEE));
    }

    /// sum + (low half of a) * (low half of b) + (high half of a) * (high half of b) as int16.
    KERNEL_INLINE static I add_pairs(I sum, I a, I b) {
        return add(sum, _mm256_madd_epi16(a, b));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
