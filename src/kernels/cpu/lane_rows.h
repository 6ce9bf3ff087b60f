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

#include "kernels/cpu/inline.h"
#include "kernels/cpu/lane_strip.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Bytes that rows are asked for ahead of their use.
constexpr size_t kAhead = 768;
/// Bytes that a strip is asked for ahead of its use.
constexpr size_t kStripAhead = 4096;

/// The rows of one group, each somewhere, and of the next, which is fetched while the current one ends.
/// Missing rows repeat the last.
template <class V>
struct RowGroup {
    static constexpr int kRows = V::kRows;
    static constexpr int kParts = 1;  ///< vectors that hold one dword of every row
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
    const uint8_t* const* part(int) const { return row; }
    int count_of(int) const { return count; }

    /// Asks for what lies kAhead bytes after the block at `at` in every row, or in the next group's rows
    /// where these end: every line once.
    template <size_t kBlockBytes>
    KERNEL_INLINE void prefetch(size_t at, size_t row_bytes) const {
        if constexpr (kBlockBytes <= 64) {
            if (at % 64 < kBlockBytes) line(at - at % 64, row_bytes);
        } else {
            for (size_t k = 0; k < kBlockBytes; k += 64) line(at + k, row_bytes);
        }
    }

  private:
    void line(size_t at, size_t row_bytes) const {
        const size_t ahead = at + kAhead;
        const bool here = ahead < row_bytes;
        const uint8_t* const* from = here ? row : next;
        const size_t offset = here ? ahead : ahead - row_bytes;
        for (int i = 0; i < V::kRows; ++i) ask_for(from[i] + offset);
    }
};

/// Sixteen interleaved rows. Strips follow one another in memory, so what is ahead needs no list.
template <class V>
struct StripGroup {
    static constexpr int kRows = 16;
    static constexpr int kParts = 16 / V::kRows;
    const uint8_t* base;
    int count;

    StripGroup(const DotArgs& a, int64_t first)
        : base(a.weights + static_cast<size_t>(first) * a.row_stride),
          count(a.n_rows - first < 16 ? static_cast<int>(a.n_rows - first) : 16) {}
    Strip part(int i) const { return {base, i * V::kRows}; }
    int count_of(int i) const {
        const int left = count - i * V::kRows;
        return left < 0 ? 0 : left < V::kRows ? left : V::kRows;
    }

    /// Asks for what lies kStripAhead bytes after the block at `at`. Long blocks are used piece by piece from
    /// many places, which works well only from the second-level cache.
    template <size_t kBlockBytes>
    KERNEL_INLINE void prefetch(size_t at, size_t) const {
        constexpr bool kShort = kBlockBytes <= 64;
        for (size_t k = 0; k < 16 * kBlockBytes; k += 64) {
            if (kShort) ask_for_soon(base + 16 * at + kStripAhead + k);
            if (!kShort) ask_for(base + 16 * at + 2 * kStripAhead + k);
        }
    }
};

inline const uint8_t* act_of(const DotArgs& a, int64_t t) {
    return a.acts + static_cast<size_t>(a.token_ids ? a.token_ids[t] : t) * a.act_stride;
}

}  // namespace
}  // namespace powerinfer::kernels
