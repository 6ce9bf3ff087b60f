// Dot products of all quantised formats, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot.h"

namespace powerinfer::kernels::avx2 {

void add_dot_q8(Ops& ops) {
    add_lane_dots<LanesAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
