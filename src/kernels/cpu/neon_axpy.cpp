// Sums of weighted rows of all formats, for NEON.
#include "kernels/cpu/eight_neon.h"
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/slab_neon.h"
#include "kernels/cpu/wide_neon.h"
// After the primitives that they are written in:
#include "kernels/cpu/slab_axpy.h"
#include "kernels/cpu/wide_axpy.h"

namespace powerinfer::kernels::neon {

void add_axpy(Ops& ops) {
    add_float_axpys<WideNeon>(ops);
    add_slab_axpys<SlabNeon>(ops);
}

}  // namespace powerinfer::kernels::neon
