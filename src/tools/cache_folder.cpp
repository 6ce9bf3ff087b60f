#include "tools/cache_folder.h"

#include <cstdlib>
#include <exception>

#include "base/file_writer.h"

namespace powerinfer::tools {

namespace fs = std::filesystem;

fs::path cache_file(const std::string& name) {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (cache && cache[0] == '/') return fs::path(cache) / "powerinfer" / name;
    if (home && home[0] == '/') return fs::path(home) / ".cache" / "powerinfer" / name;
    return {};
}

void keep_in_cache(const fs::path& path, const std::string& text, const LogSink& log) {
    if (path.empty()) return;
    try {
        fs::create_directories(path.parent_path());
        FileWriter out(path.string());
        out.write(text.data(), text.size());
        out.commit();
    } catch (const std::exception& e) {
        powerinfer::log(log, LogLevel::warning, "the measurement is not kept: {}", e.what());
    }
}

}  // namespace powerinfer::tools
