// Attention, for AVX2.
#include "kernels/cpu/attention_avx2.h"
#include "kernels/cpu/kernel_sets.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_attention.h"

namespace powerinfer::kernels::avx2 {

void add_attention(Ops& ops) {
    add_attention_ops<AttentionAvx2>(ops);
}

}  // namespace powerinfer::kernels::avx2
