// The vector primitives that lane_dot_*.h and lane_formats_*.h are written in, for NEON with dotprod: one weight row per
// 32-bit lane. For files compiled for aarch64 with dotprod only. Everything is in an anonymous namespace, so that no copy
// of it can reach plain code.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/cpu/inline.h"
#include "kernels/cpu/lane_strip.h"

namespace powerinfer::kernels {
namespace {

struct LanesNeon {
    using I = uint32x4_t;   ///< one 32-bit number, or four bytes, per row
    using F = float32x4_t;  ///< one float per row
    static constexpr int kRows = 4;
    static constexpr int kTokens = 4;  ///< tokens that share one read of a weight panel
    static constexpr bool kTwoTokens = false;  ///< whether there is a product of rows with two tokens at once

    KERNEL_INLINE static I set(int32_t x) { return vdupq_n_u32(static_cast<uint32_t>(x)); }
    KERNEL_INLINE static F set(float x) { return vdupq_n_f32(x); }
    KERNEL_INLINE static F zero() { return vdupq_n_f32(0); }
    KERNEL_INLINE static I and_(I a, I b) { return vandq_u32(a, b); }
    KERNEL_INLINE static I or_(I a, I b) { return vorrq_u32(a, b); }
    KERNEL_INLINE static I xor_(I a, I b) { return veorq_u32(a, b); }
    KERNEL_INLINE static I add(I a, I b) { return vaddq_u32(a, b); }
    KERNEL_INLINE static I add8(I a, I b) {
        return vreinterpretq_u32_u8(vaddq_u8(vreinterpretq_u8_u32(a), vreinterpretq_u8_u32(b)));
    }
    KERNEL_INLINE static I sub(I a, I b) { return vsubq_u32(a, b); }
    KERNEL_INLINE static I mul(I a, I b) { return vmulq_u32(a, b); }
    KERNEL_INLINE static I mul16(I a, I b) {
        return vreinterpretq_u32_u16(vmulq_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
    }
    template <int n>
    KERNEL_INLINE static I shr(I a) {
        return vshrq_n_u32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shl(I a) {
        return vshlq_n_u32(a, n);
    }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return vreinterpretq_u32_u16(vshrq_n_u16(vreinterpretq_u16_u32(a), n));
    }
    /// Byte-wise table look-up; every index byte is below 16.
    KERNEL_INLINE static I look_up(const int8_t* table16, I index) {
        return vreinterpretq_u32_s8(vqtbl1q_s8(vld1q_s8(table16), vreinterpretq_u8_u32(index)));
    }
    KERNEL_INLINE static F to_float(I a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
    KERNEL_INLINE static F as_float(I a) { return vreinterpretq_f32_u32(a); }
    KERNEL_INLINE static F mul(F a, F b) { return vmulq_f32(a, b); }
    /// a * b + c, c - a * b
    KERNEL_INLINE static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
    KERNEL_INLINE static F fnma(F a, F b, F c) { return vfmsq_f32(c, a, b); }

    KERNEL_INLINE static void store(float* out, F x, int count) {
        if (count == kRows) {
            vst1q_f32(out, x);
            return;
        }
        float all[kRows];
        vst1q_f32(all, x);
        for (int i = 0; i < count; ++i) out[i] = all[i];
    }
    KERNEL_INLINE static F load(const float* in, int count) {
        if (count == kRows) return vld1q_f32(in);
        float all[kRows] = {};
        for (int i = 0; i < count; ++i) all[i] = in[i];
        return vld1q_f32(all);
    }

    KERNEL_INLINE static I load16(const uint8_t* p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }

    /// z[g] = bytes at + 4g .. at + 4g + 3 of every row, g < 4.
    KERNEL_INLINE static void load_16_bytes(const uint8_t* const* row, size_t at, I* z) {
        const I x0 = load16(row[0] + at), x1 = load16(row[1] + at);
        const I x2 = load16(row[2] + at), x3 = load16(row[3] + at);
        const uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(x0, x1)), b = vreinterpretq_u64_u32(vtrn2q_u32(x0, x1));
        const uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(x2, x3)), d = vreinterpretq_u64_u32(vtrn2q_u32(x2, x3));
        z[0] = vreinterpretq_u32_u64(vzip1q_u64(a, c));
        z[1] = vreinterpretq_u32_u64(vzip1q_u64(b, d));
        z[2] = vreinterpretq_u32_u64(vzip2q_u64(a, c));
        z[3] = vreinterpretq_u32_u64(vzip2q_u64(b, d));
    }

    /// The f16 at byte `at` of every row.
    KERNEL_INLINE static F load_half(const uint8_t* const* row, size_t at) {
        uint16x4_t h = vdup_n_u16(half_bits(row[0] + at));
        h = vset_lane_u16(half_bits(row[1] + at), h, 1);
        h = vset_lane_u16(half_bits(row[2] + at), h, 2);
        return from_halves(vset_lane_u16(half_bits(row[3] + at), h, 3));
    }
    KERNEL_INLINE static uint16_t half_bits(const uint8_t* p) {
        uint16_t bits;
        __builtin_memcpy(&bits, p, sizeof bits);
        return bits;
    }
    KERNEL_INLINE static F from_halves(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }

    /// The dword at byte `at` of every row.
    KERNEL_INLINE static I load_dword(const uint8_t* const* row, size_t at) {
        return four(dword(row[0] + at), dword(row[1] + at), dword(row[2] + at), dword(row[3] + at));
    }
    KERNEL_INLINE static int32_t dword(const void* p) {
        int32_t x;
        __builtin_memcpy(&x, p, sizeof x);
        return x;
    }
    /// The byte at byte `at` of every row.
    KERNEL_INLINE static I load_byte(const uint8_t* const* row, size_t at) {
        return four(row[0][at], row[1][at], row[2][at], row[3][at]);
    }
    KERNEL_INLINE static I four(int32_t x0, int32_t x1, int32_t x2, int32_t x3) {
        int32x4_t x = vdupq_n_s32(x0);
        x = vsetq_lane_s32(x1, x, 1);
        x = vsetq_lane_s32(x2, x, 2);
        return vreinterpretq_u32_s32(vsetq_lane_s32(x3, x, 3));
    }

    // The same pieces of four of sixteen interleaved rows (quant/interleave.h) are one load.
    KERNEL_INLINE static void load_16_bytes(const Strip& rows, size_t at, I* z) {
        for (size_t g = 0; g < 4; ++g) z[g] = load_dword(rows, at + 4 * g);
    }
    KERNEL_INLINE static F load_half(const Strip& rows, size_t at) {
        return from_halves(vreinterpret_u16_u8(vld1_u8(rows.base + 16 * at + 2 * rows.first)));
    }
    KERNEL_INLINE static I load_dword(const Strip& rows, size_t at) {
        return load16(rows.base + 16 * at + 4 * rows.first);
    }
    KERNEL_INLINE static I load_byte(const Strip& rows, size_t at) {
        const auto bytes = static_cast<uint32_t>(dword(rows.base + 16 * at + rows.first));
        const uint8x8_t eight = vreinterpret_u8_u32(vdup_n_u32(bytes));
        return vmovl_u16(vget_low_u16(vmovl_u8(eight)));
    }

    /// The f16 in the low, or the high, half of every dword.
    KERNEL_INLINE static F low_half(I x) { return from_halves(vmovn_u32(x)); }
    KERNEL_INLINE static F high_half(I x) { return from_halves(vshrn_n_u32(x, 16)); }

    // sdot takes signed bytes: codes up to 127 are, larger ones are moved down by 128.
    template <int max_code>
    static constexpr bool kMoved = max_code > 127;

    /// The zero point that is left in the codes of prepare().
    template <int max_code>
    static constexpr int zero_point(int zero) {
        return kMoved<max_code> ? zero - 128 : zero;
    }

    /// From unsigned codes to the form that dot() reads.
    template <int max_code>
    KERNEL_INLINE static I prepare(I code) {
        return kMoved<max_code> ? xor_(code, set(int32_t(0x80808080))) : code;
    }

    /// Per row: sum of code[g] byte i times a[4g + i] over n dwords (n = 4 or 8), times `scale`.
    template <int max_code, int n, class Acts>
    KERNEL_INLINE static I dot(const I* code, Acts a, I scale) {
        return mul(dot<max_code, n>(code, a), scale);
    }
    template <int max_code, int n>
    KERNEL_INLINE static I dot(const I* code, const int8_t* a) {
        int32x4_t total = add_four(vdupq_n_s32(0), code, vld1q_s8(a));
        if constexpr (n == 8) total = add_four(total, code + 4, vld1q_s8(a + 16));
        return vreinterpretq_u32_s32(total);
    }
    template <int max_code, int n>
    KERNEL_INLINE static I dot(const I* code, LaneActs a) {
        int32x4_t total = vdupq_n_s32(0);
#pragma GCC unroll 8
        for (int g = 0; g < n; ++g)
            total = vdotq_s32(total, vreinterpretq_s8_u32(code[g]), vreinterpretq_s8_u32(act(a, g)));
        return vreinterpretq_u32_s32(total);
    }
    /// Dword g of the activations of every row.
    KERNEL_INLINE static I act(const int8_t* a, int g) { return set(dword(a + 4 * g)); }
    KERNEL_INLINE static I act(LaneActs a, int g) { return vreinterpretq_u32_s8(vld1q_s8(a.base + 64 * g)); }
    KERNEL_INLINE static int32x4_t add_four(int32x4_t total, const I* code, int8x16_t act) {
        total = vdotq_laneq_s32(total, vreinterpretq_s8_u32(code[0]), act, 0);
        total = vdotq_laneq_s32(total, vreinterpretq_s8_u32(code[1]), act, 1);
        total = vdotq_laneq_s32(total, vreinterpretq_s8_u32(code[2]), act, 2);
        return vdotq_laneq_s32(total, vreinterpretq_s8_u32(code[3]), act, 3);
    }
    /// Byte j of every row less `zero`, in the form that dot() multiplies by.
    template <int j>
    KERNEL_INLINE static I scale(I x, int zero) {
        return sub(and_(shifted<8 * j>(x), set(255)), set(zero));
    }
    /// Bytes i and j of every row less `zero`, as a pair for add_pairs().
    template <int i, int j>
    KERNEL_INLINE static I pair(I x, int zero) {
        const uint16x8_t words = vreinterpretq_u16_u32(bytes<i, -1, j, -1>(x));
        return vreinterpretq_u32_u16(vsubq_u16(words, vdupq_n_u16(static_cast<uint16_t>(zero))));
    }
    template <int n>
    KERNEL_INLINE static I shifted(I x) {
        if constexpr (n == 0) {
            return x;
        } else {
            return shr<n>(x);
        }
    }
    /// Bytes of every dword in another order; -1 stands for a zero byte.
    template <int b0, int b1, int b2, int b3>
    KERNEL_INLINE static I bytes(I x) {
        constexpr uint32_t kPattern = (b0 & 255u) | (b1 & 255u) << 8 | (b2 & 255u) << 16 | (b3 & 255u) << 24;
        const uint32x4_t lane = {0, 0x04040404, 0x08080808, 0x0C0C0C0C};
        const uint32x4_t index = vorrq_u32(vdupq_n_u32(kPattern), lane);
        return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(x), vreinterpretq_u8_u32(index)));
    }

    // Four lanes, each of them a token.
    using Four = F;
    KERNEL_INLINE static Four load_four(const float* p) { return vld1q_f32(p); }
    KERNEL_INLINE static void store_four(float* p, Four x) { vst1q_f32(p, x); }
    /// out[kRows * (i % 4) + 4 * (i / 4) + t] = lane i of x[t], for four t.
    KERNEL_INLINE static void store_fours(const F* x, float* out) {
        const float32x4x4_t columns = {{x[0], x[1], x[2], x[3]}};
        vst4q_f32(out, columns);
    }

    /// sum + (low half of a) * (low half of b) + (high half of a) * (high half of b) as int16.
    KERNEL_INLINE static I add_pairs(I sum, I a, I b) {
        const int16x8_t x = vreinterpretq_s16_u32(a), y = vreinterpretq_s16_u32(b);
        const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
        return add(sum, vreinterpretq_u32_s32(vpaddq_s32(low, high)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
