// Sums of weighted rows of all formats, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_axpy.h"

namespace powerinfer::kernels::avx2 {

void add_axpy(Ops& ops) {
    add_axpys<WideAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
