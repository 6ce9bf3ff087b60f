#include "tools/version.h"

#include <fmt/format.h>
#include <powerinfer/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cpu_info.h"
#include "kernels/ops.h"

namespace powerinfer::tools {

const char* build_commit() { return POWERINFER_COMMIT; }
int build_number() { return POWERINFER_BUILD_NUMBER; }

std::string version_text() {
    const CpuInfo cpu = read_cpu_info();
    const std::vector<std::string_view> available = kernels::available_isas(cpu);
    std::string isas;
    for (std::string_view isa : kernels::compiled_isas()) {
        const bool here = std::find(available.begin(), available.end(), isa) != available.end();
        isas += fmt::format("{}{}{}", isas.empty() ? "" : ", ", isa, here ? "" : " (not on this processor)");
    }
#ifdef POWERINFER_LIBEDIT
    const std::string line_editor = "libedit " POWERINFER_LIBEDIT;
#else
    const std::string line_editor = "no line editor";
#endif
#if defined(__clang__)
    const std::string compiler = fmt::format("clang {}", __clang_version__);
#else
    const std::string compiler = fmt::format("g++ {}", __VERSION__);
#endif
    return fmt::format(
        "version: {} ({})\n"
        "built with {}\n"
        "processor: {}, {} cores, {} threads\n"
        "instruction sets: {}; best here: {}\n"
        "libraries: fmt {}.{}.{}, nlohmann-json {}.{}.{}, PCRE2 {}, {}\n",
        powerinfer_version(), POWERINFER_COMMIT, compiler, cpu.name, cpu.n_physical, cpu.n_usable, isas,
        available.front(), FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100,
        NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, PCRE2_VERSION,
        line_editor);
}

}  // namespace powerinfer::tools
