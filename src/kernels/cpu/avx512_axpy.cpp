// Sums of weighted rows of all formats, for AVX-512.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx512.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_axpy.h"

namespace powerinfer::kernels::avx512 {

void add_axpy(Ops& ops) {
    add_axpys<WideAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
