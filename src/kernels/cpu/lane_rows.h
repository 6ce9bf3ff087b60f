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

#include <cstddef>
#include <cstdint>

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

}  // namespace
}  // namespace powerinfer::kernels
