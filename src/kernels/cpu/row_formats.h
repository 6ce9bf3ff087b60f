// How one block of one row becomes signed byte codes in element order, with a float scale (and minimum) per
// 16 elements:
//   x[i] = scale[i / 16] * code[i] + min[i / 16]
// where both products are exact, so that one rounding gives the value of quant/decode.cpp. Layouts:
// quant/blocks_*.h. For files compiled for AVX2 or more only, hence the anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/inline.h"
#include "quant/blocks_k.h"
#include "quant/blocks_legacy.h"
#include "quant/blocks_table.h"
#include "quant/blocks_ternary.h"

namespace powerinfer::kernels {
namespace {

inline __m128i load_16(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline __m256i load_32(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline void put_32(int8_t* p, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x);
}
inline __m256i masked(__m256i x, int byte) {
    return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(byte)));
}
/// Elements 0..15 from the low halves of 16 bytes, 16..31 from the high ones.
inline __m256i nibbles_32(const uint8_t* qs) {
    const __m128i x = load_16(qs);
    return masked(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), 15);
}
inline __m256i look_up_32(const int8_t* table, const uint8_t* qs) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_16(table)), nibbles_32(qs));
}
/// 16 in every byte i whose bit i is set.
inline __m256i fifth_bits(uint32_t bits) {
    const __m256i pattern =
        _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(bits)), pattern);
    const __m256i own = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201ull));
    return masked(_mm256_cmpeq_epi8(_mm256_and_si256(spread, own), own), 16);
}
inline void fill(float* p, int n, float x) {
    for (int i = 0; i < n; ++i) p[i] = x;
}

struct RowQ4_1 {
    using Block = quant::BlockQ4_1;
    static constexpr int kSize = 32;
    static constexpr bool kHasMin = true;
    static void unpack(const Block& b, int8_t* code, float* scale, float* min) {
        put_32(code, nibbles_32(b.qs));
        fill(scale, 2, _cvtsh_ss(b.d));
        fill(min, 2, _cvtsh_ss(b.m));
    }
};

struct RowQ5_0 {
    using Block = quant::BlockQ5_0;
    static constexpr int kSize = 32;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        const __m256i codes = _mm256_or_si256(nibbles_32(b.qs), fifth_bits(b.qh));
        put_32(code, _mm256_sub_epi8(codes, _mm256_set1_epi8(16)));
        fill(scale, 2, _cvtsh_ss(b.d));
    }
};

struct RowQ5_1 {
    using Block = quant::BlockQ5_1;
    static constexpr int kSize = 32;
    static constexpr bool kHasMin = true;
    static void unpack(const Block& b, int8_t* code, float* scale, float* min) {
        put_32(code, _mm256_or_si256(nibbles_32(b.qs), fifth_bits(b.qh)));
        fill(scale, 2, _cvtsh_ss(b.d));
        fill(min, 2, _cvtsh_ss(b.m));
    }
};

struct RowIQ4_NL {
    using Block = quant::BlockIQ4_NL;
    static constexpr int kSize = 32;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        put_32(code, look_up_32(quant::kIq4Table, b.qs));
        fill(scale, 2, _cvtsh_ss(b.d));
    }
};

struct RowMXFP4 {
    using Block = quant::BlockMXFP4;
    static constexpr int kSize = 32;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        put_32(code, look_up_32(quant::kMxfp4Table, b.qs));
        // 2^(e - 128), subnormal for the two smallest e.
        const uint32_t bits = b.e >= 2 ? static_cast<uint32_t>(b.e - 1) << 23 : 0x00200000u << b.e;
        float power;
        __builtin_memcpy(&power, &bits, sizeof power);
        fill(scale, 2, power);
    }
};

/// The six-bit scales and minima of Q4_K and Q5_K.
inline void scales_q4_k(const uint8_t* s, float d, float dmin, float* scale, float* min) {
    for (int g = 0; g < 8; ++g) {
        const int sc = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
        const int m = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
        fill(scale + 2 * g, 2, d * static_cast<float>(sc));
        fill(min + 2 * g, 2, -dmin * static_cast<float>(m));
    }
}

struct RowQ4_K {
    using Block = quant::BlockQ4_K;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = true;
    static void unpack(const Block& b, int8_t* code, float* scale, float* min) {
        for (int run = 0; run < 4; ++run) {
            const __m256i x = load_32(b.qs + 32 * run);
            put_32(code + 64 * run, masked(x, 15));
            put_32(code + 64 * run + 32, masked(_mm256_srli_epi16(x, 4), 15));
        }
        scales_q4_k(b.scales, _cvtsh_ss(b.d), _cvtsh_ss(b.dmin), scale, min);
    }
};

struct RowQ5_K {
    using Block = quant::BlockQ5_K;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = true;
    static void unpack(const Block& b, int8_t* code, float* scale, float* min) {
        __m256i h = load_32(b.qh);
        for (int run = 0; run < 4; ++run) {
            const __m256i x = load_32(b.qs + 32 * run);
            const __m256i even = masked(_mm256_slli_epi16(h, 4), 16),
                          odd = masked(_mm256_slli_epi16(h, 3), 16);
            put_32(code + 64 * run, _mm256_or_si256(masked(x, 15), even));
            put_32(code + 64 * run + 32, _mm256_or_si256(masked(_mm256_srli_epi16(x, 4), 15), odd));
            h = _mm256_srli_epi16(h, 2);
        }
        scales_q4_k(b.scales, _cvtsh_ss(b.d), _cvtsh_ss(b.dmin), scale, min);
    }
};

struct RowQ2_K {
    using Block = quant::BlockQ2_K;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = true;
    static void unpack(const Block& b, int8_t* code, float* scale, float* min) {
        for (int half = 0; half < 2; ++half) {
            __m256i x = load_32(b.qs + 32 * half);
            for (int j = 0; j < 4; ++j) {
                put_32(code + 128 * half + 32 * j, masked(x, 3));
                x = _mm256_srli_epi16(x, 2);
            }
        }
        const float d = _cvtsh_ss(b.d), dmin = _cvtsh_ss(b.dmin);
        for (int k = 0; k < 16; ++k) {
            scale[k] = d * static_cast<float>(b.scales[k] & 15);
            min[k] = -dmin * static_cast<float>(b.scales[k] >> 4);
        }
    }
};

struct RowQ3_K {
    using Block = quant::BlockQ3_K;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        __m256i h = load_32(b.hmask);
        for (int half = 0; half < 2; ++half) {
            __m256i x = load_32(b.qs + 32 * half);
            for (int j = 0; j < 4; ++j) {
                const __m256i high = masked(_mm256_slli_epi16(h, 2), 4);
                const __m256i codes = _mm256_or_si256(masked(x, 3), high);
                put_32(code + 128 * half + 32 * j, _mm256_sub_epi8(codes, _mm256_set1_epi8(4)));
                x = _mm256_srli_epi16(x, 2);
                h = _mm256_srli_epi16(h, 1);
            }
        }
        const float d = _cvtsh_ss(b.d);
        for (int k = 0; k < 16; ++k) {
            const int low = k < 8 ? b.scales[k] & 15 : b.scales[k - 8] >> 4;
            const int high = (b.scales[8 + k % 4] >> 2 * (k / 4)) & 3;
            scale[k] = d * static_cast<float>((low | high << 4) - 32);
        }
    }
};

struct RowQ6_K {
    using Block = quant::BlockQ6_K;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        const __m256i zero = _mm256_set1_epi8(32);
        for (int half = 0; half < 2; ++half) {
            const __m256i up = load_32(b.qh + 32 * half);
            const __m256i first = load_32(b.ql + 64 * half), second = load_32(b.ql + 64 * half + 32);
            const auto put = [&](int j, __m256i low, __m256i high) __attribute__((always_inline)) {
                const __m256i codes = _mm256_or_si256(masked(low, 15), masked(high, 0x30));
                put_32(code + 128 * half + 32 * j, _mm256_sub_epi8(codes, zero));
            };
            put(0, first, _mm256_slli_epi16(up, 4));
            put(1, second, _mm256_slli_epi16(up, 2));
            put(2, _mm256_srli_epi16(first, 4), up);
            put(3, _mm256_srli_epi16(second, 4), _mm256_srli_epi16(up, 2));
        }
        const float d = _cvtsh_ss(b.d);
        for (int k = 0; k < 16; ++k) scale[k] = d * static_cast<float>(b.scales[k]);
    }
};

struct RowIQ4_XS {
    using Block = quant::BlockIQ4_XS;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        const float d = _cvtsh_ss(b.d);
        for (int g = 0; g < 8; ++g) {
            put_32(code + 32 * g, look_up_32(quant::kIq4Table, b.qs + 16 * g));
            const int low = g % 2 ? b.scales_l[g / 2] >> 4 : b.scales_l[g / 2] & 15;
            const int high = (b.scales_h >> 2 * g) & 3;
            fill(scale + 2 * g, 2, d * static_cast<float>((low | high << 4) - 32));
        }
    }
};

struct RowTQ2_0 {
    using Block = quant::BlockTQ2_0;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = false;
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        for (int half = 0; half < 2; ++half) {
            __m256i x = load_32(b.qs + 32 * half);
            for (int j = 0; j < 4; ++j) {
                put_32(code + 128 * half + 32 * j, _mm256_sub_epi8(masked(x, 3), _mm256_set1_epi8(1)));
                x = _mm256_srli_epi16(x, 2);
            }
        }
        fill(scale, 16, _cvtsh_ss(b.d));
    }
};

struct RowTQ1_0 {
    using Block = quant::BlockTQ1_0;
    static constexpr int kSize = 256;
    static constexpr bool kHasMin = false;
    /// The next digit of 16 bytes, which are fractions of 256: times 3, what moves above the top is the
    /// digit.
    static __m128i next_digit(__m128i& x) {
        const __m128i three = _mm_set1_epi16(3), low = _mm_set1_epi16(255);
        const __m128i even = _mm_mullo_epi16(_mm_and_si128(x, low), three);
        const __m128i odd = _mm_mullo_epi16(_mm_srli_epi16(x, 8), three);
        x = _mm_or_si128(_mm_and_si128(even, low), _mm_slli_epi16(odd, 8));
        const __m128i digits = _mm_or_si128(_mm_srli_epi16(even, 8), _mm_andnot_si128(low, odd));
        return _mm_sub_epi8(digits, _mm_set1_epi8(1));
    }
    static void unpack(const Block& b, int8_t* code, float* scale, float*) {
        __m128i x0 = load_16(b.qs), x1 = load_16(b.qs + 16), x2 = load_16(b.qs + 32);
        for (int n = 0; n < 5; ++n) {
            put_32(code + 32 * n, _mm256_set_m128i(next_digit(x1), next_digit(x0)));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(code + 160 + 16 * n), next_digit(x2));
        }
        int32_t four;
        __builtin_memcpy(&four, b.qh, sizeof four);
        __m128i x3 = _mm_cvtsi32_si128(four);
        for (int n = 0; n < 4; ++n) {
            const int32_t digits = _mm_cvtsi128_si32(next_digit(x3));
            __builtin_memcpy(code + 240 + 4 * n, &digits, sizeof digits);
        }
        fill(scale, 16, _cvtsh_ss(b.d));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
