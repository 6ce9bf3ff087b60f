#include "tools/processors.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#ifdef __linux__
#include <sched.h>
#endif

#include "base/error.h"

namespace powerinfer::tools {
namespace {

void keep_to(const std::vector<int>& cpus) {
#ifdef __linux__
    cpu_set_t allowed, wanted;
    CPU_ZERO(&allowed);
    CPU_ZERO(&wanted);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    for (const int cpu : cpus)
        if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &wanted);
    if (CPU_COUNT(&wanted) == 0)
        fail(ErrorKind::bad_argument, "--cpu-mask and --cpu-range name no processor that this process may use");
    if (::sched_setaffinity(0, sizeof wanted, &wanted) != 0)
        fail(ErrorKind::bad_argument, "the system does not let this process choose its processors: {}", std::strerror(errno));
#else
    fail(ErrorKind::unsupported, "this system has no way to choose processors ({} were named)", cpus.size());
#endif
}

}  // namespace

void place_process(const ProcessorArgs& p, const LogSink& log) {
    if (!p.cpus.empty()) keep_to(p.cpus);
    static constexpr int kNice[] = {10, 0, -5, -10, -20};  // from low to the highest
    if (p.priority != 0 && ::setpriority(PRIO_PROCESS, 0, kNice[p.priority + 1]) != 0)
        powerinfer::log(log, LogLevel::warning, "--prio {} is not granted by the system: {}", p.priority, std::strerror(errno));
}

}  // namespace powerinfer::tools
