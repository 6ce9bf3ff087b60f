// Dot products of the formats with blocks of 32 elements, for NEON with i8mm.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_neon_i8mm.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot_32.h"

namespace powerinfer::kernels::neon_i8mm {

void add_dot_q8_32(Ops& ops) {
    add_dots_32<LanesNeonI8mm>(ops);
}

}  // namespace powerinfer::kernels::neon_i8mm
