#include "tools/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

std::FILE* g_log_file = nullptr;  // as much a part of the process as stderr is

}  // namespace

LogSink log_to_stderr(int verbosity) {
    return [verbosity](LogLevel level, std::string_view line) {
        const int needed = level == LogLevel::warning ? 2 : level == LogLevel::info ? 3 : 4;
        if (verbosity >= needed)
            say("{}{}\n", level == LogLevel::warning ? "warning: " : "", line);
    };
}

void print_now(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        fail(ErrorKind::io, "cannot write to standard output: {}", std::strerror(errno));
}

void open_log_file(const std::string& path, bool append) {
    g_log_file = std::fopen(path.c_str(), append ? "ae" : "we");
    if (!g_log_file) fail(ErrorKind::io, "cannot write the log file '{}': {}", path, std::strerror(errno));
    std::setvbuf(g_log_file, nullptr, _IOLBF, 0);
}

void say(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    if (g_log_file) std::fwrite(text.data(), 1, text.size(), g_log_file);
}

void hold_standard_streams() {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) != -1) continue;
        // The lowest free number is the one wanted, as those below are taken by now. Read-only makes stdout fail.
        const int opened = ::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY);
        if (opened != -1 && opened != number) ::close(opened);
    }
}

void require_model(const Arguments& a) {
    if (a.model.path.empty()) fail(ErrorKind::bad_argument, "--model is required");
}

void require_no_words(const Arguments& a) {
    if (!a.words.empty())
        fail(ErrorKind::bad_argument, "'{}' belongs to no option; a text with spaces needs quotes", a.words.front());
}

}  // namespace powerinfer::tools
