// Sixteen neighbouring floats, for NEON: what the wide_*.h kernels are written in. The same operations in the same order
// as in wide_avx2.h. For files compiled for aarch64 only. Everything is in an anonymous namespace, so that no copy of it
// can reach plain code.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

struct WideNeon {
    struct F {
        float32x4_t a, b, c, d;
    };
    static constexpr int kTileRows = 2, kTileTokens = 2;  ///< accumulators of a dot tile that fit the registers

    KERNEL_INLINE static F zero() { return set(0.0f); }
    KERNEL_INLINE static F set(float x) {
        const float32x4_t four = vdupq_n_f32(x);
        return {four, four, four, four};
    }
    KERNEL_INLINE static F load(const float* p) {
        return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
    }
    static F load(const float* p, int count) {
        float all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load(all);
    }
    KERNEL_INLINE static void store(float* p, F x) {
        vst1q_f32(p, x.a);
        vst1q_f32(p + 4, x.b);
        vst1q_f32(p + 8, x.c);
        vst1q_f32(p + 12, x.d);
    }
    static void store(float* p, F x, int count) {
        float all[16];
        store(all, x);
        for (int i = 0; i < count; ++i) p[i] = all[i];
    }

    KERNEL_INLINE static float32x4_t widen_f16(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
    KERNEL_INLINE static F load_f16(const uint16_t* p) {
        const uint16x8_t low = vld1q_u16(p), high = vld1q_u16(p + 8);
        return {widen_f16(vget_low_u16(low)), widen_f16(vget_high_u16(low)), widen_f16(vget_low_u16(high)),
                widen_f16(vget_high_u16(high))};
    }
    static F load_f16(const uint16_t* p, int count) {
        uint16_t all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load_f16(all);
    }
    KERNEL_INLINE static float32x4_t widen_bf16(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
    KERNEL_INLINE static F load_bf16(const uint16_t* p) {
        const uint16x8_t low = vld1q_u16(p), high = vld1q_u16(p + 8);
        return {widen_bf16(vget_low_u16(low)), widen_bf16(vget_high_u16(low)), widen_bf16(vget_low_u16(high)),
                widen_bf16(vget_high_u16(high))};
    }
    static F load_bf16(const uint16_t* p, int count) {
        uint16_t all[16] = {};
        for (int i = 0; i < count; ++i) all[i] = p[i];
        return load_bf16(all);
    }
    KERNEL_INLINE static uint16x4_t narrow_f16(float32x4_t x) { return vreinterpret_u16_f16(vcvt_f16_f32(x)); }
    KERNEL_INLINE static void store_f16(uint16_t* p, F x) {
        vst1_u16(p, narrow_f16(x.a));
        vst1_u16(p + 4, narrow_f16(x.b));
        vst1_u16(p + 8, narrow_f16(x.c));
        vst1_u16(p + 12, narrow_f16(x.d));
    }
    KERNEL_INLINE static uint16_t to_f16(float x) { return vget_lane_u16(narrow_f16(vdupq_n_f32(x)), 0); }
    KERNEL_INLINE static float square_root(float x) { return vgetq_lane_f32(vsqrtq_f32(vdupq_n_f32(x)), 0); }
    /// Stores whole numbers, rounded to nearest even, and returns their sum; values lie in [-128, 127].
    KERNEL_INLINE static int store_int8(int8_t* q, F x) {
        const int16x8_t low = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(x.a)), vmovn_s32(vcvtnq_s32_f32(x.b)));
        const int16x8_t high = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(x.c)), vmovn_s32(vcvtnq_s32_f32(x.d)));
        vst1q_s8(q, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
        return vaddvq_s16(vaddq_s16(low, high));
    }

    KERNEL_INLINE static F add(F x, F y) {
        return {vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d)};
    }
    KERNEL_INLINE static F sub(F x, F y) {
        return {vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d)};
    }
    KERNEL_INLINE static F mul(F x, F y) {
        return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d)};
    }
    KERNEL_INLINE static F div(F x, F y) {
        return {vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d)};
    }
    /// x * y + z
    KERNEL_INLINE static F fma(F x, F y, F z) {
        return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
                vfmaq_f32(z.d, x.d, y.d)};
    }
    /// z - x * y
    KERNEL_INLINE static F fnma(F x, F y, F z) {
        return {vfmsq_f32(z.a, x.a, y.a), vfmsq_f32(z.b, x.b, y.b), vfmsq_f32(z.c, x.c, y.c),
                vfmsq_f32(z.d, x.d, y.d)};
    }
    KERNEL_INLINE static F abs(F x) { return {vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d)}; }
    /// y where either is NaN.
    KERNEL_INLINE static F max(F x, F y) {
        return {larger(x.a, y.a), larger(x.b, y.b), larger(x.c, y.c), larger(x.d, y.d)};
    }
    KERNEL_INLINE static F min(F x, F y) {
        return {smaller(x.a, y.a), smaller(x.b, y.b), smaller(x.c, y.c), smaller(x.d, y.d)};
    }
    KERNEL_INLINE static float32x4_t larger(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
    KERNEL_INLINE static float32x4_t smaller(float32x4_t x, float32x4_t y) { return vbslq_f32(vcltq_f32(x, y), x, y); }
    KERNEL_INLINE static F round(F x) {
        return {vrndnq_f32(x.a), vrndnq_f32(x.b), vrndnq_f32(x.c), vrndnq_f32(x.d)};
    }
    /// x * 2^n for whole n in [-152, 130], rounded once.
    KERNEL_INLINE static F scale_by_power(F x, F n) {
        return {scale(x.a, n.a), scale(x.b, n.b), scale(x.c, n.c), scale(x.d, n.d)};
    }
    KERNEL_INLINE static float32x4_t scale(float32x4_t x, float32x4_t n) {
        const int32x4_t whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1);
        return vmulq_f32(vmulq_f32(x, power(half)), power(vsubq_s32(whole, half)));
    }
    KERNEL_INLINE static float32x4_t power(int32x4_t n) {
        return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
    }

    /// Halves are added until one is left: l[i] + l[i + 8], then + 4, + 2, + 1.
    KERNEL_INLINE static float32x4_t four_sums(F x) { return vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d)); }
    KERNEL_INLINE static float sum(F x) {
        const float32x4_t four = four_sums(x);
        return vaddv_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
    }
    KERNEL_INLINE static float largest(F x) {
        return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.a, x.c), vmaxq_f32(x.b, x.d)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
