// Sixteen neighbouring floats, for AVX-512: what the wide_*.h kernels are written in. Both this and
// wide_avx2.h do the same operations in the same order, so that the two sets give the same bits. For files
// compiled for AVX-512 only. Everything is in an anonymous namespace, so that no copy of it can reach plain
// code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/wide_x86.h"

namespace powerinfer::kernels {
namespace {

struct WideAvx512 : WideX86 {
    using F = __m512;
    static constexpr int kTileRows = 4,
                         kTileTokens = 4;  ///< accumulators of a dot tile that fit the registers

    static F zero() { return _mm512_setzero_ps(); }
    static F set(float x) { return _mm512_set1_ps(x); }
    static __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1); }
    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static F load(const float* p, int count) { return _mm512_maskz_loadu_ps(first(count), p); }
    static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
    static void store(float* p, F x, int count) { _mm512_mask_storeu_ps(p, first(count), x); }

    static F load_f16(const uint16_t* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static F load_f16(const uint16_t* p, int count) {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(count), p));
    }
    static F load_bf16(const uint16_t* p) {
        return widen_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static F load_bf16(const uint16_t* p, int count) {
        return widen_bf16(_mm256_maskz_loadu_epi16(first(count), p));
    }
    static F widen_bf16(__m256i h) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
    }
    static void store_f16(uint16_t* p, F x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    /// Stores whole numbers, rounded to nearest even, and returns their sum; values lie in [-128, 127].
    static int store_int8(int8_t* q, F x) { return store_codes(q, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x))); }

    static F add(F a, F b) { return _mm512_add_ps(a, b); }
    static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    static F div(F a, F b) { return _mm512_div_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
    static F abs(F x) { return _mm512_abs_ps(x); }
    /// b where either is NaN.
    static F max(F a, F b) { return _mm512_max_ps(a, b); }
    static F min(F a, F b) { return _mm512_min_ps(a, b); }
    static F round(F x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    /// x * 2^n for whole n in [-152, 130], rounded once.
    static F scale_by_power(F x, F n) { return _mm512_scalef_ps(x, n); }

    /// Halves are added until one is left: l[i] + l[i + 8], then + 4, + 2, + 1.
    static float sum(F x) {
        const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static float largest(F x) {
        const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
