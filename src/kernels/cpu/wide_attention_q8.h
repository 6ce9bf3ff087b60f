// Keys and values cached as Q8_0, quants and scales apart (ops.h: AttentionArgs).
//
// A score is the sum over blocks of 32 of (whole-number dot product) * (key scale * query scale): even blocks one after
// another, odd blocks likewise, then the two sums. Values are decoded and weighed in f32.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/wide_attention_rows.h"

namespace powerinfer::kernels {
namespace {

struct Q8Cache {
    /// score[h][p] = q of head g0 + h times key first + p.
    template <class A, int H>
    static void scores(const AttentionArgs& a, int g0, int64_t first, int count, float (*score)[kAttentionBlock]) {
        const BlockRows keys(a.k, a.k_stride, a, g0, first, count);
        const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.head_dim_k);
        const int8_t* q[H];
        const float* d[H];
        for (int h = 0; h < H; ++h) {
            const uint8_t* query = a.q + static_cast<size_t>(g0 + h) * a.q_stride;
            q[h] = reinterpret_cast<const int8_t*>(query);
            d[h] = reinterpret_cast<const float*>(query + parts.d);
        }
        const int n_blocks = a.head_dim_k / 32;
        for (int p = 0; p < count; p += 8) {
            const int8_t* row[8];
            for (int r = 0; r < 8; ++r) row[r] = reinterpret_cast<const int8_t*>(keys.row(p + r));
            const int valid = count - p < 8 ? count - p : 8;
            typename A::F acc[H];
            for (int h = 0; h < H; ++h) acc[h] = A::zero();
            for (int b = 0; b < n_blocks; b += 2) {
                const bool single = b + 1 == n_blocks;
                for (int r = 0; r < 8; ++r)
                    keys.prefetch(reinterpret_cast<const uint8_t*>(row[r]), static_cast<size_t>(32 * b));
                const uint16_t* even = a.k_scales + static_cast<size_t>(b) * a.scale_stride + first + p;
                const auto scale = A::two_f16(even, single ? even : even + a.scale_stride, valid);
                typename A::F dot[H];
                A::template dots<H>(row, q, 32 * b, single, dot);
#pragma GCC unroll 4
                for (int h = 0; h < H; ++h) {
                    const auto both = A::mul(scale, A::two(d[h][b], single ? 0.0f : d[h][b + 1]));
                    acc[h] = A::fma(dot[h], both, acc[h]);
                }
            }
            for (int h = 0; h < H; ++h) A::store_folded(score[h] + p, acc[h]);
        }
    }

    /// acc of head g0 + h = itself * shrink[h] + sum over p of weight[h][p] * value(first + p).
    template <class A, int H>
    static void values(const AttentionArgs& a, int g0, int64_t first, int count, const float* shrink,
                       const float (*weight)[kAttentionBlock]) {
        constexpr int kMost = A::kAccumulators / H, C = kMost < A::kColumns ? kMost : A::kColumns;
        const BlockRows rows(a.v, a.v_stride, a, g0, first, count);
        int i = 0;
        tiles<A, H, C>(a, rows, g0, first, i, shrink, weight);
        if constexpr (C > 4) tiles<A, H, 4>(a, rows, g0, first, i, shrink, weight);
        if constexpr (C > 2) tiles<A, H, 2>(a, rows, g0, first, i, shrink, weight);
    }

    /// C times sixteen columns at once, from column i on; moves i past them.
    template <class A, int H, int C>
    static void tiles(const AttentionArgs& a, const BlockRows& rows, int g0, int64_t first, int& i,
                      const float* shrink, const float (*weight)[kAttentionBlock]) {
        constexpr int B = C / 2;
        for (; i + 16 * C <= a.head_dim_v; i += 16 * C) {
            alignas(64) float scaled[B][H][kAttentionBlock];
            for (int b = 0; b < B; ++b) {
                const uint16_t* scales = a.v_scales + static_cast<size_t>(i / 32 + b) * a.scale_stride + first;
                for (int p = 0; p < rows.count; p += 16) {
                    const int valid = rows.count - p < 16 ? rows.count - p : 16;
                    const auto scale = A::load_f16(scales + p, valid);
                    for (int h = 0; h < H; ++h) A::store(scaled[b][h] + p, A::mul(A::load(weight[h] + p), scale));
                }
            }
            typename A::F acc[H][C];
            for (int h = 0; h < H; ++h) {
                const float* from = a.acc + (g0 + h) * a.head_dim_v + i;
                for (int c = 0; c < C; ++c) acc[h][c] = A::mul(A::load(from + 16 * c), A::set(shrink[h]));
            }
            const uint8_t* value = rows.base + i;
            for (int p = 0; p < rows.count; ++p, value += rows.stride) {
#pragma GCC unroll 4
                for (int b = 0; b < B; ++b) {
                    if (b % 2 == 0) rows.prefetch(value, static_cast<size_t>(32 * b));
                    const auto v0 = A::load_int8(value + 32 * b), v1 = A::load_int8(value + 32 * b + 16);
#pragma GCC unroll 4
                    for (int h = 0; h < H; ++h) {
                        const auto w = A::set(scaled[b][h][p]);
                        acc[h][2 * b] = A::fma(w, v0, acc[h][2 * b]);
                        acc[h][2 * b + 1] = A::fma(w, v1, acc[h][2 * b + 1]);
                    }
                }
            }
            for (int h = 0; h < H; ++h) {
                float* to = a.acc + (g0 + h) * a.head_dim_v + i;
                for (int c = 0; c < C; ++c) A::store(to + 16 * c, acc[h][c]);
            }
        }
    }
};

}  // namespace
}  // namespace powerinfer::kernels
