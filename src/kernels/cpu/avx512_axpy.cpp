// Sums of weighted rows of all formats, for AVX-512.
#include "kernels/cpu/eight_avx2.h"
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/slab_avx512.h"
#include "kernels/cpu/wide_avx512.h"
// After the primitives that they are written in:
#include "kernels/cpu/slab_axpy.h"
#include "kernels/cpu/wide_axpy.h"

namespace powerinfer::kernels::avx512 {

void add_axpy(Ops& ops) {
    add_float_axpys<WideAvx512>(ops);
    add_slab_axpys<SlabAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
