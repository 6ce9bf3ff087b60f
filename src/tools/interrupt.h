// Ctrl-C as a question that long work asks, instead of the end of the process.
#pragma once

#include "base/log.h"

namespace powerinfer::tools {

/// While one exists, SIGINT is counted instead of killing; the former handling comes back when it goes away.
class InterruptWatch {
  public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    /// True if SIGINT came since the last call.
    bool take();
};

/// Shows the share done on stderr (one line that is overwritten on a terminal, nothing elsewhere) and asks for a stop
/// after SIGINT. An InterruptWatch must exist while it is in use.
Progress progress_on_terminal(InterruptWatch& watch, int verbosity);

}  // namespace powerinfer::tools
