// Dot products of the formats with blocks of 256 elements, for AVX-VNNI.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/lanes_avxvnni.h"
// After the primitives that it is written in:
#include "kernels/cpu/lane_dot_256.h"

namespace powerinfer::kernels::avxvnni {

void add_dot_q8_256(Ops& ops) {
    add_dots_256<LanesAvxVnni>(ops);
}

}  // namespace powerinfer::kernels::avxvnni
