// A program at a terminal of its own: what a person would see and type.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "e2e/process.h"

namespace powerinfer::test {

class Terminal {
  public:
    explicit Terminal(std::vector<std::string> words, const std::string& home) {
        words[0] = program(words[0]);
        std::vector<char*> argv;
        for (std::string& w : words) argv.push_back(w.data());
        argv.push_back(nullptr);
        master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) throw std::runtime_error("no terminal");
        const std::string name = ::ptsname(master_);
        child_ = ::fork();
        if (child_ != 0) return;
        ::setsid();
        const int slave = ::open(name.c_str(), O_RDWR);  // becomes the controlling terminal
        const winsize size = {40, 120, 0, 0};
        ::ioctl(slave, TIOCSCTTY, 0);
        ::ioctl(slave, TIOCSWINSZ, &size);
        for (int fd = 0; fd < 3; ++fd) ::dup2(slave, fd);
        ::close(slave);
        std::signal(SIGINT, SIG_DFL);
        ::setenv("HOME", home.c_str(), 1);
        ::unsetenv("XDG_STATE_HOME");
        ::setenv("TERM", "dumb", 1);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ~Terminal() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, nullptr, 0);
        }
        ::close(master_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(const std::string& text) {
        if (::write(master_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) throw std::runtime_error("not typed");
    }
    void ctrl_c() { type("\x03"); }
    /// Ctrl-D, once the program reads key by key: a prompt appears a moment before that, and what is typed then would be
    /// an end of line to the system and nothing to the program.
    void ctrl_d() {
        termios mode{};
        for (int i = 0; i < 2000 && (::tcgetattr(master_, &mode) != 0 || (mode.c_lflag & ICANON)); ++i) ::usleep(5000);
        type("\x04");
    }

    /// Reads until `n` bytes more than before have come.
    bool see(size_t n) {
        const size_t wanted = seen_ + n;
        return read_until([&] { return all_.size() >= wanted; }, wanted);
    }
    /// Reads until the text appears after what was waited for before.
    bool see(const std::string& text) {
        size_t at = std::string::npos;
        const bool found = read_until([&] { return (at = all_.find(text, seen_)) != std::string::npos; }, seen_);
        if (found) seen_ = at + text.size();
        return found;
    }
    /// The exit status; -1 if it does not end by itself.
    int status() {
        read_until([&] { return false; }, seen_);
        for (int i = 0; i < 2000; ++i) {
            int how = 0;
            if (::waitpid(child_, &how, WNOHANG) == child_) {
                child_ = -1;
                return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
            }
            ::usleep(5000);
        }
        return -1;
    }
    const std::string& all() const { return all_; }

  private:
    template <class Done>
    bool read_until(Done done, size_t seen) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSanitized ? 120 : 30);
        while (!done()) {
            pollfd fd = {master_, POLLIN, 0};
            if (std::chrono::steady_clock::now() > end) return false;
            if (::poll(&fd, 1, 100) <= 0) continue;
            char buffer[4096];
            const ssize_t n = ::read(master_, buffer, sizeof buffer);
            if (n <= 0) return false;  // it has ended
            all_.append(buffer, static_cast<size_t>(n));
        }
        seen_ = seen;
        return true;
    }

    int master_ = -1;
    pid_t child_ = -1;
    std::string all_;
    size_t seen_ = 0;  ///< up to here the output was waited for
};

}  // namespace powerinfer::test
