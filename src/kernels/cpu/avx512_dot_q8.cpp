// Dot products of all quantised formats, for AVX-512 with VNNI.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_avx512.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot.h"

namespace powerinfer::kernels::avx512 {

void add_dot_q8(Ops& ops) {
    add_lane_dots<LanesAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
