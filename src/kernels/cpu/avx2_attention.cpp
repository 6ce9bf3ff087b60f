// Attention, for AVX2.
#include "kernels/cpu/kernel_sets.h"
#include "kernels/cpu/wide_avx2.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_attention.h"

namespace powerinfer::kernels::avx2 {

void add_attention(Ops& ops) {
    add_attention_ops<WideAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
