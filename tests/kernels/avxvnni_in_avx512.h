// The AVX-VNNI kernels, compiled to the same instructions in the encoding of AVX-512. So they can be tested on processors
// without AVX-VNNI; that encoding itself is left to processors that have it.
#pragma once

#include "kernels/ops.h"

namespace powerinfer::kernels {

void add_avxvnni_dots_in_avx512(Ops& ops);

}  // namespace powerinfer::kernels
