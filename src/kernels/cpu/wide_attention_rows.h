// The rows of a block of cached positions, for wide_attention_*.h.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include "kernels/cpu/inline.h"
#include "kernels/ops.h"

namespace powerinfer::kernels {
namespace {

/// Keys or values of positions first, first + 1, ... of which `count` are computed.
struct BlockRows {
    const uint8_t* base;
    size_t stride;
    int count;
    size_t ahead;  ///< bytes to the same row of the next block; 0 if that row is not part of the run

    BlockRows(const uint8_t* rows, size_t row_stride, const AttentionArgs& a, int g0, int64_t first, int n)
        : base(rows + static_cast<size_t>(first) * row_stride), stride(row_stride), count(n) {
        const bool more = g0 == 0 && first + 2 * kAttentionBlock <= a.n_positions;
        ahead = more ? static_cast<size_t>(kAttentionBlock) * row_stride : 0;
    }
    /// Row p, or the last one if there is none; what comes of it then is ignored.
    KERNEL_INLINE const uint8_t* row(int p) const {
        return base + static_cast<size_t>(p < count ? p : count - 1) * stride;
    }
    /// Asks for the line that lies `at` bytes into a row of the next block.
    KERNEL_INLINE void prefetch(const uint8_t* row, size_t at) const {
        ask_for(row + ahead + at);
    }
};

}  // namespace
}  // namespace powerinfer::kernels
