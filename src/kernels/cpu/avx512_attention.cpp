// Attention, for AVX-512.
#include "kernels/cpu/attention_avx512.h"
#include "kernels/cpu/kernel_sets.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_attention.h"

namespace powerinfer::kernels::avx512 {

void add_attention(Ops& ops) {
    add_attention_ops<AttentionAvx512>(ops);
}

}  // namespace powerinfer::kernels::avx512
