// Dot products of quantised rows with 8-bit activations, one row per 32-bit lane.
//
// The sum of a block is a whole number and therefore exact in any order; the float sum over blocks runs in
// block order, one fused multiply-add per block (two with a minimum), in the lane of the row:
//   acc = fma(block sum, weight scale * activation scale, acc)
// So a (row, token) pair gets the same bits in any call, and on any instruction set that uses this file.
//
// V::kRows rows are unpacked together. With one token the codes stay in registers; with more they are written
// to a panel on the stack, a piece of the row at a time, and used for all tokens; sums wait in `out` between
// pieces. For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lane_formats.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Bytes that rows are asked for ahead of their use.
constexpr size_t kAhead = 768;

/// The rows of one group and of the next, which is fetched while the current one ends. Missing rows repeat
/// the last.
template <class V>
struct RowGroup {
    const uint8_t* row[V::kRows];
    const uint8_t* next[V::kRows];
    int count;

    RowGroup(const DotArgs& a, int64_t first) {
        const int64_t left = a.n_rows - first;
        count = left < V::kRows ? static_cast<int>(left) : V::kRows;
        for (int i = 0; i < V::kRows; ++i) {
            row[i] = at(a, first + i);
            next[i] = at(a, first + V::kRows + i);
        }
    }
    static const uint8_t* at(const DotArgs& a, int64_t i) {
        if (i >= a.n_rows) i = a.n_rows - 1;
        return a.weights + static_cast<size_t>(a.row_ids ? a.row_ids[i] : i) * a.row_stride;
    }
    /// Asks for the line that lies kAhead bytes after `at` in every row, or in the next group's rows where
    /// these end.
    void prefetch(size_t at, size_t row_bytes) const {
        const size_t ahead = at + kAhead;
        const bool here = ahead < row_bytes;
        const uint8_t* const* from = here ? row : next;
        const size_t offset = here ? ahead : ahead - row_bytes;
        for (int i = 0; i < V::kRows; ++i)
            _mm_prefetch(reinterpret_cast<const char*>(from[i] + offset), _MM_HINT_T1);
    }
};

inline const uint8_t* act_of(const DotArgs& a, int64_t t) {
    return a.acts + static_cast<size_t>(a.token_ids ? a.token_ids[t] : t) * a.act_stride;
}

/// One block of 32 elements of every row.
template <class V>
struct Unpacked32 {
    typename V::I code[8];
    typename V::F d, min;
};

template <class V, class Format>
inline void unpack32(const uint8_t* const* row, size_t at, Unpacked32<V>& u) {
    Format::template codes<V>(row, at, u.code);
    for (int g = 0; g < 8; ++g) u.code[g] = V::template prepare<Format::kMaxCode>(u.code[g]);
    u.d = Format::template scale<V>(row, at);
    if constexpr (Format::kHasMin) u.min = Format::template min<V>(row, at);
}

template <class V, class Format>
inline typename V::F step32(const Unpacked32<V>& u, const int8_t* q, float d, int32_t sum,
                            typename V::F acc) {
    constexpr int kZero = V::template zero_point<Format::kMaxCode>(Format::kZero);
    auto total = V::template dot<Format::kMaxCode, 8>(u.code, q);
    if constexpr (kZero != 0) total = V::sub(total, V::set(kZero * sum));
    acc = V::fma(V::to_float(total), V::mul(u.d, V::set(d)), acc);
    if constexpr (Format::kHasMin)
        acc = V::fma(V::set(static_cast<float>(sum)), V::mul(u.min, V::set(d)), acc);
    return acc;
}

template <class V, class Format>
void dot32_one_token(const DotArgs& a, const RowGroup<V>& rows, size_t row_bytes) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    constexpr int kStep = static_cast<int>(70 / kBytes);  // blocks in about one cache line
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.n);
    const uint8_t* act = act_of(a, 0);
    const auto* q = reinterpret_cast<const int8_t*>(act);
    const auto* d = reinterpret_cast<const float*>(act + parts.d);
    const auto* sum = reinterpret_cast<const int32_t*>(act + parts.sum);
    typename V::F acc = V::zero();
    const auto step = [&](int64_t b, size_t at) {
        Unpacked32<V> u;
        unpack32<V, Format>(rows.row, at, u);
        acc = step32<V, Format>(u, q + 32 * b, d[b], sum[b], acc);
    };
    int64_t b = 0;
    size_t at = 0;
    for (; b + kStep <= a.n / 32; b += kStep, at += kStep * kBytes) {
        rows.prefetch(at, row_bytes);
#pragma GCC unroll 4
        for (int i = 0; i < kStep; ++i) step(b + i, at + static_cast<size_t>(i) * kBytes);
    }
    for (; b < a.n / 32; ++b, at += kBytes) step(b, at);
    V::store(a.out, acc, rows.count);
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
    for (int i = 0; i < count; ++i) {
        const int64_t b = b0 + i;
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
            const auto* q = reinterpret_cast<const int8_t*>(act[t]) + 32 * b;
            const float d = reinterpret_cast<const float*>(act[t] + parts.d)[b];
            const int32_t sum = reinterpret_cast<const int32_t*>(act[t] + parts.sum)[b];
            acc[t] = step32<V, Format>(panel[i], q, d, sum, acc[t]);
        }
    }
    for (int t = 0; t < T; ++t) V::store(a.out + (t0 + t) * a.out_stride + first_row, acc[t], n_rows);
}

template <class V, class Format>
void dot32(const DotArgs& a) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    constexpr int kBlocks = 16;  // of a panel
    const size_t row_bytes = static_cast<size_t>(a.n / 32) * kBytes;
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.n);
    Unpacked32<V> panel[kBlocks];
    for (int64_t r = 0; r < a.n_rows; r += V::kRows) {
        const RowGroup<V> rows(a, r);
        if (a.n_tokens == 1) {
            DotArgs one = a;
            one.out += r;
            dot32_one_token<V, Format>(one, rows, row_bytes);
            continue;
        }
        for (int64_t b0 = 0; b0 < a.n / 32; b0 += kBlocks) {
            const int count = a.n / 32 - b0 < kBlocks ? static_cast<int>(a.n / 32 - b0) : kBlocks;
            for (int i = 0; i < count; ++i)
                unpack32<V, Format>(rows.row, static_cast<size_t>(b0 + i) * kBytes, panel[i]);
            int64_t t = 0;
            for (; t + V::kTokens <= a.n_tokens; t += V::kTokens)
                panel32<V, Format, V::kTokens>(panel, b0, count, a, parts, t, r, rows.count);
            for (; t < a.n_tokens; ++t) panel32<V, Format, 1>(panel, b0, count, a, parts, t, r, rows.count);
        }
    }
}

/// One block of 256 elements of every row, ready for multiplication.
template <class V>
struct Panel256 {
    Unpacked256<V> u;
    typename V::I
        pair[8];  ///< two int16 per lane, to meet the sums of two neighbouring groups of 16 activations
};

template <class V, class Format>
constexpr bool kPairsFor256 = Format::kHasMin || V::template zero_point<Format::kMaxCode>(Format::kZero) != 0;

template <class V, class Format>
inline void unpack256(const uint8_t* const* row, size_t at, Panel256<V>& p) {
    constexpr int kZero = V::template zero_point<Format::kMaxCode>(Format::kZero);
    Unpacked256<V>& u = p.u;
    Format::template unpack<V>(row, at, u);
    if constexpr (kPairsFor256<V, Format>) {
        for (int k = 0; k < 8; ++k) {
            const int even = Format::kGroup == 16 ? 2 * k : k, odd = Format::kGroup == 16 ? 2 * k + 1 : k;
            auto low = Format::kHasMin ? u.min[even] : V::mul(u.scale[even], V::set(kZero));
            auto high = Format::kHasMin ? u.min[odd] : V::mul(u.scale[odd], V::set(kZero));
            p.pair[k] = V::or_(V::and_(low, V::set(0xFFFF)), V::template shl<16>(high));
        }
    }
    for (int k = 0; k < 256 / Format::kGroup; ++k) u.scale[k] = V::prepare_scale(u.scale[k]);
    for (int g = 0; g < 64; ++g) u.code[g] = V::template prepare<Format::kMaxCode>(u.code[g]);
}

template <class V, class Format>
inline typename V::F step256(const Panel256<V>& p, const int8_t* q, float d, const int16_t* sums,
                             typename V::F acc) {
    constexpr int kDwords = Format::kGroup / 4;
    auto total = V::set(0), paired = V::set(0);
#pragma GCC unroll 16
    for (int k = 0; k < 256 / Format::kGroup; ++k) {
        total = V::add(total, V::template dot<Format::kMaxCode, kDwords>(
                                  p.u.code + kDwords * k, q + Format::kGroup * k, p.u.scale[k]));
    }
    if constexpr (kPairsFor256<V, Format>) {
        for (int k = 0; k < 8; ++k) paired = V::add_pairs(paired, p.pair[k], V::set(V::dword(sums + 2 * k)));
        if constexpr (!Format::kHasMin) total = V::sub(total, paired);
    }
    acc = V::fma(V::to_float(total), V::mul(p.u.d, V::set(d)), acc);
    if constexpr (Format::kHasMin) acc = V::fnma(V::to_float(paired), V::mul(p.u.dmin, V::set(d)), acc);
    return acc;
}

template <class V, class Format>
void dot256(const DotArgs& a) {
    constexpr size_t kBytes = sizeof(typename Format::Block);
    constexpr int kLines = static_cast<int>((kBytes + 63) / 64);
    const size_t row_bytes = static_cast<size_t>(a.n / 256) * kBytes;
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_256, a.n);
    Panel256<V> panel;
    for (int64_t r = 0; r < a.n_rows; r += V::kRows) {
        const RowGroup<V> rows(a, r);
        for (int64_t b = 0; b < a.n / 256; ++b) {
            const size_t at = static_cast<size_t>(b) * kBytes;
            for (int line = 0; line < kLines; ++line)
                rows.prefetch(at + static_cast<size_t>(64 * line), row_bytes);
            unpack256<V, Format>(rows.row, at, panel);
            for (int64_t t = 0; t < a.n_tokens; ++t) {
                const uint8_t* act = act_of(a, t);
                float* out = a.out + t * a.out_stride + r;
                const auto acc =
                    step256<V, Format>(panel, reinterpret_cast<const int8_t*>(act) + 256 * b,
                                       reinterpret_cast<const float*>(act + parts.d)[b],
                                       reinterpret_cast<const int16_t*>(act + parts.sum) + 16 * b,
                                       b == 0 ? V::zero() : V::load(out, rows.count));
                V::store(out, acc, rows.count);
            }
        }
    }
}

template <class V>
void add_lane_dots(Ops& ops) {
    const auto set = [&ops](DType type, DotFn fn) { ops.dot[static_cast<size_t>(type)] = fn; };
    set(DType::Q4_0, dot32<V, LaneQ4_0>);
    set(DType::Q4_1, dot32<V, LaneQ4_1>);
    set(DType::Q5_0, dot32<V, LaneQ5_0>);
    set(DType::Q5_1, dot32<V, LaneQ5_1>);
    set(DType::Q8_0, dot32<V, LaneQ8_0>);
    set(DType::IQ4_NL, dot32<V, LaneIQ4_NL>);
    set(DType::MXFP4, dot32<V, LaneMXFP4>);
    set(DType::Q2_K, dot256<V, LaneQ2_K>);
    set(DType::Q3_K, dot256<V, LaneQ3_K>);
    set(DType::Q4_K, dot256<V, LaneQ4_K>);
    set(DType::Q5_K, dot256<V, LaneQ5_K>);
    set(DType::Q6_K, dot256<V, LaneQ6_K>);
    set(DType::IQ4_XS, dot256<V, LaneIQ4_XS>);
    set(DType::TQ1_0, dot256<V, LaneTQ1_0>);
    set(DType::TQ2_0, dot256<V, LaneTQ2_0>);
}

}  // namespace
}  // namespace powerinfer::kernels
