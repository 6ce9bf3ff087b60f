// Sums of weighted rows: out += coef[r] * row(r), column by column in list order.
//
// Each element takes one fused multiply-add per row, also where the coefficient is zero: leaving rows out is the
// caller's choice, and the dense reference leaves none out:
//   F32, F16, BF16   out = fma(coef, w, out)
//   Q8_0, Q4_0       out = fma(coef * d, q, out)          with coef * d rounded once per block
//   other formats    out = fma(coef, w, out)              with the very w that quant::Format::decode gives
// Several rows are applied per pass over `out`, in order, so the cut into passes and calls leaves no trace.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/row_formats.h"
#include "kernels/cpu/wide_elements.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Rows per pass over `out`.
constexpr int kAxpyRows = 4;
/// Bytes that rows are asked for ahead of their use.
constexpr size_t kAxpyAhead = 2048;

/// The next rows of the list.
struct AxpyRows {
    const uint8_t* row[kAxpyRows];  ///< past `count`, any that may be asked for
    float coef[kAxpyRows];
    int count = 0;

    /// Takes up to kAxpyRows from position r on and moves r behind them.
    void take(const AxpyArgs& a, int64_t& r) {
        count = 0;
        for (; r < a.n_rows && count < kAxpyRows; ++r) {
            row[count] = a.weights + static_cast<size_t>(a.row_ids ? a.row_ids[r] : r) * a.row_stride;
            coef[count++] = a.coef[r];
        }
        for (int i = count; i < kAxpyRows; ++i) row[i] = a.weights;
    }
    /// Asks for the line that lies kAxpyAhead bytes after `at` in every row, or in the next rows where these
    /// end.
    template <int R>
    KERNEL_INLINE void prefetch(size_t at, size_t row_bytes, const AxpyRows& next) const {
        const size_t ahead = at + kAxpyAhead;
        const bool here = ahead < row_bytes;
        const size_t offset = here ? ahead : ahead - row_bytes;
        for (int i = 0; i < R; ++i) {
            const uint8_t* from = here ? row[i] : next.row[i];
            _mm_prefetch(reinterpret_cast<const char*>(from + offset), _MM_HINT_T1);
        }
    }
};

/// Calls pass<R>(rows) for all rows, R at a time.
template <class Pass>
void for_each_pass(const AxpyArgs& a) {
    int64_t r = 0;
    AxpyRows rows, next;
    next.take(a, r);
    while (next.count > 0) {
        rows = next;
        next.take(a, r);
        switch (rows.count) {
            case 4:
                Pass::template run<4>(rows, next, a.n, a.out);
                break;
            case 3:
                Pass::template run<3>(rows, next, a.n, a.out);
                break;
            case 2:
                Pass::template run<2>(rows, next, a.n, a.out);
                break;
            default:
                Pass::template run<1>(rows, next, a.n, a.out);
                break;
        }
    }
}

template <class W, class E>
struct FloatPass {
    template <int R>
    static void run(const AxpyRows& rows, const AxpyRows& next, int64_t n, float* out) {
        using Stored = typename E::Stored;
        const Stored* w[R];
        for (int r = 0; r < R; ++r) w[r] = reinterpret_cast<const Stored*>(rows.row[r]);
        const size_t row_bytes = static_cast<size_t>(n) * sizeof(Stored);
        int64_t i = 0;
        for (; i + 16 <= n; i += 16) {
            const size_t at = static_cast<size_t>(i) * sizeof(Stored);
            if (at % 64 == 0) rows.prefetch<R>(at, row_bytes, next);
            auto y = W::load(out + i);
            for (int r = 0; r < R; ++r) {
                y = W::fma(W::set(rows.coef[r]), E::template load<W>(w[r] + i), y);
            }
            W::store(out + i, y);
        }
        if (i < n) {
            const int left = static_cast<int>(n - i);
            auto y = W::load(out + i, left);
            for (int r = 0; r < R; ++r)
                y = W::fma(W::set(rows.coef[r]), E::template load<W>(w[r] + i, left), y);
            W::store(out + i, y, left);
        }
    }
};

struct AxpyQ8_0 {
    using Block = quant::BlockQ8_0;
    template <class W>
    KERNEL_INLINE static void values(const Block& b, typename W::F& first, typename W::F& second) {
        first = W::from_int8(load_16(b.qs));
        second = W::from_int8(load_16(b.qs + 16));
    }
};

struct AxpyQ4_0 {
    using Block = quant::BlockQ4_0;
    template <class W>
    KERNEL_INLINE static void values(const Block& b, typename W::F& first, typename W::F& second) {
        W::nibbles_less_8(load_16(b.qs), first, second);
    }
};

template <class W, class Row>
struct BlockPass {
    template <int R>
    static void run(const AxpyRows& rows, const AxpyRows& next, int64_t n, float* out) {
        constexpr size_t kBytes = sizeof(typename Row::Block);
        const size_t row_bytes = static_cast<size_t>(n / 32) * kBytes;
        const uint8_t* row[R];  // copies, which stores to `out` cannot alias
        float coef[R];
        for (int r = 0; r < R; ++r) {
            row[r] = rows.row[r];
            coef[r] = rows.coef[r];
        }
        for (int64_t b = 0; b < n / 32; ++b) {
            const size_t at = static_cast<size_t>(b) * kBytes;
            if (at % 64 < kBytes) rows.prefetch<R>(at - at % 64, row_bytes, next);  // once per 64 bytes
            auto y0 = W::load(out + 32 * b), y1 = W::load(out + 32 * b + 16);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const auto& block = *reinterpret_cast<const typename Row::Block*>(row[r] + at);
                typename W::F first, second;
                Row::template values<W>(block, first, second);
                const auto scale = W::set(coef[r] * _cvtsh_ss(block.d));
                y0 = W::fma(scale, first, y0);
                y1 = W::fma(scale, second, y1);
            }
            W::store(out + 32 * b, y0);
            W::store(out + 32 * b + 16, y1);
        }
    }
};

/// The other block formats: a block's codes by way of the stack, a row at a time.
template <class W, class Row>
void axpy_blocks(const AxpyArgs& a) {
    using Block = typename Row::Block;
    constexpr int kSize = Row::kSize;
    alignas(64) int8_t code[kSize];
    float scale[kSize / 16], min[kSize / 16];
    const size_t row_bytes = static_cast<size_t>(a.n / kSize) * sizeof(Block);
    AxpyRows rows, next;
    int64_t r = 0;
    next.take(a, r);
    while (next.count > 0) {
        rows = next;
        next.take(a, r);
        for (int i = 0; i < rows.count; ++i) {
            const auto coef = W::set(rows.coef[i]);
            for (int64_t b = 0; b < a.n / kSize; ++b) {
                const size_t at = static_cast<size_t>(b) * sizeof(Block);
                for (size_t line = 0; i == 0 && line < sizeof(Block); line += 64)
                    rows.prefetch<kAxpyRows>(at + line, row_bytes, next);
                Row::unpack(*reinterpret_cast<const Block*>(rows.row[i] + at), code, scale, min);
                float* out = a.out + b * kSize;
                for (int k = 0; k < kSize / 16; ++k) {
                    auto w = W::from_int8(load_16(code + 16 * k));
                    if constexpr (Row::kHasMin) {
                        w = W::fma(W::set(scale[k]), w, W::set(min[k]));
                    } else {
                        w = W::mul(W::set(scale[k]), w);
                    }
                    W::store(out + 16 * k, W::fma(coef, w, W::load(out + 16 * k)));
                }
            }
        }
    }
}

template <class W>
void add_axpys(Ops& ops) {
    const auto set = [&ops](DType type, AxpyFn fn) { ops.axpy[static_cast<size_t>(type)] = fn; };
    set(DType::F32, for_each_pass<FloatPass<W, ElementF32>>);
    set(DType::F16, for_each_pass<FloatPass<W, ElementF16>>);
    set(DType::BF16, for_each_pass<FloatPass<W, ElementBF16>>);
    set(DType::Q8_0, for_each_pass<BlockPass<W, AxpyQ8_0>>);
    set(DType::Q4_0, for_each_pass<BlockPass<W, AxpyQ4_0>>);
    set(DType::Q4_1, axpy_blocks<W, RowQ4_1>);
    set(DType::Q5_0, axpy_blocks<W, RowQ5_0>);
    set(DType::Q5_1, axpy_blocks<W, RowQ5_1>);
    set(DType::IQ4_NL, axpy_blocks<W, RowIQ4_NL>);
    set(DType::MXFP4, axpy_blocks<W, RowMXFP4>);
    set(DType::Q2_K, axpy_blocks<W, RowQ2_K>);
    set(DType::Q3_K, axpy_blocks<W, RowQ3_K>);
    set(DType::Q4_K, axpy_blocks<W, RowQ4_K>);
    set(DType::Q5_K, axpy_blocks<W, RowQ5_K>);
    set(DType::Q6_K, axpy_blocks<W, RowQ6_K>);
    set(DType::IQ4_XS, axpy_blocks<W, RowIQ4_XS>);
    set(DType::TQ1_0, axpy_blocks<W, RowTQ1_0>);
    set(DType::TQ2_0, axpy_blocks<W, RowTQ2_0>);
}

}  // namespace
}  // namespace powerinfer::kernels
