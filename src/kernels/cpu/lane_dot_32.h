// Dot products of rows with blocks of 32 elements and q8_32 activations. How and in which order: lane_rows.h.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/lane_formats_32.h"
#include "kernels/cpu/lane_rows.h"

namespace powerinfer::kernels {
namespace {

/// One block of 32 elements of every row.
template <class V>
struct Unpacked32 {
    typename V::I code[8];
    typename V::F d, min;
};

template <class V, class Format>
KERNEL_INLINE void unpack32(const uint8_t* const* row, size_t at, Unpacked32<V>& u) {
    Format::template codes<V>(row, at, u.code);
    for (int g = 0; g < 8; ++g) u.code[g] = V::template prepare<Format::kMaxCode>(u.code[g]);
    u.d = Format::template scale<V>(row, at);
    if constexpr (Format::kHasMin) u.min = Format::template min<V>(row, at);
}

template <class V, class Format>
KERNEL_INLINE typename V::F step32(const Unpacked32<V>& u, const int8_t* q, float d, int32_t sum,
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
    const quant::Q8Parts parts = quant::q8_parts(quant::ActivationEncoding::q8_32, a.n);
    const uint8_t* act = act_of(a, 0);
    const auto* q = reinterpret_cast<const int8_t*>(act);
    const auto* d = reinterpret_cast<const float*>(act + parts.d);
    const auto* sum = reinterpret_cast<const int32_t*>(act + parts.sum);
    typename V::F acc = V::zero();
    size_t at = 0;
    for (int64_t b = 0; b < a.n / 32; ++b, at += kBytes) {
        if (at % 64 < kBytes) rows.prefetch(at - at % 64, row_bytes);  // once per 64 bytes
        Unpacked32<V> u;
        unpack32<V, Format>(rows.row, at, u);
        acc = step32<V, Format>(u, q + 32 * b, d[b], sum[b], acc);
    }
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

/// All tokens from t on, T at a time and the rest in smaller tiles.
template <class V, class Format, int T>
inline void tokens32(const Unpacked32<V>* panel, int64_t b0, int count, const DotArgs& a,
                     const quant::Q8Parts& parts, int64_t t, int64_t first_row, int n_rows) {
    for (; t + T <= a.n_tokens; t += T)
        panel32<V, Format, T>(panel, b0, count, a, parts, t, first_row, n_rows);
    if constexpr (T > 1) tokens32<V, Format, T / 2>(panel, b0, count, a, parts, t, first_row, n_rows);
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
            for (size_t line = 0; line < kBlocks * kBytes; line += 64)
                rows.prefetch(static_cast<size_t>(b0) * kBytes + line, row_bytes);
            for (int i = 0; i < count; ++i)
                unpack32<V, Format>(rows.row, static_cast<size_t>(b0 + i) * kBytes, panel[i]);
            tokens32<V, Format, V::kTokens>(panel, b0, count, a, parts, 0, r, rows.count);
        }
    }
}

template <class V>
void add_dots_32(Ops& ops) {
    const auto set = [&ops](DType type, DotFn fn) { ops.dot[static_cast<size_t>(type)] = fn; };
    set(DType::Q4_0, dot32<V, LaneQ4_0>);
    set(DType::Q4_1, dot32<V, LaneQ4_1>);
    set(DType::Q5_0, dot32<V, LaneQ5_0>);
    set(DType::Q5_1, dot32<V, LaneQ5_1>);
    set(DType::Q8_0, dot32<V, LaneQ8_0>);
    set(DType::IQ4_NL, dot32<V, LaneIQ4_NL>);
    set(DType::MXFP4, dot32<V, LaneMXFP4>);
}

}  // namespace
}  // namespace powerinfer::kernels
