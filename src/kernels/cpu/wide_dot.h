// Dot products of F32, F16 and BF16 rows with f32 activations.
//
// Sixteen partial sums per (row, token): number l adds the elements l, l + 16, l + 32, ... with fused
// multiply-adds; at the end halves are added until one is left. Rows and tokens are computed in tiles, which
// share loads and nothing else, so a (row, token) pair gets the same bits in any call. For files compiled for
// one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
#include "kernels/cpu/wide_elements.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Bytes that rows are asked for ahead of their use.
constexpr size_t kFloatAhead = 2048;

inline const uint8_t* row_of(const DotArgs& a, int64_t r) {
    if (r >= a.n_rows) r = a.n_rows - 1;
    return a.weights + static_cast<size_t>(a.row_ids ? a.row_ids[r] : r) * a.row_stride;
}

template <class W, class E, int R, int T>
void dot_tile(const DotArgs& a, int64_t r0, int64_t t0) {
    const typename E::Stored* w[R];
    const float* x[T];
    for (int r = 0; r < R; ++r) w[r] = reinterpret_cast<const typename E::Stored*>(row_of(a, r0 + r));
    for (int t = 0; t < T; ++t) {
        const size_t token = static_cast<size_t>(a.token_ids ? a.token_ids[t0 + t] : t0 + t);
        x[t] = reinterpret_cast<const float*>(a.acts + token * a.act_stride);
    }
    [[maybe_unused]] const uint8_t* next[R];
    for (int r = 0; r < R; ++r) next[r] = row_of(a, r0 + R + r);
    typename W::F acc[R][T];
    for (int r = 0; r < R; ++r) {
        for (int t = 0; t < T; ++t) acc[r][t] = W::zero();
    }
    const size_t row_bytes = static_cast<size_t>(a.n) * sizeof(typename E::Stored);
    int64_t i = 0;
    for (; i + 16 <= a.n; i += 16) {
        if constexpr (T == 1) {
            // Once per line: what lies ahead in these rows, or in the next of the list where these end.
            const size_t ahead = static_cast<size_t>(i) * sizeof(typename E::Stored) + kFloatAhead;
            if (ahead % 64 == 0) {
                const bool here = ahead < row_bytes;
                for (int r = 0; r < R; ++r) {
                    const uint8_t* row = here ? reinterpret_cast<const uint8_t*>(w[r]) : next[r];
                    ask_for(row + (here ? ahead : ahead - row_bytes));
                }
            }
        }
        typename W::F xv[T];
        for (int t = 0; t < T; ++t) xv[t] = W::load(x[t] + i);
        for (int r = 0; r < R; ++r) {
            const auto wv = E::template load<W>(w[r] + i);
            for (int t = 0; t < T; ++t) acc[r][t] = W::fma(wv, xv[t], acc[r][t]);
        }
    }
    if (i < a.n) {
        const int left = static_cast<int>(a.n - i);
        for (int r = 0; r < R; ++r) {
            const auto wv = E::template load<W>(w[r] + i, left);
            for (int t = 0; t < T; ++t) acc[r][t] = W::fma(wv, W::load(x[t] + i, left), acc[r][t]);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int t = 0; t < T; ++t) a.out[(t0 + t) * a.out_stride + r0 + r] = W::sum(acc[r][t]);
    }
}

template <class W, class E, int R>
void dot_rows(const DotArgs& a, int64_t r0) {
    int64_t t = 0;
    for (; t + W::kTileTokens <= a.n_tokens; t += W::kTileTokens) dot_tile<W, E, R, W::kTileTokens>(a, r0, t);
    for (; t < a.n_tokens; ++t) dot_tile<W, E, R, 1>(a, r0, t);
}

template <class W, class E>
void dot_float(const DotArgs& a) {
    constexpr int kRows = 4;  // with one token, enough independent sums to hide the latency of the additions
    int64_t r = 0;
    if (a.n_tokens == 1) {
        for (; r + kRows <= a.n_rows; r += kRows) dot_tile<W, E, kRows, 1>(a, r, 0);
    } else {
        for (; r + W::kTileRows <= a.n_rows; r += W::kTileRows) dot_rows<W, E, W::kTileRows>(a, r);
    }
    for (; r < a.n_rows; ++r) dot_rows<W, E, 1>(a, r);
}

template <class W>
void add_float_dots(Ops& ops) {
    ops.dot[static_cast<size_t>(DType::F32)] = dot_float<W, ElementF32>;
    ops.dot[static_cast<size_t>(DType::F16)] = dot_float<W, ElementF16>;
    ops.dot[static_cast<size_t>(DType::BF16)] = dot_float<W, ElementBF16>;
}

}  // namespace
}  // namespace powerinfer::kernels
