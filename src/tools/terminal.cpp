#include "tools/terminal.h"

#include <cstdio>

#include "base/error.h"

namespace powerinfer::tools {

LogSink log_to_stderr(int verbosity) {
    return [verbosity](LogLevel level, std::string_view line) {
        const int needed = level == LogLevel::warning ? 2 : level == LogLevel::info ? 3 : 4;
        if (verbosity >= needed)
            fmt::print(stderr, "{}{}\n", level == LogLevel::warning ? "warning: " : "", line);
    };
}

void print_now(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void require_model(const Arguments& a) {
    if (a.model.path.empty()) fail(ErrorKind::bad_argument, "--model is required");
}

void require_no_words(const Arguments& a) {
    if (!a.words.empty())
        fail(ErrorKind::bad_argument, "'{}' belongs to no option; a text with spaces needs quotes", a.words.front());
}

}  // namespace powerinfer::tools
