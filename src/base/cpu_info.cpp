#include "base/cpu_info.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace powerinfer {
namespace {

/// CPUs granted by the cgroup (v2) quota of this process, rounded up, or `otherwise` where there is none.
int cgroup_cpus(int otherwise) {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return otherwise;
    const double cpus = std::stod(quota) / period;
    return std::clamp(static_cast<int>(cpus + 0.999), 1, otherwise);
}

void count_cpus(CpuInfo& cpu) {
#if defined(__linux__)
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    std::set<std::string> cores;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &mask)) continue;
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/";
        std::string siblings = std::to_string(i);
        std::ifstream(folder + "thread_siblings_list") >> siblings;
        cores.insert(siblings);
    }
    cpu.n_usable = cgroup_cpus(std::max(1, CPU_COUNT(&mask)));
    cpu.n_physical = std::clamp(static_cast<int>(cores.size()), 1, cpu.n_usable);
#endif
}

#if defined(__x86_64__)
bool bit(unsigned word, int n) {
    return (word >> n & 1u) != 0;
}

void read_features(CpuInfo& cpu) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27)) return;  // no OSXSAVE: no vector state
    const bool fma = bit(c, 12), f16c = bit(c, 29);
    unsigned xcr_low = 0, xcr_high = 0;
    __asm__ volatile("xgetbv" : "=a"(xcr_low), "=d"(xcr_high) : "c"(0));
    const bool ymm = (xcr_low & 0x06u) == 0x06u, zmm = (xcr_low & 0xE6u) == 0xE6u;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    cpu.avx2 = ymm && fma && f16c && bit(b, 5);
    cpu.avx512 = zmm && cpu.avx2 && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && bit(c, 11);
    unsigned a1 = 0, b1 = 0, c1 = 0, d1 = 0;
    if (a >= 1 && __get_cpuid_count(7, 1, &a1, &b1, &c1, &d1)) {
        cpu.avx_vnni = cpu.avx2 && bit(a1, 4);
        cpu.avx512_bf16 = cpu.avx512 && bit(a1, 5);
    }
    unsigned brand[12] = {};
    if (__get_cpuid(0x80000000u, &a, &b, &c, &d) && a >= 0x80000004u) {
        for (unsigned i = 0; i < 3; ++i)
            __get_cpuid(0x80000002u + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2], &brand[4 * i + 3]);
        const std::string text(reinterpret_cast<const char*>(brand), sizeof brand);
        std::istringstream words(text.c_str());
        std::string word;
        cpu.name.clear();
        while (words >> word) cpu.name += (cpu.name.empty() ? "" : " ") + word;
    }
}
#elif defined(__aarch64__) && defined(__linux__)
void read_features(CpuInfo& cpu) {
    cpu.neon_dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
    cpu.neon_i8mm = cpu.neon_dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
}
#elif defined(__aarch64__) && defined(__APPLE__)
void read_features(CpuInfo& cpu) {
    cpu.neon_dotprod = true;  // of every processor that these systems run on
}
#else
void read_features(CpuInfo&) {}
#endif

}  // namespace

CpuInfo read_cpu_info() {
    CpuInfo cpu;
    cpu.name = "unknown";
    count_cpus(cpu);
    read_features(cpu);
    return cpu;
}

}  // namespace powerinfer
