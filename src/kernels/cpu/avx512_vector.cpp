// Norms, sums, activation functions and encoders, for AVX-512.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx512.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_vector.h"

namespace powerinfer::kernels::avx512 {

void add_vector(Ops& ops) {
    add_vector_ops<WideAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
