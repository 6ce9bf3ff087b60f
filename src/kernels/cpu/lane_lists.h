// Dot products of single rows with lists of tokens, blocks of the row in the lanes.
//
// A row that few tokens need cannot share vectors with its neighbours, which other tokens need. So the lanes hold
// V::kRows successive blocks of one row, and meet as many blocks of a token (quant/lane_order.h). The sum of a block is a
// whole number as in lane_rows.h; to add the blocks in the same order as there, the products of four tokens are turned so
// that lanes become tokens, and added one block after another:
//   acc = fma(block sum, weight scale * activation scale, acc)
// Pieces of the rows are outside, rows inside: the activations of a piece stay in the nearest caches for all rows of a
// call. For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/inline.h"
#include "kernels/cpu/lane_strip.h"
#include "kernels/ops.h"
#include "quant/lane_order.h"

namespace powerinfer::kernels {
namespace {

/// V::kRows blocks of T tokens.
template <int T>
struct TokenBlocks {
    LaneActs q[T], sum[T];
    const float* d[T];
};

/// Per block and token, value * scale is to be added; with a minimum, min_value * min_scale as well. (For blocks of 256
/// the minimum is taken away.)
template <class V>
struct Products {
    typename V::F value[4], scale[4], min_value[4], min_scale[4];
};

/// Adds the products of `count` blocks to the sums of up to four tokens, in block order. (More tokens at once do not pay:
/// the work is in turning the products, not in waiting for the sums.)
template <class V, bool kHasMin, bool kMinus>
KERNEL_INLINE typename V::Four add_in_order(const Products<V>& p, int count, typename V::Four acc) {
    alignas(64) float value[4 * V::kRows], scale[4 * V::kRows], min_value[4 * V::kRows], min_scale[4 * V::kRows];
    V::store_fours(p.value, value);
    V::store_fours(p.scale, scale);
    if constexpr (kHasMin) {
        V::store_fours(p.min_value, min_value);
        V::store_fours(p.min_scale, min_scale);
    }
    const auto add = [&](int b) __attribute__((always_inline)) {
        const int at = V::kRows * (b % 4) + 4 * (b / 4);
        acc = V::fma(V::load_four(value + at), V::load_four(scale + at), acc);
        if constexpr (!kHasMin) return;
        const auto x = V::load_four(min_value + at), y = V::load_four(min_scale + at);
        acc = kMinus ? V::fnma(x, y, acc) : V::fma(x, y, acc);
    };
    if (count == V::kRows) {
#pragma GCC unroll 16
        for (int b = 0; b < V::kRows; ++b) add(b);
    } else {
        for (int b = 0; b < count; ++b) add(b);
    }
    return acc;
}

/// Tokens k .. k + T - 1 of the lists against the unpacked blocks b0 .. b0 + count - 1.
template <class V, bool kHasMin, bool kMinus, int T, class Multiply>
KERNEL_INLINE void list_step(const ListsArgs& a, const quant::Q8Parts& parts, int64_t dwords, int64_t sum_dwords,
                             int64_t b0, int count, int64_t k, const Multiply& multiply) {
    const int64_t group = b0 / quant::kLaneBlocks, lane = b0 % quant::kLaneBlocks;
    TokenBlocks<T> x;
    for (int t = 0; t < T; ++t) {
        const auto* act = reinterpret_cast<const int8_t*>(a.acts) + static_cast<size_t>(a.tokens[k + t]) * a.act_stride;
        x.q[t] = {act + 64 * dwords * group + 4 * lane};
        x.sum[t] = {act + parts.sum + 64 * sum_dwords * group + 4 * lane};
        x.d[t] = reinterpret_cast<const float*>(act + parts.d) + b0;
    }
    Products<V> p;
    multiply.template operator()<T>(x, p);
    for (int t = T; t < 4; ++t) {
        p.value[t] = p.scale[t] = p.value[0];  // of nobody
        if constexpr (kHasMin) p.min_value[t] = p.min_scale[t] = p.value[0];
    }
    float* sums = a.out + k;
    float few[4] = {};
    if constexpr (T < 4) {
        for (int t = 0; t < T && b0 > 0; ++t) few[t] = sums[t];
    }
    const auto acc = add_in_order<V, kHasMin, kMinus>(p, count, V::load_four(T == 4 && b0 > 0 ? sums : few));
    if constexpr (T == 4) {
        V::store_four(sums, acc);
    } else {
        V::store_four(few, acc);
        for (int t = 0; t < T; ++t) sums[t] = few[t];
    }
}

/// unpack(blocks) takes V::kRows blocks of a row, of kBytes each, apart; multiply<T>(x, p) multiplies them with T tokens.
template <class V, size_t kBytes, bool kHasMin, class Unpack, class Multiply>
KERNEL_INLINE void each_list(const ListsArgs& a, int64_t block, quant::ActivationEncoding encoding, const Unpack& unpack,
                             const Multiply& multiply) {
    constexpr bool kMinus = kBytes > 64;
    const quant::Q8Parts parts = quant::lane_order_parts(encoding, a.n);
    const int64_t n_blocks = a.n / block, sum_dwords = block == 32 ? 1 : 8;
    for (int64_t b0 = 0; b0 < n_blocks; b0 += V::kRows) {
        const int count = n_blocks - b0 < V::kRows ? static_cast<int>(n_blocks - b0) : V::kRows;
        for (int64_t r = 0; r < a.n_rows; ++r) {
            int64_t k = a.starts[r];
            const int64_t end = a.starts[r + 1];
            const uint8_t* piece = a.weights + static_cast<size_t>(r) * a.row_stride + static_cast<size_t>(b0) * kBytes;
            if (r + 1 < a.n_rows && a.starts[r + 2] > end) {
                for (size_t at = 0; at < static_cast<size_t>(count) * kBytes; at += 64) ask_for_soon(piece + a.row_stride + at);
            }
            if (k == end) continue;
            const uint8_t* blocks[V::kRows];  // missing ones repeat the last
            for (int i = 0; i < V::kRows; ++i) blocks[i] = piece + static_cast<size_t>(i < count ? i : count - 1) * kBytes;
            unpack(blocks);
            const auto step = [&]<int T>() __attribute__((always_inline)) {
                list_step<V, kHasMin, kMinus, T>(a, parts, block / 4, sum_dwords, b0, count, k, multiply);
                k += T;
            };
            while (k + 4 <= end) step.template operator()<4>();
            if (end - k == 3) step.template operator()<3>();
            if (end - k == 2) step.template operator()<2>();
            if (end - k == 1) step.template operator()<1>();
        }
    }
}

}  // namespace
}  // namespace powerinfer::kernels
