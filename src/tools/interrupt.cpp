#include "tools/interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

volatile std::sig_atomic_t g_interrupts = 0;  // a signal handler can reach nothing else
struct sigaction g_former;

void count(int) { g_interrupts = g_interrupts + 1; }

}  // namespace

InterruptWatch::InterruptWatch() {
    g_interrupts = 0;
    struct sigaction action = {};
    action.sa_handler = count;  // without SA_RESTART: a blocked read returns
    ::sigaction(SIGINT, &action, &g_former);
}

InterruptWatch::~InterruptWatch() { ::sigaction(SIGINT, &g_former, nullptr); }

bool InterruptWatch::take() {
    const bool came = g_interrupts != 0;
    g_interrupts = 0;
    return came;
}

Progress progress_on_terminal(InterruptWatch& watch, int verbosity) {
    const bool shown = verbosity >= 3 && ::isatty(STDERR_FILENO) != 0;
    return [&watch, shown, last = -1](double share, std::string_view what) mutable {
        const int percent = static_cast<int>(share * 100);
        if (shown && percent != last) {
            say("\r{:3d} % {:<60.60}{}", percent, what, percent == 100 ? "\n" : "");
            std::fflush(stderr);
            last = percent;
        }
        return !watch.take();
    };
}

}  // namespace powerinfer::tools
