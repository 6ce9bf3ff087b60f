// Attention over cached positions with a running softmax (ops.h: AttentionArgs).
//
// For every kAttentionBlock positions: all scores, their maximum, exponentials in sixteens (missing positions
// count as minus infinity), then the values position by position with fused multiply-adds. Heads share the
// loads of K and V in tiles and nothing else, so a head gets the same bits whatever n_group is. For files
// compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/wide_elements.h"
#include "kernels/cpu/wide_math.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

template <class E>
inline const typename E::Stored* cached(const uint8_t* base, size_t stride, int64_t position) {
    return reinterpret_cast<const typename E::Stored*>(base + static_cast<size_t>(position) * stride);
}

/// score[h][p] = q of head g0 + h times key first + p.
template <class W, class E, int H>
inline void scores(const AttentionArgs& a, int g0, int64_t first, int count,
                   float (*score)[kAttentionBlock]) {
    const int n = a.head_dim_k;
    for (int p = 0; p < count; ++p) {
        const auto* key = cached<E>(a.k, a.k_stride, first + p);
        typename W::F acc[H];
        for (int h = 0; h < H; ++h) acc[h] = W::zero();
        int i = 0;
        for (; i + 16 <= n; i += 16) {
            const auto k = E::template load<W>(key + i);
            for (int h = 0; h < H; ++h) acc[h] = W::fma(k, W::load(a.q + (g0 + h) * n + i), acc[h]);
        }
        if (i < n) {
            const auto k = E::template load<W>(key + i, n - i);
            for (int h = 0; h < H; ++h) acc[h] = W::fma(k, W::load(a.q + (g0 + h) * n + i, n - i), acc[h]);
        }
        for (int h = 0; h < H; ++h) score[h][p] = W::sum(acc[h]);
    }
}

/// Turns the scores of head g into weights exp(score - max) and updates its maximum and sum; returns the
/// factor by which what was summed before shrinks.
template <class W>
inline float weigh(const AttentionArgs& a, int g, int count, float* score) {
    for (int p = count; p < kAttentionBlock; ++p) score[p] = -__builtin_inff();
    auto largest = W::set(a.max[g]);
    for (int p = 0; p < count; p += 16) {
        auto s = W::load(score + p);
        if (a.softcap != 0) {
            s = W::mul(W::set(a.softcap), tanh<W>(W::div(s, W::set(a.softcap))));
            const int valid = count - p < 16 ? count - p : 16;
            W::store(score + p, s, valid);
            s = W::load(score + p);
        }
        largest = W::max(largest, s);
    }
    const float max = W::largest(largest);
    auto total = W::zero();
    for (int p = 0; p < count; p += 16) {
        const auto weight = exp<W>(W::sub(W::load(score + p), W::set(max)));
        W::store(score + p, weight);
        total = W::add(total, weight);
    }
    alignas(64) float shrink[16];
    W::store(shrink, exp<W>(W::set(a.max[g] - max)));
    a.max[g] = max;
    a.sum[g] = a.sum[g] * shrink[0] + W::sum(total);
    return shrink[0];
}

/// acc[g0 + h][i .. i + 16C) = acc * shrink[h] + sum over p of weight[h][p] * value(first + p).
template <class W, class E, int H, int C>
inline void values(const AttentionArgs& a, int g0, int i, int64_t first, int count, const float* shrink,
                   const float (*weight)[kAttentionBlock]) {
    typename W::F acc[H][C];
    for (int h = 0; h < H; ++h) {
        const float* from = a.acc + (g0 + h) * a.head_dim_v + i;
        for (int c = 0; c < C; ++c) acc[h][c] = W::mul(W::load(from + 16 * c), W::set(shrink[h]));
    }
    for (int p = 0; p < count; ++p) {
        const auto* value = cached<E>(a.v, a.v_stride, first + p) + i;
        typename W::F v[C];
        for (int c = 0; c < C; ++c) v[c] = E::template load<W>(value + 16 * c);
        for (int h = 0; h < H; ++h) {
            const auto w = W::set(weight[h][p]);
            for (int c = 0; c < C; ++c) acc[h][c] = W::fma(w, v[c], acc[h][c]);
        }
    }
    for (int h = 0; h < H; ++h) {
        float* to = a.acc + (g0 + h) * a.head_dim_v + i;
        for (int c = 0; c < C; ++c) W::store(to + 16 * c, acc[h][c]);
    }
}

/// The same for the last `left` < 16 columns of one head.
template <class W, class E>
inline void last_values(const AttentionArgs& a, int g, int i, int64_t first, int count, float shrink,
                        const float* weight) {
    const int left = a.head_dim_v - i;
    float* to = a.acc + g * a.head_dim_v + i;
    auto acc = W::mul(W::load(to, left), W::set(shrink));
    for (int p = 0; p < count; ++p) {
        const auto v = E::template load<W>(cached<E>(a.v, a.v_stride, first + p) + i, left);
        acc = W::fma(W::set(weight[p]), v, acc);
    }
    W::store(to, acc, left);
}

template <class W, class E, int H>
inline void attend_heads(const AttentionArgs& a, int g0, int64_t first, int count) {
    alignas(64) float score[H][kAttentionBlock];
    float shrink[H];
    scores<W, E, H>(a, g0, first, count, score);
    for (int h = 0; h < H; ++h) shrink[h] = weigh<W>(a, g0 + h, count, score[h]);
    int i = 0;
    for (; i + 16 * W::kTileColumns <= a.head_dim_v; i += 16 * W::kTileColumns)
        values<W, E, H, W::kTileColumns>(a, g0, i, first, count, shrink, score);
    for (; i + 16 <= a.head_dim_v; i += 16) values<W, E, H, 1>(a, g0, i, first, count, shrink, score);
    if (i < a.head_dim_v) {
        for (int h = 0; h < H; ++h) last_values<W, E>(a, g0 + h, i, first, count, shrink[h], score[h]);
    }
}

template <class W, class E>
void attention(const AttentionArgs& a) {
    for (int64_t first = 0; first < a.n_positions; first += kAttentionBlock) {
        const int64_t left = a.n_positions - first;
        const int count = static_cast<int>(left < kAttentionBlock ? left : kAttentionBlock);
        int g = 0;
        for (; g + W::kTileHeads <= a.n_group; g += W::kTileHeads)
            attend_heads<W, E, W::kTileHeads>(a, g, first, count);
        for (; g < a.n_group; ++g) attend_heads<W, E, 1>(a, g, first, count);
    }
}

template <class W>
void add_attention_ops(Ops& ops) {
    ops.attention_f16 = attention<W, ElementF16>;
    ops.attention_f32 = attention<W, ElementF32>;
}

}  // namespace
}  // namespace powerinfer::kernels
