#include "base/memory.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace powerinfer {

uint64_t available_memory() {
    std::ifstream info("/proc/meminfo");
    std::string key, unit;
    for (uint64_t kib = 0; info >> key >> kib; std::getline(info, unit)) {
        if (key == "MemAvailable:") return kib << 10;
    }
#if defined(_SC_AVPHYS_PAGES)
    const long pages = ::sysconf(_SC_AVPHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
#endif
    return 0;
}

}  // namespace powerinfer
