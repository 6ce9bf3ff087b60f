// Dot products of rows with blocks of 256 elements and q8_256 activations. How and in which order:
// lane_rows.h. For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lane_formats_256.h"
#include "kernels/cpu/lane_lists.h"
#include "kernels/cpu/lane_rows.h"

namespace powerinfer::kernels {
namespace {

/// What is left of the zero point in the codes that V multiplies.
template <class V, class Format>
constexpr int kZero256 = V::template zero_point<Format::kMaxCode>(Format::kZero);

/// Whether the sums of 16 activations are needed, for minima or for the zero point.
template <class V, class Format>
constexpr bool kPairs256 = Format::kHasMin || kZero256<V, Format> != 0;

/// Scale number k of the block.
template <class V, class Format, int k>
KERNEL_INLINE typename V::I scale_256(const Scales256<V>& s) {
    return V::template scale<k % 4>(s.scale[k / 4], Format::kScaleZero);
}

/// The minima, or the scales, of the activations 32k .. 32k + 31 in two groups of 16.
template <class V, class Format, int k>
KERNEL_INLINE typename V::I pair_256(const Scales256<V>& s) {
    constexpr int kFirst = Format::kGroup == 16 ? 2 * k : k, kSecond = Format::kGroup == 16 ? 2 * k + 1 : k;
    const auto& of = Format::kHasMin ? s.min : s.scale;
    return V::template pair<kFirst % 4, kSecond % 4>(of[kFirst / 4],
                                                     Format::kHasMin ? 0 : Format::kScaleZero);
}

template <class V, class Format>
KERNEL_INLINE void all_pairs_256(const Scales256<V>& s, typename V::I* pair) {
    pair[0] = pair_256<V, Format, 0>(s);
    pair[1] = pair_256<V, Format, 1>(s);
    pair[2] = pair_256<V, Format, 2>(s);
    pair[3] = pair_256<V, Format, 3>(s);
    pair[4] = pair_256<V, Format, 4>(s);
    pair[5] = pair_256<V, Format, 5>(s);
    pair[6] = pair_256<V, Format, 6>(s);
    pair[7] = pair_256<V, Format, 7>(s);
}

/// What the sums of the activations, in dwords of two, come to: with a minimum, its product with them; else the zero
/// point is taken from `total`.
template <class V, class Format, class Acts>
KERNEL_INLINE typename V::I paired_256(const typename V::I* pair, Acts sums, typename V::I& total) {
    auto paired = V::set(0);
    if constexpr (kPairs256<V, Format>) {
        for (int k = 0; k < 8; ++k) paired = V::add_pairs(paired, pair[k], V::act(sums, k));
        if constexpr (!Format::kHasMin) total = V::sub(total, V::mul(paired, V::set(kZero256<V, Format>)));
    }
    return paired;
}

/// Adds the block whose scaled code sums are `total` to acc.
template <class V, class Format>
KERNEL_INLINE typename V::F finish_256(typename V::I total, const typename V::I* pair, typename V::F weight_d,
                                       typename V::F weight_dmin, float d, const int8_t* sums,
                                       typename V::F acc) {
    const auto paired = paired_256<V, Format>(pair, sums, total);
    acc = V::fma(V::to_float(total), V::mul(weight_d, V::set(d)), acc);
    if constexpr (Format::kHasMin) acc = V::fnma(V::to_float(paired), V::mul(weight_dmin, V::set(d)), acc);
    return acc;
}

/// Whether all lanes multiply with the same block of activations.
template <class Acts>
constexpr bool kOneBlock = true;
template <>
constexpr bool kOneBlock<LaneActs> = false;

/// total[t] += the dot product of n dwords of codes with the activations at q[t] + at, times their scale.
template <class V, class Format, int T, int n, class Acts>
KERNEL_INLINE void add_scaled(const typename V::I* code, const Acts* q, int at, typename V::I scale,
                              typename V::I* total) {
    if constexpr (V::kTwoTokens && T > 1 && kOneBlock<Acts>) {
#pragma GCC unroll 4
        for (int t = 0; t < T; t += 2) {
            typename V::I two[2];
            V::template dot_two<n>(code, q[t] + at, q[t + 1] + at, two);
            total[t] = V::add(total[t], V::mul(two[0], scale));
            total[t + 1] = V::add(total[t + 1], V::mul(two[1], scale));
        }
    } else {
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t)
            total[t] = V::add(total[t], V::template dot<Format::kMaxCode, n>(code, q[t] + at, scale));
    }
}

/// Multiplies pieces of codes with the activations of T tokens as they come.
template <class V, class Format, int T>
struct MultiplyPieces {
    const Scales256<V>& scales;
    const int8_t* q[T];
    typename V::I total[T];

    template <int n, int first>
    KERNEL_INLINE void operator()(Piece<n, first>, typename V::I* code) {
        for (int i = 0; i < n; ++i) code[i] = V::template prepare<Format::kMaxCode>(code[i]);
        constexpr int kScale = first * 4 / Format::kGroup;
        constexpr int kDwords = n * 4 <= Format::kGroup ? n : 4;
        add_scaled<V, Format, T, kDwords>(code, q, 4 * first, scale_256<V, Format, kScale>(scales), total);
        if constexpr (kDwords < n)
            add_scaled<V, Format, T, 4>(code + 4, q, 4 * first + 16, scale_256<V, Format, kScale + 1>(scales), total);
    }
};

/// Tokens t0 .. t0 + T - 1 against a group of rows, each block unpacked once and used from the registers.
template <class V, class Format, int T, class Group>
void group256(const DotArgs& a, const Group& rows, size_t row_bytes, int64_t t0, int64_t first_row) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_256, a.n);
    const uint8_t* act[T];
    typename V::F acc[Group::kParts][T];
    for (int t = 0; t < T; ++t) {
        act[t] = act_of(a, t0 + t);
        for (int p = 0; p < Group::kParts; ++p) acc[p][t] = V::zero();
    }
    for (int64_t b = 0; b < a.n / 256; ++b) {
        const size_t at = static_cast<size_t>(b) * kBytes;
        rows.template prefetch<kBytes>(at, row_bytes);
        for (int p = 0; p < Group::kParts; ++p) {
            Scales256<V> scales;
            Format::template scales<V>(rows.part(p), at, scales);
            MultiplyPieces<V, Format, T> multiply{scales, {}, {}};
            for (int t = 0; t < T; ++t) {
                multiply.q[t] = reinterpret_cast<const int8_t*>(act[t]) + 256 * b;
                multiply.total[t] = V::set(0);
            }
            Format::template codes<V>(rows.part(p), at, multiply);
            typename V::I pair[8];
            if constexpr (kPairs256<V, Format>) all_pairs_256<V, Format>(scales, pair);
#pragma GCC unroll 8
            for (int t = 0; t < T; ++t) {
                const float d = reinterpret_cast<const float*>(act[t] + parts.d)[b];
                const auto* sums = reinterpret_cast<const int8_t*>(act[t] + parts.sum) + 32 * b;
                acc[p][t] =
                    finish_256<V, Format>(multiply.total[t], pair, scales.d, scales.dmin, d, sums, acc[p][t]);
            }
        }
    }
    for (int t = 0; t < T; ++t) {
        float* out = a.out + (t0 + t) * a.out_stride + first_row;
        for (int p = 0; p < Group::kParts; ++p) V::store(out + p * V::kRows, acc[p][t], rows.count_of(p));
    }
}

/// All tokens from t on, T at a time and the rest in smaller numbers.
template <class V, class Format, int T, class Group>
void group256_tokens(const DotArgs& a, const Group& rows, size_t row_bytes, int64_t t, int64_t first_row) {
    for (; t + T <= a.n_tokens; t += T) group256<V, Format, T>(a, rows, row_bytes, t, first_row);
    if constexpr (T > 1) group256_tokens<V, Format, T / 2>(a, rows, row_bytes, t, first_row);
}

/// One block of every row, ready for multiplication with many tokens.
template <class V>
struct Panel256 {
    typename V::I code[64];
    typename V::I scale[16];
    typename V::I pair[8];
    typename V::F d, dmin;
};

/// Stores pieces of codes and their scales in a panel.
template <class V, class Format>
struct StorePieces {
    const Scales256<V>& scales;
    Panel256<V>& panel;

    template <int n, int first>
    KERNEL_INLINE void operator()(Piece<n, first>, typename V::I* code) {
        for (int i = 0; i < n; ++i) panel.code[first + i] = V::template prepare<Format::kMaxCode>(code[i]);
        constexpr int kScale = first * 4 / Format::kGroup;
        panel.scale[kScale] = scale_256<V, Format, kScale>(scales);
        if constexpr (n * 4 > Format::kGroup)
            panel.scale[kScale + 1] = scale_256<V, Format, kScale + 1>(scales);
    }
};

template <class V, class Format, class Rows>
KERNEL_INLINE void fill_panel_256(const Rows& row, size_t at, Panel256<V>& panel) {
    Scales256<V> scales;
    Format::template scales<V>(row, at, scales);
    StorePieces<V, Format> store{scales, panel};
    Format::template codes<V>(row, at, store);
    if constexpr (kPairs256<V, Format>) all_pairs_256<V, Format>(scales, panel.pair);
    panel.d = scales.d;
    if constexpr (Format::kHasMin) panel.dmin = scales.dmin;
}

/// Tokens t0 .. t0 + T - 1 against block b of the rows.
template <class V, class Format, int T>
inline void panel256(const Panel256<V>& p, int64_t b, const DotArgs& a, const quant::Q8Parts& parts,
                     int64_t t0, int64_t first_row, int n_rows) {
    constexpr int kDwords = Format::kGroup / 4;
    const uint8_t* act[T];
    const int8_t* q[T];
    typename V::I total[T];
    for (int t = 0; t < T; ++t) {
        act[t] = act_of(a, t0 + t);
        q[t] = reinterpret_cast<const int8_t*>(act[t]) + 256 * b;
        total[t] = V::set(0);
    }
#pragma GCC unroll 2
    for (int k = 0; k < 256 / Format::kGroup; ++k)
        add_scaled<V, Format, T, kDwords>(p.code + kDwords * k, q, Format::kGroup * k, p.scale[k], total);
    for (int t = 0; t < T; ++t) {
        float* out = a.out + (t0 + t) * a.out_stride + first_row;
        const auto acc = b == 0 ? V::zero() : V::load(out, n_rows);
        const float d = reinterpret_cast<const float*>(act[t] + parts.d)[b];
        const auto* sums = reinterpret_cast<const int8_t*>(act[t] + parts.sum) + 32 * b;
        V::store(out, finish_256<V, Format>(total[t], p.pair, p.d, p.dmin, d, sums, acc), n_rows);
    }
}

/// All tokens from t on, T at a time and the rest in smaller tiles.
template <class V, class Format, int T>
inline void tokens256(const Panel256<V>& p, int64_t b, const DotArgs& a, const quant::Q8Parts& parts,
                      int64_t t, int64_t first_row, int n_rows) {
    for (; t + T <= a.n_tokens; t += T) panel256<V, Format, T>(p, b, a, parts, t, first_row, n_rows);
    if constexpr (T > 1) tokens256<V, Format, T / 2>(p, b, a, parts, t, first_row, n_rows);
}

/// Rows that lie apart: what it costs to gather a block is shared by all tokens through a panel.
template <class V, class Format>
void dot256_rows(const DotArgs& a) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    const size_t row_bytes = static_cast<size_t>(a.n / 256) * kBytes;
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_256, a.n);
    Panel256<V> panel;
    for (int64_t r = 0; r < a.n_rows; r += V::kRows) {
        const RowGroup<V> rows(a, r);
        if (a.n_tokens == 1) {
            group256<V, Format, 1>(a, rows, row_bytes, 0, r);
            continue;
        }
        for (int64_t b = 0; b < a.n / 256; ++b) {
            const size_t at = static_cast<size_t>(b) * kBytes;
            rows.template prefetch<kBytes>(at, row_bytes);
            fill_panel_256<V, Format>(rows.part(0), at, panel);
            tokens256<V, Format, V::kTokens>(panel, b, a, parts, 0, r, rows.count);
        }
    }
}

/// Strips: a block is cheap to unpack, so it is done again for every few tokens, from the cache.
template <class V, class Format>
void dot256_strips(const DotArgs& a) {
    const size_t row_bytes = static_cast<size_t>(a.n / 256) * sizeof(typename Format::Block);
    for (int64_t r = 0; r < a.n_rows; r += StripGroup<V>::kRows)
        group256_tokens<V, Format, V::kTokens>(a, StripGroup<V>(a, r), row_bytes, 0, r);
}

/// One row and its token list at a time, 16 blocks of the row in the lanes.
template <class V, class Format>
void dot256_lists(const ListsArgs& a) {
    constexpr int kDwords = Format::kGroup / 4;
    Panel256<V> panel;
    each_list<V, sizeof(typename Format::Block), Format::kHasMin>(
        a, 256, quant::ActivationEncoding::q8_256,
        [&](const uint8_t* const* blocks) __attribute__((always_inline)) { fill_panel_256<V, Format>(blocks, 0, panel); },
        [&]<int T>(const TokenBlocks<T>& x, Products<V>& out) __attribute__((always_inline)) {
            typename V::I total[T];
            for (int t = 0; t < T; ++t) total[t] = V::set(0);
#pragma GCC unroll 2
            for (int k = 0; k < 256 / Format::kGroup; ++k)
                add_scaled<V, Format, T, kDwords>(panel.code + kDwords * k, x.q, Format::kGroup * k, panel.scale[k], total);
            for (int t = 0; t < T; ++t) {
                const auto paired = paired_256<V, Format>(panel.pair, x.sum[t], total[t]);
                const auto d = V::load(x.d[t], V::kRows);
                out.value[t] = V::to_float(total[t]);
                out.scale[t] = V::mul(panel.d, d);
                if constexpr (!Format::kHasMin) continue;
                out.min_value[t] = V::to_float(paired);
                out.min_scale[t] = V::mul(panel.dmin, d);
            }
        });
}

template <class V, class Format>
void add_dot_256(Ops& ops, DType type) {
    ops.dot[static_cast<size_t>(type)] = dot256_rows<V, Format>;
    ops.dot_interleaved[static_cast<size_t>(type)] = dot256_strips<V, Format>;
    ops.dot_lists[static_cast<size_t>(type)] = dot256_lists<V, Format>;
}

template <class V>
void add_dots_256(Ops& ops) {
    add_dot_256<V, LaneQ2_K>(ops, DType::Q2_K);
    add_dot_256<V, LaneQ3_K>(ops, DType::Q3_K);
    add_dot_256<V, LaneQ4_K>(ops, DType::Q4_K);
    add_dot_256<V, LaneQ5_K>(ops, DType::Q5_K);
    add_dot_256<V, LaneQ6_K>(ops, DType::Q6_K);
    add_dot_256<V, LaneIQ4_XS>(ops, DType::IQ4_XS);
    add_dot_256<V, LaneTQ1_0>(ops, DType::TQ1_0);
    add_dot_256<V, LaneTQ2_0>(ops, DType::TQ2_0);
}

}  // namespace
}  // namespace powerinfer::kernels
