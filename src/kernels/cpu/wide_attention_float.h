// Keys and values cached as F32, F16 or BF16. Sixteen partial sums per score, added as in wide_dot.h.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/wide_attention_rows.h"
#include "kernels/cpu/wide_elements.h"

namespace powerinfer::kernels {
namespace {

template <class E>
struct FloatCache {
    using Stored = typename E::Stored;
    static constexpr size_t kSize = sizeof(Stored);

    static const float* query(const AttentionArgs& a, int g) {
        return reinterpret_cast<const float*>(a.q + static_cast<size_t>(g) * a.q_stride);
    }

    /// score[h][p] = q of head g0 + h times key first + p.
    template <class A, int H>
    static void scores(const AttentionArgs& a, int g0, int64_t first, int count, float (*score)[kAttentionBlock]) {
        constexpr int P = A::kAccumulators / H;  // positions at once, four of them in one go over the row
        const BlockRows keys(a.k, a.k_stride, a, g0, first, count);
        const float* q[H];
        for (int h = 0; h < H; ++h) q[h] = query(a, g0 + h);
        for (int p = 0; p < count; p += P) {
            typename A::F acc[H * P];
#pragma GCC unroll 4
            for (int s = 0; s < P; s += 4 < P ? 4 : P) rows<A, H, P>(keys, q, a.head_dim_k, p + s, acc + s);
            alignas(64) float total[H * P];
            A::totals(acc, total);
            for (int h = 0; h < H; ++h) {
                for (int i = 0; i < P; ++i) score[h][p + i] = total[h * P + i];
            }
        }
    }

    /// acc[h * P + i] = partial sums of q[h] times key p + i, i < min(4, P).
    template <class A, int H, int P>
    KERNEL_INLINE static void rows(const BlockRows& keys, const float* const* q, int n, int p, typename A::F* acc) {
        constexpr int R = 4 < P ? 4 : P;
        const uint8_t* key[R];
        typename A::F sum[H][R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            key[r] = keys.row(p + r);
#pragma GCC unroll 4
            for (int h = 0; h < H; ++h) sum[h][r] = A::zero();
        }
        int i = 0;
        for (; i + 16 <= n; i += 16) {
            const size_t at = static_cast<size_t>(i) * kSize;
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                if (at % 64 == 0) keys.prefetch(key[r], at);
                const auto k = E::template load<A>(reinterpret_cast<const Stored*>(key[r] + at));
#pragma GCC unroll 4
                for (int h = 0; h < H; ++h) sum[h][r] = A::fma(k, A::load(q[h] + i), sum[h][r]);
            }
        }
        if (i < n) {
            for (int r = 0; r < R; ++r) {
                const auto* tail = reinterpret_cast<const Stored*>(key[r]) + i;
                const auto k = E::template load<A>(tail, n - i);
                for (int h = 0; h < H; ++h) sum[h][r] = A::fma(k, A::load(q[h] + i, n - i), sum[h][r]);
            }
        }
#pragma GCC unroll 4
        for (int h = 0; h < H; ++h) {
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) acc[h * P + r] = sum[h][r];
        }
    }

    /// acc of head g0 + h = itself * shrink[h] + sum over p of weight[h][p] * value(first + p).
    template <class A, int H>
    static void values(const AttentionArgs& a, int g0, int64_t first, int count, const float* shrink,
                       const float (*weight)[kAttentionBlock]) {
        constexpr int kMost = A::kAccumulators / H, C = kMost < A::kColumns ? kMost : A::kColumns;
        const BlockRows rows(a.v, a.v_stride, a, g0, first, count);
        int i = 0;
        tiles<A, H, C>(a, rows, g0, i, shrink, weight);
        if constexpr (C > 4) tiles<A, H, 4>(a, rows, g0, i, shrink, weight);
        if constexpr (C > 2) tiles<A, H, 2>(a, rows, g0, i, shrink, weight);
        tiles<A, H, 1>(a, rows, g0, i, shrink, weight);
        if (i < a.head_dim_v) {
            for (int h = 0; h < H; ++h) last(a, A{}, rows, g0 + h, i, shrink[h], weight[h]);
        }
    }

    /// C times sixteen columns at once, from column i on; moves i past them.
    template <class A, int H, int C>
    static void tiles(const AttentionArgs& a, const BlockRows& rows, int g0, int& i, const float* shrink,
                      const float (*weight)[kAttentionBlock]) {
        for (; i + 16 * C <= a.head_dim_v; i += 16 * C) {
            typename A::F acc[H][C];
            for (int h = 0; h < H; ++h) {
                const float* from = a.acc + (g0 + h) * a.head_dim_v + i;
                for (int c = 0; c < C; ++c) acc[h][c] = A::mul(A::load(from + 16 * c), A::set(shrink[h]));
            }
            const uint8_t* value = rows.base + static_cast<size_t>(i) * kSize;
            for (int p = 0; p < rows.count; ++p, value += rows.stride) {
                typename A::F v[C];
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) {
                    const size_t at = static_cast<size_t>(16 * c) * kSize;
                    if (at % 64 == 0) rows.prefetch(value, at);
                    v[c] = E::template load<A>(reinterpret_cast<const Stored*>(value + at));
                }
#pragma GCC unroll 4
                for (int h = 0; h < H; ++h) {
                    const auto w = A::set(weight[h][p]);
#pragma GCC unroll 8
                    for (int c = 0; c < C; ++c) acc[h][c] = A::fma(w, v[c], acc[h][c]);
                }
            }
            for (int h = 0; h < H; ++h) {
                float* to = a.acc + (g0 + h) * a.head_dim_v + i;
                for (int c = 0; c < C; ++c) A::store(to + 16 * c, acc[h][c]);
            }
        }
    }

    /// The last columns of one head, fewer than sixteen.
    template <class A>
    static void last(const AttentionArgs& a, A, const BlockRows& rows, int g, int i, float shrink,
                     const float* weight) {
        const int left = a.head_dim_v - i;
        float* to = a.acc + g * a.head_dim_v + i;
        auto acc = A::mul(A::load(to, left), A::set(shrink));
        for (int p = 0; p < rows.count; ++p) {
            const auto v = E::template load<A>(reinterpret_cast<const Stored*>(rows.row(p)) + i, left);
            acc = A::fma(A::set(weight[p]), v, acc);
        }
        A::store(to, acc, left);
    }
};

}  // namespace
}  // namespace powerinfer::kernels
