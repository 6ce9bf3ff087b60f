// Norms, sums, activation functions and encoders, for NEON.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_neon.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_vector.h"

namespace powerinfer::kernels::neon {

void add_vector(Ops& ops) {
    add_vector_ops<WideNeon>(ops);
}

}  // namespace powerinfer::kernels::neon
