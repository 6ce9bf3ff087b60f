// Dot products of rows with blocks of 32 elements and q8_32 activations. How and in which order: lane_rows.h.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lane_formats_32.h"
#include "kernels/cpu/lane_lists.h"
#include "kernels/cpu/lane_rows.h"

namespace powerinfer::kernels {
namespace {

/// One block of 32 elements of every row.
template <class V>
struct Unpacked32 {
    typename V::I code[8];
    typename V::F d, min;
};

template <class V, class Format, class Rows>
KERNEL_INLINE void unpack32(const Rows& row, size_t at, Unpacked32<V>& u) {
    Format::template codes<V>(row, at, u.code);
    for (int g = 0; g < 8; ++g) u.code[g] = V::template prepare<Format::kMaxCode>(u.code[g]);
    u.d = Format::template scale<V>(row, at);
    if constexpr (Format::kHasMin) u.min = Format::template min<V>(row, at);
}

/// Adds the block whose code sums are `total` to acc.
template <class V, class Format>
KERNEL_INLINE typename V::F finish_32(const Unpacked32<V>& u, typename V::I total, float d, int32_t sum,
                                      typename V::F acc) {
    constexpr int kZero = V::template zero_point<Format::kMaxCode>(Format::kZero);
    if constexpr (kZero != 0) total = V::sub(total, V::set(kZero * sum));
    acc = V::fma(V::to_float(total), V::mul(u.d, V::set(d)), acc);
    if constexpr (Format::kHasMin)
        acc = V::fma(V::set(static_cast<float>(sum)), V::mul(u.min, V::set(d)), acc);
    return acc;
}

/// Block b of T tokens against a block of the rows.
template <class V, class Format, int T>
KERNEL_INLINE void step_32(const Unpacked32<V>& u, const uint8_t* const* act, const quant::Q8Parts& parts, int64_t b,
                           typename V::F* acc) {
    const auto finish = [&](int t, typename V::I total) __attribute__((always_inline)) {
        const float d = reinterpret_cast<const float*>(act[t] + parts.d)[b];
        const int32_t sum = reinterpret_cast<const int32_t*>(act[t] + parts.sum)[b];
        acc[t] = finish_32<V, Format>(u, total, d, sum, acc[t]);
    };
    const auto codes = [&](int t) __attribute__((always_inline)) {
        return reinterpret_cast<const int8_t*>(act[t]) + 32 * b;
    };
    if constexpr (V::kTwoTokens && T > 1) {
#pragma GCC unroll 4
        for (int t = 0; t < T; t += 2) {
            typename V::I total[2];
            V::template dot_two<8>(u.code, codes(t), codes(t + 1), total);
            finish(t, total[0]);
            finish(t + 1, total[1]);
        }
    } else {
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) finish(t, V::template dot<Format::kMaxCode, 8>(u.code, codes(t)));
    }
}

/// Tokens t0 .. t0 + T - 1 against a group of rows, each block unpacked once and used from the registers.
template <class V, class Format, int T, class Group>
void group32(const DotArgs& a, const Group& rows, size_t row_bytes, int64_t t0, int64_t first_row) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.n);
    const uint8_t* act[T];
    typename V::F acc[Group::kParts][T];
    for (int t = 0; t < T; ++t) {
        act[t] = act_of(a, t0 + t);
        for (int p = 0; p < Group::kParts; ++p) acc[p][t] = V::zero();
    }
    size_t at = 0;
    for (int64_t b = 0; b < a.n / 32; ++b, at += kBytes) {
        rows.template prefetch<kBytes>(at, row_bytes);
#pragma GCC unroll 4
        for (int p = 0; p < Group::kParts; ++p) {
            Unpacked32<V> u;
            unpack32<V, Format>(rows.part(p), at, u);
            step_32<V, Format, T>(u, act, parts, b, acc[p]);
        }
    }
    for (int t = 0; t < T; ++t) {
        float* out = a.out + (t0 + t) * a.out_stride + first_row;
        for (int p = 0; p < Group::kParts; ++p) V::store(out + p * V::kRows, acc[p][t], rows.count_of(p));
    }
}

/// All tokens from t on, T at a time and the rest in smaller numbers.
template <class V, class Format, int T, class Group>
void group32_tokens(const DotArgs& a, const Group& rows, size_t row_bytes, int64_t t, int64_t first_row) {
    for (; t + T <= a.n_tokens; t += T) group32<V, Format, T>(a, rows, row_bytes, t, first_row);
    if constexpr (T > 1) group32_tokens<V, Format, T / 2>(a, rows, row_bytes, t, first_row);
}

/// Tokens t0 .. t0 + T - 1 against `count` blocks of a panel, starting at block b0 of the rows.
template <class V, class Format, int T>
inline void panel32(const Unpacked32<V>* panel, int64_t b0, int count, const DotArgs& a,
                    const quant::Q8Parts& parts, int64_t t0, int64_t first_row, int n_rows) {
    typename V::F acc[T];
    const uint8_t* act[T];
    for (int t = 0; t < T; ++t) {
        act[t] = act_of(a, t0 + t);
        acc[t] = b0 == 0 ? V::zero() : V::load(a.out + (t0 + t) * a.out_stride + first_row, n_rows);
    }
    for (int i = 0; i < count; ++i) step_32<V, Format, T>(panel[i], act, parts, b0 + i, acc);
    for (int t = 0; t < T; ++t) V::store(a.out + (t0 + t) * a.out_stride + first_row, acc[t], n_rows);
}

/// All tokens from t on, T at a time and the rest in smaller tiles.
template <class V, class Format, int T>
inline void tokens32(const Unpacked32<V>* panel, int64_t b0, int count, const DotArgs& a,
                     const quant::Q8Parts& parts, int64_t t, int64_t first_row, int n_rows) {
    for (; t + T <= a.n_tokens; t += T)
        panel32<V, Format, T>(panel, b0, count, a, parts, t, first_row, n_rows);
    if constexpr (T > 1) tokens32<V, Format, T / 2>(panel, b0, count, a, parts, t, first_row, n_rows);
}

/// Rows that lie apart: what it costs to gather a block is shared by all tokens through a panel.
template <class V, class Format>
void dot32_rows(const DotArgs& a) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    constexpr int kBlocks = 16;  // of a panel
    const size_t row_bytes = static_cast<size_t>(a.n / 32) * kBytes;
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.n);
    Unpacked32<V> panel[kBlocks];
    for (int64_t r = 0; r < a.n_rows; r += V::kRows) {
        const RowGroup<V> rows(a, r);
        if (a.n_tokens == 1) {
            group32<V, Format, 1>(a, rows, row_bytes, 0, r);
            continue;
        }
        for (int64_t b0 = 0; b0 < a.n / 32; b0 += kBlocks) {
            const int count = a.n / 32 - b0 < kBlocks ? static_cast<int>(a.n / 32 - b0) : kBlocks;
            for (int i = 0; i < count; ++i) {
                const size_t at = static_cast<size_t>(b0 + i) * kBytes;
                rows.template prefetch<kBytes>(at, row_bytes);
                unpack32<V, Format>(rows.part(0), at, panel[i]);
            }
            tokens32<V, Format, V::kTokens>(panel, b0, count, a, parts, 0, r, rows.count);
        }
    }
}

/// Strips: a block is cheap to unpack, so it is done again for every few tokens, from the cache.
template <class V, class Format>
void dot32_strips(const DotArgs& a) {
    const size_t row_bytes = static_cast<size_t>(a.n / 32) * sizeof(typename Format::Block);
    for (int64_t r = 0; r < a.n_rows; r += StripGroup<V>::kRows)
        group32_tokens<V, Format, V::kTokens>(a, StripGroup<V>(a, r), row_bytes, 0, r);
}

/// One row and its token list at a time, blocks of the row in the lanes.
template <class V, class Format>
void dot32_lists(const ListsArgs& a) {
    Unpacked32<V> u;
    each_list<V, sizeof(typename Format::Block), Format::kHasMin>(
        a, 32, quant::ActivationEncoding::q8_32,
        [&](const uint8_t* const* blocks) __attribute__((always_inline)) { unpack32<V, Format>(blocks, 0, u); },
        [&]<int T>(const TokenBlocks<T>& x, Products<V>& out) __attribute__((always_inline)) {
            constexpr int kZero = V::template zero_point<Format::kMaxCode>(Format::kZero);
#pragma GCC unroll 4
            for (int t = 0; t < T; ++t) {
                auto total = V::template dot<Format::kMaxCode, 8>(u.code, x.q[t]);
                const auto sum = V::act(x.sum[t], 0);
                const auto d = V::load(x.d[t], V::kRows);
                if constexpr (kZero != 0) total = V::sub(total, V::mul(sum, V::set(kZero)));
                out.value[t] = V::to_float(total);
                out.scale[t] = V::mul(u.d, d);
                if constexpr (!Format::kHasMin) continue;
                out.min_value[t] = V::to_float(sum);
                out.min_scale[t] = V::mul(u.min, d);
            }
        });
}

template <class V, class Format>
void add_dot_32(Ops& ops, DType type) {
    ops.dot[static_cast<size_t>(type)] = dot32_rows<V, Format>;
    ops.dot_interleaved[static_cast<size_t>(type)] = dot32_strips<V, Format>;
    ops.dot_lists[static_cast<size_t>(type)] = dot32_lists<V, Format>;
}

template <class V>
void add_dots_32(Ops& ops) {
    add_dot_32<V, LaneQ4_0>(ops, DType::Q4_0);
    add_dot_32<V, LaneQ4_1>(ops, DType::Q4_1);
    add_dot_32<V, LaneQ5_0>(ops, DType::Q5_0);
    add_dot_32<V, LaneQ5_1>(ops, DType::Q5_1);
    add_dot_32<V, LaneQ8_0>(ops, DType::Q8_0);
    add_dot_32<V, LaneIQ4_NL>(ops, DType::IQ4_NL);
    add_dot_32<V, LaneMXFP4>(ops, DType::MXFP4);
}

}  // namespace
}  // namespace powerinfer::kernels
