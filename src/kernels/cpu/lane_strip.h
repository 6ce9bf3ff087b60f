// Where the lanes of a vector find what is theirs: rows in a strip of interleaved rows (quant/interleave.h), blocks of
// activations in lane order (quant/lane_order.h). For files compiled for one instruction set only, hence the anonymous
// namespace.
#pragma once

#include <cstdint>

#include "kernels/cpu/inline.h"

namespace powerinfer::kernels {
namespace {

struct Strip {
    const uint8_t* base;
    int first = 0;  ///< row of the first lane
};

/// Activations of which every lane has a block of its own. (A plain pointer means one block for all lanes.)
struct LaneActs {
    const int8_t* base;  ///< dword g of the first lane's block is at 64 g
};
KERNEL_INLINE LaneActs operator+(LaneActs acts, int bytes) {
    return {acts.base + 16 * bytes};
}

}  // namespace
}  // namespace powerinfer::kernels
