#include "avxvnni_in_avx512.h"

#include "kernels/cpu/lanes_avxvnni.h"
// After the primitives that they are written in:
#include "kernels/cpu/lane_dot_256.h"
#include "kernels/cpu/lane_dot_32.h"

namespace powerinfer::kernels {

void add_avxvnni_dots_in_avx512(Ops& ops) {
    add_dots_32<LanesAvxVnni>(ops);
    add_dots_256<LanesAvxVnni>(ops);
}

}  // namespace powerinfer::kernels
