// Eight scales of a row's blocks, for NEON: what slab_formats.h and slab_axpy.h compute them in. For files compiled for
// aarch64 only, hence the anonymous namespace.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

/// What each function does: eight_avx2.h.
struct Eight {
    struct F {
        float32x4_t lo, hi;
    };
    struct I {
        int32x4_t lo, hi;
    };

    KERNEL_INLINE static F set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
    KERNEL_INLINE static I set(int32_t x) { return {vdupq_n_s32(x), vdupq_n_s32(x)}; }
    KERNEL_INLINE static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    KERNEL_INLINE static void store(float* p, F x) {
        vst1q_f32(p, x.lo);
        vst1q_f32(p + 4, x.hi);
    }
    KERNEL_INLINE static void store(int32_t* p, I x) {
        vst1q_s32(p, x.lo);
        vst1q_s32(p + 4, x.hi);
    }

    KERNEL_INLINE static F from_bytes(uint64_t bytes) {
        const uint16x8_t words = vmovl_u8(vcreate_u8(bytes));
        return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(words))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(words)))};
    }
    KERNEL_INLINE static F from_signed_bytes(const int8_t* p) {
        const int16x8_t words = vmovl_s8(vld1_s8(p));
        return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(words)))};
    }
    KERNEL_INLINE static F from_bits(const uint32_t* p) {
        return {vreinterpretq_f32_u32(vld1q_u32(p)), vreinterpretq_f32_u32(vld1q_u32(p + 4))};
    }
    KERNEL_INLINE static F from_f16(uint16_t h) {
        const float32x4_t x = widen(vdup_n_u16(h));
        return {x, x};
    }
    KERNEL_INLINE static F from_f16(const uint8_t* p0, const uint8_t* p1, const uint8_t* p2, const uint8_t* p3,
                                    const uint8_t* p4, const uint8_t* p5, const uint8_t* p6, const uint8_t* p7) {
        return {widen(four(p0, p1, p2, p3)), widen(four(p4, p5, p6, p7))};
    }

    KERNEL_INLINE static F mul(F a, F b) { return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)}; }
    KERNEL_INLINE static F sub(F a, F b) { return {vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)}; }
    KERNEL_INLINE static F div(F a, F b) { return {vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)}; }
    KERNEL_INLINE static F fma(F a, F b, F c) { return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)}; }
    KERNEL_INLINE static F minus(F x) { return {vnegq_f32(x.lo), vnegq_f32(x.hi)}; }
    KERNEL_INLINE static I add(I a, I b) { return {vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)}; }
    KERNEL_INLINE static I mul(I a, I b) { return {vmulq_s32(a.lo, b.lo), vmulq_s32(a.hi, b.hi)}; }
    KERNEL_INLINE static I max(I a, I b) { return {vmaxq_s32(a.lo, b.lo), vmaxq_s32(a.hi, b.hi)}; }
    KERNEL_INLINE static I magnitude_bits(F x) {
        return {vreinterpretq_s32_f32(vabsq_f32(x.lo)), vreinterpretq_s32_f32(vabsq_f32(x.hi))};
    }
    KERNEL_INLINE static F as_float(I x) { return {vreinterpretq_f32_s32(x.lo), vreinterpretq_f32_s32(x.hi)}; }
    KERNEL_INLINE static I whole(F x) { return {vcvtnq_s32_f32(x.lo), vcvtnq_s32_f32(x.hi)}; }
    KERNEL_INLINE static I at_least(F a, F b) { return mask(vcgeq_f32(a.lo, b.lo), vcgeq_f32(a.hi, b.hi)); }
    KERNEL_INLINE static I above(I a, I b) { return mask(vcgtq_s32(a.lo, b.lo), vcgtq_s32(a.hi, b.hi)); }
    KERNEL_INLINE static F keep(I set, F x) {
        return {vreinterpretq_f32_s32(vandq_s32(set.lo, vreinterpretq_s32_f32(x.lo))),
                vreinterpretq_f32_s32(vandq_s32(set.hi, vreinterpretq_s32_f32(x.hi)))};
    }
    KERNEL_INLINE static F choose(I mask, F set, F otherwise) {
        return {vbslq_f32(vreinterpretq_u32_s32(mask.lo), set.lo, otherwise.lo),
                vbslq_f32(vreinterpretq_u32_s32(mask.hi), set.hi, otherwise.hi)};
    }
    KERNEL_INLINE static void store_words(int32_t* p, I low, I high) {
        vst1q_s32(p, vsliq_n_s32(low.lo, high.lo, 16));
        vst1q_s32(p + 4, vsliq_n_s32(low.hi, high.hi, 16));
    }

  private:
    KERNEL_INLINE static float32x4_t widen(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
    KERNEL_INLINE static uint16x4_t four(const uint8_t* p0, const uint8_t* p1, const uint8_t* p2, const uint8_t* p3) {
        uint16x4_t h = vdup_n_u16(bits(p0));
        h = vset_lane_u16(bits(p1), h, 1);
        h = vset_lane_u16(bits(p2), h, 2);
        return vset_lane_u16(bits(p3), h, 3);
    }
    KERNEL_INLINE static uint16_t bits(const uint8_t* p) {
        uint16_t h;
        __builtin_memcpy(&h, p, sizeof h);
        return h;
    }
    KERNEL_INLINE static I mask(uint32x4_t lo, uint32x4_t hi) {
        return {vreinterpretq_s32_u32(lo), vreinterpretq_s32_u32(hi)};
    }
};

}  // namespace
}  // namespace powerinfer::kernels
