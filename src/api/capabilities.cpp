#include <powerinfer/powerinfer.h>

#include "base/cpu_info.h"
#include "kernels/ops.h"

namespace powerinfer {

Capabilities capabilities() {
    const CpuInfo cpu = read_cpu_info();
    Capabilities c;
    c.version = powerinfer_version();
    c.cpu = cpu.name;
    c.n_cores = cpu.n_physical;
    for (const std::string_view isa : kernels::available_isas(cpu)) c.isas.emplace_back(isa);
    for (const std::string_view isa : kernels::compiled_isas()) c.compiled_isas.emplace_back(isa);
    return c;
}

}  // namespace powerinfer
