// Dot products of F32, F16 and BF16 rows, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_dot.h"

namespace powerinfer::kernels::avx2 {

void add_dot_float(Ops& ops) {
    add_float_dots<WideAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
