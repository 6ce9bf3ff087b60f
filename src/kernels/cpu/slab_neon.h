// The vector primitives that slab_axpy.h and slab_formats.h are written in, for NEON: bytes in two lanes of 16, each a
// register, and eight floats. For files compiled for aarch64 only. Everything is in an anonymous namespace, so that no
// copy of it can reach plain code.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

/// What each function does: slab_avx2.h.
struct SlabNeon {
    struct I {
        uint8x16_t lo, hi;
    };
    struct F {
        float32x4_t lo, hi;
    };
    static constexpr int kLanes = 2;
    static constexpr int kFloats = 8;

    KERNEL_INLINE static I zero() { return set8(0); }
    KERNEL_INLINE static I set(int32_t x) { return {bytes(vdupq_n_s32(x)), bytes(vdupq_n_s32(x))}; }
    KERNEL_INLINE static I set8(int x) {
        const uint8x16_t all = vdupq_n_u8(static_cast<uint8_t>(x));
        return {all, all};
    }
    KERNEL_INLINE static I load(const void* p) {
        const auto* from = static_cast<const uint8_t*>(p);
        return {vld1q_u8(from), vld1q_u8(from + 16)};
    }
    KERNEL_INLINE static I load_lanes(const uint8_t* const p[kLanes]) { return {vld1q_u8(p[0]), vld1q_u8(p[1])}; }
    KERNEL_INLINE static void store(int32_t* p, I x) {
        vst1q_u8(reinterpret_cast<uint8_t*>(p), x.lo);
        vst1q_u8(reinterpret_cast<uint8_t*>(p) + 16, x.hi);
    }
    KERNEL_INLINE static I load_halves(const uint8_t* first, const uint8_t*) { return load(first); }
    KERNEL_INLINE static I repeat16(const void* p) {
        const uint8x16_t lane = vld1q_u8(static_cast<const uint8_t*>(p));
        return {lane, lane};
    }
    KERNEL_INLINE static I repeat32(const void* p) { return load(p); }

    KERNEL_INLINE static I and_(I a, I b) { return {vandq_u8(a.lo, b.lo), vandq_u8(a.hi, b.hi)}; }
    KERNEL_INLINE static I or_(I a, I b) { return {vorrq_u8(a.lo, b.lo), vorrq_u8(a.hi, b.hi)}; }
    KERNEL_INLINE static I xor_(I a, I b) { return {veorq_u8(a.lo, b.lo), veorq_u8(a.hi, b.hi)}; }
    KERNEL_INLINE static I sub(I a, I b) {
        return {bytes(vsubq_s32(dwords(a.lo), dwords(b.lo))), bytes(vsubq_s32(dwords(a.hi), dwords(b.hi)))};
    }
    KERNEL_INLINE static I mul16(I a, I b) {
        return {bytes(vmulq_u16(words(a.lo), words(b.lo))), bytes(vmulq_u16(words(a.hi), words(b.hi)))};
    }
    template <int n>
    KERNEL_INLINE static I shr16(I a) {
        return {bytes(vshrq_n_u16(words(a.lo), n)), bytes(vshrq_n_u16(words(a.hi), n))};
    }
    template <int n>
    KERNEL_INLINE static I shl16(I a) {
        return {bytes(vshlq_n_u16(words(a.lo), n)), bytes(vshlq_n_u16(words(a.hi), n))};
    }
    template <int n>
    KERNEL_INLINE static I sar32(I a) {
        return {bytes(vshrq_n_s32(dwords(a.lo), n)), bytes(vshrq_n_s32(dwords(a.hi), n))};
    }
    KERNEL_INLINE static I shr16(I a, int first, int) {
        const int16x8_t to_the_left = vdupq_n_s16(static_cast<int16_t>(-first));
        return {bytes(vshlq_u16(words(a.lo), to_the_left)), bytes(vshlq_u16(words(a.hi), to_the_left))};
    }
    KERNEL_INLINE static I shuffle(I a, I index) { return {vqtbl1q_u8(a.lo, index.lo), vqtbl1q_u8(a.hi, index.hi)}; }
    KERNEL_INLINE static I where(I a, I bit, I value) {
        return {vandq_u8(vtstq_u8(a.lo, bit.lo), value.lo), vandq_u8(vtstq_u8(a.hi, bit.hi), value.hi)};
    }
    KERNEL_INLINE static I low_words(I a, I b) {
        return {bytes(vzip1q_u16(words(a.lo), words(b.lo))), bytes(vzip1q_u16(words(a.hi), words(b.hi)))};
    }
    KERNEL_INLINE static I high_words(I a, I b) {
        return {bytes(vzip2q_u16(words(a.lo), words(b.lo))), bytes(vzip2q_u16(words(a.hi), words(b.hi)))};
    }
    KERNEL_INLINE static I dot(I sum, I a, I b) {
        return {dot(sum.lo, vreinterpretq_s16_u8(a.lo), vreinterpretq_s16_u8(b.lo)),
                dot(sum.hi, vreinterpretq_s16_u8(a.hi), vreinterpretq_s16_u8(b.hi))};
    }
    KERNEL_INLINE static I pick(const int32_t* p, I index) {
        const auto* from = reinterpret_cast<const uint8_t*>(p);
        const uint8x16x2_t eight = {{vld1q_u8(from), vld1q_u8(from + 16)}};
        return {vqtbl2q_u8(eight, byte_index(index.lo)), vqtbl2q_u8(eight, byte_index(index.hi))};
    }
    KERNEL_INLINE static void store_columns(I low_even, I low_odd, I high_even, I high_odd, int32_t* const out[kLanes]) {
        store_lane(low_even.lo, low_odd.lo, high_even.lo, high_odd.lo, out[0]);
        store_lane(low_even.hi, low_odd.hi, high_even.hi, high_odd.hi, out[1]);
    }

    KERNEL_INLINE static F set(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
    KERNEL_INLINE static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    KERNEL_INLINE static void store(float* p, F x) {
        vst1q_f32(p, x.lo);
        vst1q_f32(p + 4, x.hi);
    }
    KERNEL_INLINE static F to_float(I x) { return {vcvtq_f32_s32(dwords(x.lo)), vcvtq_f32_s32(dwords(x.hi))}; }
    KERNEL_INLINE static F add(F a, F b) { return {vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)}; }
    /// a * b + c
    KERNEL_INLINE static F fma(F a, F b, F c) { return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)}; }

  private:
    KERNEL_INLINE static uint8x16_t bytes(int32x4_t x) { return vreinterpretq_u8_s32(x); }
    KERNEL_INLINE static uint8x16_t bytes(uint16x8_t x) { return vreinterpretq_u8_u16(x); }
    KERNEL_INLINE static uint16x8_t words(uint8x16_t x) { return vreinterpretq_u16_u8(x); }
    KERNEL_INLINE static int32x4_t dwords(uint8x16_t x) { return vreinterpretq_s32_u8(x); }
    KERNEL_INLINE static uint8x16_t dot(uint8x16_t sum, int16x8_t a, int16x8_t b) {
        const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
        return bytes(vaddq_s32(dwords(sum), vpaddq_s32(low, high)));
    }
    /// From the number of a dword to the numbers of its bytes.
    KERNEL_INLINE static uint8x16_t byte_index(uint8x16_t index) {
        const int32x4_t first = vmulq_s32(dwords(index), vdupq_n_s32(0x04040404));
        return bytes(vaddq_s32(first, vdupq_n_s32(0x03020100)));
    }
    KERNEL_INLINE static void store_lane(uint8x16_t low_even, uint8x16_t low_odd, uint8x16_t high_even,
                                         uint8x16_t high_odd, int32_t* out) {
        vst1q_s32(out, vzip1q_s32(dwords(low_even), dwords(low_odd)));
        vst1q_s32(out + 4, vzip2q_s32(dwords(low_even), dwords(low_odd)));
        vst1q_s32(out + 8, vzip1q_s32(dwords(high_even), dwords(high_odd)));
        vst1q_s32(out + 12, vzip2q_s32(dwords(high_even), dwords(high_odd)));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
