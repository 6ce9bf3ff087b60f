// Where measurements of this machine are kept between runs.
#pragma once

#include <filesystem>
#include <string>

#include "base/log.h"

namespace powerinfer::tools {

/// A file of that name among the user's caches; empty where there is no such folder.
std::filesystem::path cache_file(const std::string& name);

/// Writes it, and says in the log where that is not possible. An empty path is passed over.
void keep_in_cache(const std::filesystem::path& path, const std::string& text, const LogSink& log);

}  // namespace powerinfer::tools
