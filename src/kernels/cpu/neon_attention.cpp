// Attention, for NEON.
#include "kernels/cpu/attention_neon.h"
#include "kernels/cpu/kernel_sets.h"
// After the primitives that it is written in:
#include "kernels/cpu/wide_attention.h"

namespace powerinfer::kernels::neon {

void add_attention(Ops& ops) {
    add_attention_ops<AttentionNeon>(ops);
}

}  // namespace powerinfer::kernels::neon
