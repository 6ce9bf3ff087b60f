// Dot products of the formats with blocks of 32 elements, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot_32.h"

namespace powerinfer::kernels::avx2 {

void add_dot_q8_32(Ops& ops) {
    add_dots_32<LanesAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
