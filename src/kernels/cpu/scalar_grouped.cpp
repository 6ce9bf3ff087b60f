// Sums over listed neurons of a matrix re-laid by neuron: the reference.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels::scalar {
namespace {

int code_at(const GroupedMatrix& m, int64_t neuron, int64_t column) {
    const uint8_t* row = m.codes + static_cast<size_t>(neuron) * m.code_stride;
    if (!m.packed) return static_cast<int8_t>(row[column]);
    const int64_t k = column % 32;
    const uint8_t byte = row[column / 32 * 16 + k % 16];
    return (k < 16 ? byte & 15 : byte >> 4) - m.zero;
}

float scale_at(const GroupedMatrix& m, const uint8_t* scales, int64_t group, int64_t column) {
    const uint8_t* row = scales + static_cast<size_t>(group) * m.scale_stride;
    if (m.half_scales) {
        uint16_t half;
        std::memcpy(&half, row + 2 * column, sizeof half);
        return f16_to_f32(half);
    }
    float value;
    std::memcpy(&value, row + 4 * column, sizeof value);
    return value;
}

void grouped_axpy(const GroupedArgs& a) {
    const GroupedMatrix& m = *a.matrix;
    const int64_t step = std::min(m.group, a.d_block);
    for (int64_t i = 0; i < a.n_ids;) {
        const int64_t piece = a.ids[i] / step;
        int64_t end = i;
        while (end < a.n_ids && a.ids[end] / step == piece) ++end;
        const float d = a.d[piece * step / a.d_block];
        const int64_t group = (a.first_neuron + piece * step) / m.group;
        for (int64_t c = 0; c < a.n; ++c) {
            int sum = 0, sum_q = 0;
            for (int64_t k = i; k < end; ++k) {
                const int q = a.q[a.ids[k]];
                sum += q * code_at(m, a.first_neuron + a.ids[k], a.column + c);
                sum_q += q;
            }
            a.out[c] = std::fma(d * scale_at(m, m.scales, group, a.column + c), static_cast<float>(sum), a.out[c]);
            if (m.mins)
                a.out[c] = std::fma(-(d * scale_at(m, m.mins, group, a.column + c)), static_cast<float>(sum_q), a.out[c]);
        }
        i = end;
    }
}

}  // namespace

void add_grouped(Ops& ops) {
    ops.grouped_axpy = grouped_axpy;
}

}  // namespace powerinfer::kernels::scalar
