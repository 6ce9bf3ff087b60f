// What attention needs beyond wide_neon.h: several sums at once, and 8-bit dot products of eight cached rows. For files
// compiled for aarch64 with dotprod only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
#include "kernels/cpu/wide_neon.h"

namespace powerinfer::kernels {
namespace {

struct AttentionNeon : WideNeon {
    static constexpr int kHeads = 2;         ///< most query heads that share a read of keys and values
    static constexpr int kAccumulators = 4;  ///< that fit the registers beside what they are made of
    static constexpr int kColumns = 4;       ///< most accumulators of sixteen values for one head

    /// out[i] = sum(acc[i]) for four of them.
    KERNEL_INLINE static void totals(const F* acc, float* out) {
        vst1q_f32(out, vpaddq_f32(two_sums(acc[0], acc[1]), two_sums(acc[2], acc[3])));
    }
    KERNEL_INLINE static float32x4_t two_sums(F x, F y) {
        const float64x2_t a = vreinterpretq_f64_f32(four_sums(x)), b = vreinterpretq_f64_f32(four_sums(y));
        return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(a, b)), vreinterpretq_f32_f64(vzip2q_f64(a, b)));
    }

    /// Of eight rows, the dot products of two blocks of 32 (only the first if `single`) with H queries:
    /// out[h][r] = rows[r][0 .. 31] . q[h][0 .. 31], out[h][8 + r] = the same of 32 .. 63.
    template <int H>
    KERNEL_INLINE static void dots(const int8_t* const* rows, const int8_t* const* q, int at, bool single, F* out) {
        for (int h = 0; h < H; ++h) {
            out[h].a = four_dots(rows, q[h], at);
            out[h].b = four_dots(rows + 4, q[h], at);
            out[h].c = single ? vdupq_n_f32(0) : four_dots(rows, q[h], at + 32);
            out[h].d = single ? vdupq_n_f32(0) : four_dots(rows + 4, q[h], at + 32);
        }
    }
    KERNEL_INLINE static float32x4_t four_dots(const int8_t* const* rows, const int8_t* q, int at) {
        const int8x16_t q0 = vld1q_s8(q + at), q1 = vld1q_s8(q + at + 16);
        const auto one = [&](const int8_t* row) __attribute__((always_inline)) {
            return vdotq_s32(vdotq_s32(vdupq_n_s32(0), vld1q_s8(row + at), q0), vld1q_s8(row + at + 16), q1);
        };
        return vcvtq_f32_s32(
            vpaddq_s32(vpaddq_s32(one(rows[0]), one(rows[1])), vpaddq_s32(one(rows[2]), one(rows[3]))));
    }

    KERNEL_INLINE static F load_int8(const uint8_t* p) {
        const int8x16_t x = vreinterpretq_s8_u8(vld1q_u8(p));
        const int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_s8(vget_high_s8(x));
        return {widen(vget_low_s16(low)), widen(vget_high_s16(low)), widen(vget_low_s16(high)),
                widen(vget_high_s16(high))};
    }
    KERNEL_INLINE static float32x4_t widen(int16x4_t x) { return vcvtq_f32_s32(vmovl_s16(x)); }
    /// The first `count` (at most 8) of a, then of b.
    KERNEL_INLINE static F two_f16(const uint16_t* a, const uint16_t* b, int count) {
        const uint16x8_t x = eight_f16(a, count), y = eight_f16(b, count);
        return {widen_f16(vget_low_u16(x)), widen_f16(vget_high_u16(x)), widen_f16(vget_low_u16(y)),
                widen_f16(vget_high_u16(y))};
    }
    KERNEL_INLINE static uint16x8_t eight_f16(const uint16_t* p, int count) {
        if (count == 8) return vld1q_u16(p);
        uint16_t all[8] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return vld1q_u16(all);
    }
    /// a eight times, then b.
    KERNEL_INLINE static F two(float a, float b) {
        return {vdupq_n_f32(a), vdupq_n_f32(a), vdupq_n_f32(b), vdupq_n_f32(b)};
    }
    /// out[i] = x[i] + x[i + 8]
    KERNEL_INLINE static void store_folded(float* out, F x) {
        vst1q_f32(out, vaddq_f32(x.a, x.c));
        vst1q_f32(out + 4, vaddq_f32(x.b, x.d));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
