// Runs a program as a user would and keeps what it wrote.
#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace powerinfer::test {

struct Output {
    int status = -1;  ///< exit status, or 128 + signal as a shell says it
    std::string out, err;
    double seconds = 0;             ///< from start to end
    double cpu_seconds = 0;         ///< that all its threads computed
    int64_t most_resident_bytes = 0;  ///< the largest resident size it had
};

struct RunOptions {
    std::string input = {};  ///< what stdin holds
    std::vector<std::pair<std::string, std::string>> environment = {};
    std::string folder = {};  ///< working folder
    int timeout_s = 120;  ///< then it is killed
    /// Called with all that was written so far whenever it grows; returns a signal to send, or 0.
    std::function<int(const Output& so_far)> on_output = {};
    /// Called every few milliseconds; returns a signal to send, or 0.
    std::function<int()> on_turn = {};
    uint64_t most_address_space = 0;  ///< bytes it may map; 0 = as many as it likes
    uint64_t most_file_size = 0;      ///< bytes of the largest file it may write; 0 = as many as it likes
    /// In the child before it becomes the program; false gives status 127.
    std::function<bool()> before = {};
};

/// True where a sanitizer takes address space, memory and time of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// The path of a built program.
inline std::string program(const std::string& name) {
    return (std::filesystem::path(POWERINFER_BIN_DIR) / name).string();
}

/// words[0] is the program: a path, or a name in the folder of built programs.
inline Output run(std::vector<std::string> words, const RunOptions& options = {}) {
    if (words[0].find('/') == std::string::npos) words[0] = program(words[0]);
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    int in[2], out[2], err[2];
    if (::pipe(in) || ::pipe(out) || ::pipe(err)) throw std::runtime_error("no pipes");
    std::signal(SIGPIPE, SIG_IGN);
    const auto limit = [](int what, uint64_t bytes) {
        const rlimit r = {bytes, bytes};
        return bytes == 0 || ::setrlimit(static_cast<__rlimit_resource_t>(what), &r) == 0;
    };
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGPIPE, SIG_DFL);
        std::signal(SIGINT, SIG_DFL);
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::dup2(err[1], 2);
        for (const int fd : {in[0], in[1], out[0], out[1], err[0], err[1]}) ::close(fd);
        for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
        if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(127);
        if (options.before && !options.before()) ::_exit(127);
        if (!limit(RLIMIT_AS, options.most_address_space) || !limit(RLIMIT_FSIZE, options.most_file_size)) ::_exit(127);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    for (const int fd : {in[0], out[1], err[1]}) ::close(fd);
    std::thread writer([&] {
        for (size_t done = 0; done < options.input.size();) {
            const ssize_t n = ::write(in[1], options.input.data() + done, options.input.size() - done);
            if (n <= 0) break;
            done += static_cast<size_t>(n);
        }
        ::close(in[1]);
    });

    Output result;
    struct pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    const auto end = start + std::chrono::seconds(options.timeout_s);
    for (int open = 2; open > 0;) {
        if (std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
        ::poll(fds, 2, options.on_turn ? 2 : 200);
        if (options.on_turn)
            if (const int signal = options.on_turn()) ::kill(child, signal);
        for (int i = 0; i < 2; ++i) {
            if (fds[i].fd < 0 || !(fds[i].revents & (POLLIN | POLLHUP))) continue;
            char buffer[4096];
            const ssize_t n = ::read(fds[i].fd, buffer, sizeof buffer);
            if (n <= 0) {
                ::close(fds[i].fd);
                fds[i].fd = -1;
                --open;
                continue;
            }
            (i == 0 ? result.out : result.err).append(buffer, static_cast<size_t>(n));
            if (options.on_output)
                if (const int signal = options.on_output(result)) ::kill(child, signal);
        }
    }
    writer.join();
    int status = 0;
    rusage used = {};
    ::wait4(child, &status, 0, &used);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto seconds_of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    result.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    result.most_resident_bytes = int64_t{used.ru_maxrss} * 1024;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

/// A folder that is empty at first and removed at the end.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "powerinfer-e2e-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
        path_ = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const { return path_; }
    /// Names of the files in it.
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            names.push_back(entry.path().filename().string());
        return names;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace powerinfer::test
