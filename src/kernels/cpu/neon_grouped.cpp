// Sums over listed neurons of a matrix re-laid by neuron, for NEON. The same operations as the scalar reference, so the
// same bits: products are summed as whole numbers, then one fused multiply-add per group and column.
#include <arm_neon.h>

#include "kernels/cpu/grouped_lists.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::neon {
namespace {

/// Sums of 32 columns: number k holds 4k to 4k + 3.
struct Columns {
    int32x4_t sum[8];
};

inline void add_8(int8x8_t codes, int16_t q, int32x4_t* sum) {
    const int16x8_t words = vmovl_s8(codes);
    sum[0] = vmlal_n_s16(sum[0], vget_low_s16(words), q);
    sum[1] = vmlal_n_s16(sum[1], vget_high_s16(words), q);
}

inline void add_row(const GroupedMatrix& m, const uint8_t* row, int64_t column, int8x16_t zero, int16_t q, Columns& to) {
    int8x16_t first, second;
    if (m.packed) {
        const uint8x16_t both = vld1q_u8(row + column / 2);
        first = vsubq_s8(vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15))), zero);
        second = vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(both, 4)), zero);
    } else {
        first = vreinterpretq_s8_u8(vld1q_u8(row + column));
        second = vreinterpretq_s8_u8(vld1q_u8(row + column + 16));
    }
    add_8(vget_low_s8(first), q, to.sum);
    add_8(vget_high_s8(first), q, to.sum + 2);
    add_8(vget_low_s8(second), q, to.sum + 4);
    add_8(vget_high_s8(second), q, to.sum + 6);
}

inline float32x4_t load_scales(const GroupedMatrix& m, const uint8_t* row, int64_t column) {
    if (m.half_scales) return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(row + 2 * column)));
    return vld1q_f32(reinterpret_cast<const float*>(row + 4 * column));
}

inline void add_columns(const GroupedMatrix& m, const Listed& listed, float d, const uint8_t* scales, const uint8_t* mins,
                        int64_t column, float* out) {
    const int8x16_t zero = vdupq_n_s8(static_cast<int8_t>(m.zero));
    Columns columns;
    for (int32x4_t& sum : columns.sum) sum = vdupq_n_s32(0);
    for (int k = 0; k < listed.count; ++k) add_row(m, listed.row[k], column, zero, listed.q[k], columns);
    const float32x4_t vd = vdupq_n_f32(d), sum_q = vdupq_n_f32(static_cast<float>(listed.sum_q));
    for (int part = 0; part < 8; ++part) {
        float32x4_t y = vld1q_f32(out + 4 * part);
        const float32x4_t scale = vmulq_f32(vd, load_scales(m, scales, column + 4 * part));
        y = vfmaq_f32(y, scale, vcvtq_f32_s32(columns.sum[part]));
        if (mins) y = vfmsq_f32(y, vmulq_f32(vd, load_scales(m, mins, column + 4 * part)), sum_q);
        vst1q_f32(out + 4 * part, y);
    }
}

}  // namespace

void add_grouped(Ops& ops) {
    ops.grouped_axpy = grouped_axpy<add_columns>;
}

}  // namespace powerinfer::kernels::neon
