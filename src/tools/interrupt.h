// Ctrl-C as a question that long work asks, instead of the end of the process.
#pragma once

#include "base/log.h"

namespace powerinfer::tools {

enum class Watched {
    interrupt,  ///< Ctrl-C
    every_end,  ///< and what else asks a program to end: SIGTERM, SIGHUP
};

/// While one exists, SIGINT is counted instead of killing; the former handling comes back when it goes away.
class InterruptWatch {
  public:
    explicit InterruptWatch(Watched watched = Watched::interrupt);
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    /// True if a watched signal came since the last call.
    bool take();
};

/// Waits until standard input can be read. False when a watched signal came first, or since the last take().
bool wait_for_input();

/// The signal that came last.
int stopping_signal();

/// Shows the share done on stderr (one line that is overwritten on a terminal, nothing elsewhere) and asks for a stop
/// after a watched signal. An InterruptWatch must exist while it is in use.
Progress progress_on_terminal(InterruptWatch& watch, int verbosity);

}  // namespace powerinfer::tools
