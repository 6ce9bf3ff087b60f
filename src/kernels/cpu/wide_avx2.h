// Sixteen neighbouring floats, for AVX2: what the wide_*.h kernels are written in. Both this and
// wide_avx512.h do the same operations in the same order, so that the two sets give the same bits. For files
// compiled for AVX2 only. Everything is in an anonymous namespace, so that no copy of it can reach plain
// code.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/wide_x86.h"

namespace powerinfer::kernels {
namespace {

struct WideAvx2 : WideX86 {
    struct F {
        __m256 lo, hi;
    };
    static constexpr int kTileRows = 2,
                         kTileTokens = 2;  ///< accumulators of a dot tile that fit the registers

    static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    static F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static F load(const float* p, int count) {
        alignas(32) float all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load(all);
    }
    static void store(float* p, F x) {
        _mm256_storeu_ps(p, x.lo);
        _mm256_storeu_ps(p + 8, x.hi);
    }
    static void store(float* p, F x, int count) {
        alignas(32) float all[16];
        store(all, x);
        for (int i = 0; i < count; ++i) p[i] = all[i];
    }

    static __m128i load8(const uint16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static F load_f16(const uint16_t* p) {
        return {_mm256_cvtph_ps(load8(p)), _mm256_cvtph_ps(load8(p + 8))};
    }
    static F load_f16(const uint16_t* p, int count) {
        alignas(32) uint16_t all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load_f16(all);
    }
    static F load_bf16(const uint16_t* p) { return {widen_bf16(load8(p)), widen_bf16(load8(p + 8))}; }
    static F load_bf16(const uint16_t* p, int count) {
        alignas(32) uint16_t all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load_bf16(all);
    }
    static __m256 widen_bf16(__m128i h) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
    }
    static void store_f16(uint16_t* p, F x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.lo, _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.hi, _MM_FROUND_TO_NEAREST_INT));
    }
    /// Stores whole numbers, rounded to nearest even, and returns their sum; values lie in [-128, 127].
    static int store_int8(int8_t* q, F x) {
        const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi));
        const __m256i in_order = _mm256_permute4x64_epi64(words, 0xD8);
        return store_codes(q, _mm_packs_epi16(_mm256_castsi256_si128(in_order), _mm256_extracti128_si256(in_order, 1)));
    }

    static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
    static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
    static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
    static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
    static F fma(F a, F b, F c) {
        return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
    }
    static F fnma(F a, F b, F c) {
        return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
    }
    static F abs(F x) {
        const __m256 sign = _mm256_set1_ps(-0.0f);
        return {_mm256_andnot_ps(sign, x.lo), _mm256_andnot_ps(sign, x.hi)};
    }
    /// b where either is NaN.
    static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
    static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
    static F round(F x) {
        constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        return {_mm256_round_ps(x.lo, kMode), _mm256_round_ps(x.hi, kMode)};
    }
    /// x * 2^n for whole n in [-152, 130], rounded once.
    static F scale_by_power(F x, F n) { return {scale(x.lo, n.lo), scale(x.hi, n.hi)}; }
    static __m256 scale(__m256 x, __m256 n) {
        const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
        return _mm256_mul_ps(_mm256_mul_ps(x, power(half)), power(_mm256_sub_epi32(whole, half)));
    }
    static __m256 power(__m256i n) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
    }

    /// Halves are added until one is left: l[i] + l[i + 8], then + 4, + 2, + 1.
    static float sum(F x) {
        const __m256 eight = _mm256_add_ps(x.lo, x.hi);
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static float largest(F x) {
        const __m256 eight = _mm256_max_ps(x.lo, x.hi);
        const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
        const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
