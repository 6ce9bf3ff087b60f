// Dot products of F32, F16 and BF16 rows, for AVX-512.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx512.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_dot.h"

namespace powerinfer::kernels::avx512 {

void add_dot_float(Ops& ops) {
    add_float_dots<WideAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
