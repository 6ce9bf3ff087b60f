// Dot products of the formats with blocks of 256 elements, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot_256.h"

namespace powerinfer::kernels::avx2 {

void add_dot_q8_256(Ops& ops) {
    add_dots_256<LanesAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
