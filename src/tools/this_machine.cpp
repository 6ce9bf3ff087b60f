#include "tools/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/cpu_info.h"
#include "base/error.h"
#include "base/memory.h"
#include "tools/bandwidth.h"
#include "tools/cache_folder.h"
#include "tools/numbers.h"

namespace powerinfer::tools {
namespace {

namespace fs = std::filesystem;

plan::Machine measure(const std::string& processor, int n_threads, const LogSink& log) {
    plan::Machine m;
    m.name = "this";
    m.source = "reading measured here, best of five; what picking rows leaves of it and the disk are assumed";
    m.processor = processor;
    m.memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    m.reserved = m.memory / 16;
    powerinfer::log(log, LogLevel::info, "measuring how fast this machine reads memory");
    constexpr size_t kMost = size_t{2} << 30;
    const uint64_t available = available_memory();
    const size_t size = available == 0 ? kMost : static_cast<size_t>(std::min<uint64_t>(kMost, available / 4));
    m.rates = {.bandwidth = measure_read_bandwidth(n_threads, size), .row_share = 0.9, .macs_per_s = 0};
    m.disk_bandwidth = 3e9;
    plan::check(m, m.name);
    return m;
}

plan::Machine this_machine(int n_threads, const LogSink& log) {
    const CpuInfo cpu = read_cpu_info();
    const int threads = n_threads > 0 ? n_threads : cpu.n_physical;
    const std::string processor = fmt::format("{}, {} threads", cpu.name, threads);
    const fs::path path = cache_file("machine.json");
    std::error_code ignored;
    if (!path.empty() && fs::exists(path, ignored)) {
        try {
            plan::Machine kept = plan::machine_from_json(read_text_file(path.string()), path.string());
            if (kept.processor == processor) return kept;
        } catch (const Error& e) {
            powerinfer::log(log, LogLevel::warning, "measuring again: {}", e.what());
        }
    }
    const plan::Machine m = measure(processor, threads, log);
    keep_in_cache(path, plan::to_json(m), log);
    return m;
}

}  // namespace

plan::Machine machine_named(const std::string& word, int n_threads, const LogSink& log) {
    if (word == "this") return this_machine(n_threads, log);
    std::error_code ignored;
    if (fs::is_regular_file(word, ignored)) return plan::machine_from_json(read_text_file(word), word);
    return plan::find_machine(word);
}

}  // namespace powerinfer::tools
