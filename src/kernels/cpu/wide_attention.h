// Attention over cached positions with a running softmax (ops.h: AttentionArgs).
//
// For every kAttentionBlock positions: all scores, their maximum, exponentials in sixteens (missing positions
// count as minus infinity), then the values position by position with fused multiply-adds. Heads share the
// loads of K and V in tiles and nothing else, so a head gets the same bits whatever n_group is. For files
// compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/wide_attention_float.h"
#include "kernels/cpu/wide_attention_q8.h"
#include "kernels/cpu/wide_math.h"

namespace powerinfer::kernels {
namespace {

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

template <class A, class Cache, int H>
inline void attend_heads(const AttentionArgs& a, int g0, int64_t first, int count) {
    alignas(64) float score[H][kAttentionBlock];
    float shrink[H];
    Cache::template scores<A, H>(a, g0, first, count, score);
    for (int h = 0; h < H; ++h) shrink[h] = weigh<A>(a, g0 + h, count, score[h]);
    Cache::template values<A, H>(a, g0, first, count, shrink, score);
}

template <class A, class Cache>
void attention(const AttentionArgs& a) {
    for (int64_t first = 0; first < a.n_positions; first += kAttentionBlock) {
        const int64_t left = a.n_positions - first;
        const int count = static_cast<int>(left < kAttentionBlock ? left : kAttentionBlock);
        int g = 0;
        if constexpr (A::kHeads >= 4) {
            for (; g + 4 <= a.n_group; g += 4) attend_heads<A, Cache, 4>(a, g, first, count);
        }
        for (; g + 2 <= a.n_group; g += 2) attend_heads<A, Cache, 2>(a, g, first, count);
        if (g < a.n_group) attend_heads<A, Cache, 1>(a, g, first, count);
    }
}

template <class A>
void add_attention_ops(Ops& ops) {
    ops.attention[static_cast<size_t>(DType::F32)] = attention<A, FloatCache<ElementF32>>;
    ops.attention[static_cast<size_t>(DType::F16)] = attention<A, FloatCache<ElementF16>>;
    ops.attention[static_cast<size_t>(DType::BF16)] = attention<A, FloatCache<ElementBF16>>;
    ops.attention[static_cast<size_t>(DType::Q8_0)] = attention<A, Q8Cache>;
}

}  // namespace
}  // namespace powerinfer::kernels
