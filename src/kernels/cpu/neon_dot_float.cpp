// Dot products of F32, F16 and BF16 rows, for NEON.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_neon.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_dot.h"

namespace powerinfer::kernels::neon {

void add_dot_float(Ops& ops) {
    add_float_dots<WideNeon>(ops);
}

}  // namespace powerinfer::kernels::neon
