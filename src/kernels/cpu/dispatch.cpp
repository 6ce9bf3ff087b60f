// Chooses the table of an instruction set. CMake says which sets are in the build (POWERINFER_KERNELS_X86, POWERINFER_KERNELS_ARM).
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/kernel_sets.h"

namespace powerinfer::kernels {
namespace {

Ops scalar_table() {
    Ops table;
    table.isa = "scalar";
    scalar::add_matrix(table);
    scalar::add_grouped(table);
    scalar::add_vector(table);
    scalar::add_attention(table);
    return table;
}

bool always(const CpuInfo&) {
    return true;
}

#if POWERINFER_KERNELS_X86
Ops avx2_table() {
    Ops table = scalar_table();
    table.isa = "avx2";
    avx2::add_dot_float(table);
    avx2::add_dot_q8_32(table);
    avx2::add_dot_q8_256(table);
    avx2::add_axpy(table);
    avx2::add_grouped(table);
    avx2::add_vector(table);
    avx2::add_attention(table);
    return table;
}

Ops avxvnni_table() {
    Ops table = avx2_table();
    table.isa = "avxvnni";
    avxvnni::add_dot_q8_32(table);
    avxvnni::add_dot_q8_256(table);
    return table;
}

Ops avx512_table() {
    Ops table = scalar_table();
    table.isa = "avx512";
    avx512::add_dot_float(table);
    avx512::add_dot_q8_32(table);
    avx512::add_dot_q8_256(table);
    avx512::add_axpy(table);
    avx2::add_grouped(table);  // a processor with AVX-512 runs these too; they wait for memory
    avx512::add_vector(table);
    avx512::add_attention(table);
    return table;
}

bool has_avx2(const CpuInfo& cpu) {
    return cpu.avx2;
}

bool has_avxvnni(const CpuInfo& cpu) {
    return cpu.avx_vnni;
}

bool has_avx512(const CpuInfo& cpu) {
    return cpu.avx512;
}
#endif

#if POWERINFER_KERNELS_ARM
Ops neon_table() {
    Ops table = scalar_table();
    table.isa = "neon";
    neon::add_dot_float(table);
    neon::add_dot_q8_32(table);
    neon::add_dot_q8_256(table);
    neon::add_axpy(table);
    neon::add_grouped(table);
    neon::add_vector(table);
    neon::add_attention(table);
    return table;
}

Ops neon_i8mm_table() {
    Ops table = neon_table();
    table.isa = "neon_i8mm";
    neon_i8mm::add_dot_q8_32(table);
    neon_i8mm::add_dot_q8_256(table);
    return table;
}

bool has_neon(const CpuInfo& cpu) {
    return cpu.neon_dotprod;
}

bool has_neon_i8mm(const CpuInfo& cpu) {
    return cpu.neon_i8mm;
}
#endif

struct Set {
    Ops ops;
    bool (*runs_on)(const CpuInfo&);
};

/// Best first.
const std::vector<Set>& sets() {
    static const std::vector<Set> all = {
#if POWERINFER_KERNELS_X86
        {avx512_table(), has_avx512},
        {avxvnni_table(), has_avxvnni},
        {avx2_table(), has_avx2},
#endif
#if POWERINFER_KERNELS_ARM
        {neon_i8mm_table(), has_neon_i8mm},
        {neon_table(), has_neon},
#endif
        {scalar_table(), always},
    };
    return all;
}

}  // namespace

std::vector<std::string_view> compiled_isas() {
    std::vector<std::string_view> names;
    for (const Set& set : sets()) names.push_back(set.ops.isa);
    return names;
}

std::vector<std::string_view> available_isas(const CpuInfo& cpu) {
    std::vector<std::string_view> names;
    for (const Set& set : sets()) {
        if (set.runs_on(cpu)) names.push_back(set.ops.isa);
    }
    return names;
}

const Ops& ops(const CpuInfo& cpu, std::string_view isa) {
    const auto& all = sets();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Set& set) {
        return isa.empty() ? set.runs_on(cpu) : set.ops.isa == isa;
    });
    if (found == all.end()) {
        fail(ErrorKind::unsupported,
             "The instruction set \"{}\" is not one that this program was built with; expected one of {}.",
             isa, fmt::join(compiled_isas(), ", "));
    }
    if (!found->runs_on(cpu)) {
        fail(ErrorKind::unsupported,
             "The instruction set \"{}\" is missing on this processor ({}); it can run {}.", isa, cpu.name,
             fmt::join(available_isas(cpu), ", "));
    }
    return found->ops;
}

}  // namespace powerinfer::kernels
