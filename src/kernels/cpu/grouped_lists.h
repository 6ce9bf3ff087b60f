// Sums over listed neurons of a matrix re-laid by neuron: how lists are cut into groups of neurons and 32 columns, which
// a function of the instruction set adds. For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Neurons of one group that are listed; groups have at most 256.
struct Listed {
    const uint8_t* row[256];
    int16_t q[256];
    int count;
    int sum_q;
};

/// out[0..32) += the share of the listed neurons of a group. `scales` and `mins` are the group's rows.
using AddColumnsFn = void (*)(const GroupedMatrix& m, const Listed& listed, float d, const uint8_t* scales,
                              const uint8_t* mins, int64_t column, float* out);

template <AddColumnsFn add_columns>
void grouped_axpy(const GroupedArgs& a) {
    const GroupedMatrix& m = *a.matrix;
    const int64_t step = m.group < a.d_block ? m.group : a.d_block;
    Listed listed;
    for (int64_t i = 0; i < a.n_ids;) {
        const int64_t piece = a.ids[i] / step;
        listed.count = listed.sum_q = 0;
        for (; i < a.n_ids && a.ids[i] / step == piece; ++i) {
            const int8_t q = a.q[a.ids[i]];
            if (q == 0) continue;
            listed.row[listed.count] = m.codes + static_cast<size_t>(a.first_neuron + a.ids[i]) * m.code_stride;
            listed.q[listed.count++] = q;
            listed.sum_q += q;
        }
        const float d = a.d[piece * step / a.d_block];
        const auto group = static_cast<size_t>((a.first_neuron + piece * step) / m.group);
        const uint8_t* scales = m.scales + group * m.scale_stride;
        const uint8_t* mins = m.mins ? m.mins + group * m.scale_stride : nullptr;
        int64_t c = 0;
        for (; c + 32 <= a.n; c += 32) add_columns(m, listed, d, scales, mins, a.column + c, a.out + c);
        if (c < a.n) {  // the rows are padded, `out` is not
            float rest[32] = {};
            for (int64_t k = c; k < a.n; ++k) rest[k - c] = a.out[k];
            add_columns(m, listed, d, scales, mins, a.column + c, rest);
            for (int64_t k = c; k < a.n; ++k) a.out[k] = rest[k - c];
        }
    }
}

}  // namespace
}  // namespace powerinfer::kernels
