#include "tools/interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iterator>

#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

volatile std::sig_atomic_t g_interrupts = 0;  // a signal handler can reach nothing else
volatile std::sig_atomic_t g_last = SIGINT;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction g_former[std::size(kSignals)];
size_t g_watched = 0;

void count(int number) {
    g_interrupts = g_interrupts + 1;
    g_last = number;
}

}  // namespace

InterruptWatch::InterruptWatch(Watched watched) {
    g_interrupts = 0;
    g_watched = watched == Watched::every_end ? std::size(kSignals) : 1;
    struct sigaction action = {};
    action.sa_handler = count;  // without SA_RESTART: a blocked read returns
    for (size_t i = 0; i < g_watched; ++i) {
        ::sigaction(kSignals[i], nullptr, &g_former[i]);
        // What the caller wants ignored (nohup) stays so.
        if (g_former[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
    }
}

InterruptWatch::~InterruptWatch() {
    for (size_t i = 0; i < g_watched; ++i) ::sigaction(kSignals[i], &g_former[i], nullptr);
}

int stopping_signal() { return g_last; }

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
