#include "tools/interrupt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
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

// Wakes a thread that waits in poll(), whichever thread the signal reached and however short before.
int g_wake[2] = {-1, -1};

void count(int number) {
    const int kept = errno;
    g_interrupts = g_interrupts + 1;
    g_last = number;
    [[maybe_unused]] const ssize_t ignored = ::write(g_wake[1], "", 1);
    errno = kept;
}

}  // namespace

InterruptWatch::InterruptWatch(Watched watched) {
    if (g_wake[0] == -1 && ::pipe(g_wake) == 0)
        for (const int end : g_wake) {
            ::fcntl(end, F_SETFL, O_NONBLOCK);
            ::fcntl(end, F_SETFD, FD_CLOEXEC);
        }
    take();
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

bool wait_for_input() {
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {g_wake[0], POLLIN, 0}};
    while (::poll(fds, 2, -1) < 0 && errno == EINTR) {}
    return fds[1].revents == 0;
}

bool InterruptWatch::take() {
    char old[64];
    while (::read(g_wake[0], old, sizeof old) > 0) {}
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
