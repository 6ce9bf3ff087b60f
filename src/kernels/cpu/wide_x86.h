// What WideAvx2 and WideAvx512 share: single numbers, and codes in one 128-bit register. For files compiled for AVX2 or
// more only, hence the anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace powerinfer::kernels {
namespace {

struct WideX86 {
    static float square_root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
    static uint16_t to_f16(float x) {
        const __m128i half = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
        return static_cast<uint16_t>(_mm_extract_epi16(half, 0));
    }
    /// Stores sixteen codes and returns their sum.
    static int store_codes(int8_t* q, __m128i codes) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(q), codes);
        const __m128i unsigned_codes = _mm_xor_si128(codes, _mm_set1_epi8(-128));  // each larger by 128
        const __m128i halves = _mm_sad_epu8(unsigned_codes, _mm_setzero_si128());
        return _mm_cvtsi128_si32(halves) + _mm_extract_epi16(halves, 4) - 16 * 128;
    }
};

}  // namespace
}  // namespace powerinfer::kernels
