// How the library speaks: through callbacks that its caller owns. The library itself never prints.
#pragma once

#include <functional>
#include <string_view>

namespace powerinfer {

enum class LogLevel { debug, info, warning };

/// Receives whole lines without a newline. An empty function means silence.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Called during long work with the share done in [0, 1] and what is being done.
/// Returning false asks for a stop; the worker then throws Error{cancelled} and leaves nothing half written.
using Progress = std::function<bool(double share, std::string_view what)>;

}  // namespace powerinfer
