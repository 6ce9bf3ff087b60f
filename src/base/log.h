// Short ways to use the callbacks of <powerinfer/callbacks.h>. The library itself never prints.
#pragma once

#include <fmt/format.h>
#include <powerinfer/callbacks.h>

#include <string_view>
#include <utility>

namespace powerinfer {

template <class... Args>
void log(const LogSink& sink, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (sink) sink(level, fmt::format(format, std::forward<Args>(args)...));
}

/// Reports progress if anybody listens; throws Error{cancelled} when the listener wants to stop.
void report(const Progress& progress, double share, std::string_view what);

}  // namespace powerinfer
