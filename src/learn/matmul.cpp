#include "learn/matmul.h"

#include <algorithm>
#include <cassert>

#include "base/cpu_info.h"

namespace powerinfer::learn {
namespace {

// A piece of the result: the operands of 64 x 256 results stay in the second-level cache for a while.
constexpr int64_t kPieceRows = 64, kPieceColumns = 256;

}  // namespace

Multiplier::Multiplier(int n_threads)
    : ops_(kernels::ops(read_cpu_info())),
      pool_(n_threads > 0 ? n_threads : read_cpu_info().n_physical) {}

void Multiplier::rows_by_rows(const Floats& a, const Floats& b, Floats& out) {
    assert(a.columns == b.columns);
    out.rows = a.rows;
    out.columns = b.rows;
    out.values.resize(static_cast<size_t>(a.rows * b.rows));
    const size_t stride = static_cast<size_t>(a.columns) * sizeof(float);
    const int64_t across = (b.rows + kPieceColumns - 1) / kPieceColumns;
    const int64_t down = (a.rows + kPieceRows - 1) / kPieceRows;
    pool_.for_each(across * down, 1, [&](int64_t piece, int64_t) {
        const int64_t r = piece % down * kPieceRows, c = piece / down * kPieceColumns;
        ops_.dot[static_cast<size_t>(DType::F32)]({.weights = reinterpret_cast<const uint8_t*>(b.row(c)),
                                                   .row_stride = stride,
                                                   .n_rows = std::min(kPieceColumns, b.rows - c),
                                                   .n = a.columns,
                                                   .acts = reinterpret_cast<const uint8_t*>(a.row(r)),
                                                   .act_stride = stride,
                                                   .n_tokens = std::min(kPieceRows, a.rows - r),
                                                   .out = out.row(r) + c,
                                                   .out_stride = out.columns});
    });
}

Floats Multiplier::transpose(const Floats& a) {
    Floats out(a.columns, a.rows);
    constexpr int64_t kTile = 32;
    pool_.for_each((a.columns + kTile - 1) / kTile, 1, [&](int64_t tile, int64_t) {
        const int64_t first = tile * kTile, last = std::min(a.columns, first + kTile);
        for (int64_t r0 = 0; r0 < a.rows; r0 += kTile) {
            for (int64_t c = first; c < last; ++c) {
                for (int64_t r = r0; r < std::min(a.rows, r0 + kTile); ++r) out.row(c)[r] = a.row(r)[c];
            }
        }
    });
    return out;
}

}  // namespace powerinfer::learn
