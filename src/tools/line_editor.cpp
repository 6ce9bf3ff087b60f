#include "tools/line_editor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <system_error>

#include "tools/interrupt.h"

#ifdef POWERINFER_LIBEDIT
#include <histedit.h>
#endif

namespace powerinfer::tools {
namespace {

/// Reads byte by byte, so that nothing is taken from a pipe beyond the line.
LineResult read_plain(std::string& line) {
    line.clear();
    for (;;) {
        char c;
        if (!wait_for_input()) return LineResult::interrupted;
        const ssize_t n = ::read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return line.empty() ? LineResult::end_of_input : LineResult::line;
        if (c == '\n') return LineResult::line;
        line += c;
    }
}

}  // namespace

#ifdef POWERINFER_LIBEDIT

struct LineEditor::Impl {
    EditLine* edit = nullptr;
    History* history = nullptr;
    std::string file, prompt;
    bool interrupted = false;

    static Impl& of(EditLine* e) {
        void* data = nullptr;
        el_get(e, EL_CLIENTDATA, &data);
        return *static_cast<Impl*>(data);
    }
    static char* show_prompt(EditLine* e) { return of(e).prompt.data(); }

    /// One character from the terminal. The library's own reader starts again after a signal; this one gives up.
    static int read_character(EditLine* e, wchar_t* out) {
        std::mbstate_t state = {};
        for (;;) {
            char c;
            if (!wait_for_input()) {
                of(e).interrupted = true;
                return -1;
            }
            const ssize_t n = ::read(STDIN_FILENO, &c, 1);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return static_cast<int>(n);
            const size_t used = std::mbrtowc(out, &c, 1, &state);
            if (used == static_cast<size_t>(-2)) continue;  // more bytes belong to it
            if (used == static_cast<size_t>(-1)) state = {};
            else return 1;
        }
    }
};

LineEditor::LineEditor(const std::string& history_file, bool simple) : impl_(std::make_unique<Impl>()) {
    if (simple || !::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO)) return;
    if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
    impl_->edit = el_init("powerinfer", stdin, stdout, stderr);
    if (!impl_->edit) return;
    el_set(impl_->edit, EL_CLIENTDATA, impl_.get());
    el_set(impl_->edit, EL_PROMPT, Impl::show_prompt);
    el_set(impl_->edit, EL_EDITOR, "emacs");
    el_set(impl_->edit, EL_GETCFN, Impl::read_character);
    impl_->history = history_init();
    HistEvent event;
    history(impl_->history, &event, H_SETSIZE, 1000);
    history(impl_->history, &event, H_SETUNIQUE, 1);
    el_set(impl_->edit, EL_HIST, history, impl_->history);
    impl_->file = history_file;
    if (!history_file.empty()) history(impl_->history, &event, H_LOAD, history_file.c_str());
    el_source(impl_->edit, nullptr);  // the user's own key bindings
}

LineEditor::~LineEditor() {
    if (impl_->history) {
        HistEvent event;
        if (!impl_->file.empty()) {
            std::error_code ignored;
            std::filesystem::create_directories(std::filesystem::path(impl_->file).parent_path(), ignored);
            history(impl_->history, &event, H_SAVE, impl_->file.c_str());
        }
        history_end(impl_->history);
    }
    if (impl_->edit) el_end(impl_->edit);
}

LineResult LineEditor::read(const std::string& prompt, std::string& line) {
    if (!impl_->edit) {
        fmt::print("{}", prompt);
        std::fflush(stdout);
        return read_plain(line);
    }
    std::fflush(stdout);
    impl_->prompt = prompt;
    impl_->interrupted = false;
    int n = 0;
    const char* text = el_gets(impl_->edit, &n);
    if (!text || n <= 0) {
        if (!impl_->interrupted) return LineResult::end_of_input;
        el_reset(impl_->edit);
        return LineResult::interrupted;
    }
    line.assign(text, static_cast<size_t>(n));
    if (line.ends_with('\n')) line.pop_back();
    return LineResult::line;
}

void LineEditor::remember(const std::string& entry) {
    HistEvent event;
    if (impl_->history && entry.find_first_not_of(" \n") != std::string::npos)
        history(impl_->history, &event, H_ENTER, entry.c_str());
}

#else

struct LineEditor::Impl {};
LineEditor::LineEditor(const std::string&, bool) {}
LineEditor::~LineEditor() = default;

LineResult LineEditor::read(const std::string& prompt, std::string& line) {
    fmt::print("{}", prompt);
    std::fflush(stdout);
    return read_plain(line);
}

void LineEditor::remember(const std::string&) {}

#endif

std::string history_path(const std::string& name) {
    std::filesystem::path folder;
    if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state) folder = state;
    else if (const char* home = std::getenv("HOME"); home && *home) folder = std::filesystem::path(home) / ".local/state";
    else return {};
    return (folder / "powerinfer" / name).string();
}

}  // namespace powerinfer::tools
