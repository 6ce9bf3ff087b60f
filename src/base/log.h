// How the library speaks: through callbacks that its caller owns. The library itself never prints.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace powerinfer {

enum class LogLevel { debug, info, warning };

/// Receives whole lines without a newline. An empty function means silence.
using LogSink = std::function<void(LogLevel, std::string_view)>;

template <class... Args>
void log(const LogSink& sink, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (sink) sink(level, fmt::format(format, std::forward<Args>(args)...));
}

/// Called during long work with the share done in [0, 1] and what is being done.
/// Returning false asks for a stop; the worker then throws Error{cancelled} and leaves nothing half written.
using Progress = std::function<bool(double share, std::string_view what)>;

/// Reports progress if anybody listens; throws Error{cancelled} when the listener wants to stop.
void report(const Progress& progress, double share, std::string_view what);

}  // namespace powerinfer
