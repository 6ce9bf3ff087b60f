// Sums of weighted rows of floats: out = fma(coef[r], row(r), out), column by column in list order. Block formats:
// slab_axpy.h.
//
// Rows whose coefficient is zero are added too: leaving them out is the caller's choice, and the dense reference leaves
// none out. Several rows are applied per pass over `out`, in order, so the cut into passes and calls leaves no trace.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
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
            const int64_t id = a.row_ids ? a.row_ids[r] : a.first_row + r;
            row[count] = a.weights + static_cast<size_t>(id - a.base_row) * a.row_stride;
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
            ask_for(from + offset);
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

template <class W>
void add_float_axpys(Ops& ops) {
    const auto set = [&ops](DType type, AxpyFn fn) { ops.axpy[static_cast<size_t>(type)] = fn; };
    set(DType::F32, for_each_pass<FloatPass<W, ElementF32>>);
    set(DType::F16, for_each_pass<FloatPass<W, ElementF16>>);
    set(DType::BF16, for_each_pass<FloatPass<W, ElementBF16>>);
}

}  // namespace
}  // namespace powerinfer::kernels
