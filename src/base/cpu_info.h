// What the processor we run on can do, as plain facts.
#pragma once

#include <string>

namespace powerinfer {

struct CpuInfo {
    std::string name;      ///< as the vendor calls it, or "unknown"
    int n_usable = 1;      ///< hardware threads this process may use (affinity mask and cgroup quota counted)
    int n_physical = 1;    ///< of those, distinct cores; the default number of compute threads
    bool avx2 = false;     ///< AVX2, FMA and F16C together, with operating system support
    bool avx512 = false;   ///< AVX-512 F, BW, VL, DQ and VNNI together
    bool avx512_bf16 = false;
    bool avx_vnni = false;     ///< and AVX2
    bool neon_dotprod = false;
    bool neon_i8mm = false;  ///< and dotprod
};

/// Looks at the machine; cheap enough to call at start, not per token.
CpuInfo read_cpu_info();

}  // namespace powerinfer
