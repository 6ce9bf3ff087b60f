#include "base/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace powerinfer {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

/// A link to a file stays a link: what it points at is written.
std::string followed(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_symlink(path, ignored)) return path;
    const std::filesystem::path target = std::filesystem::canonical(path, ignored);
    return target.empty() ? path : target.string();
}

}  // namespace

FileWriter::FileWriter(const std::string& path)
    : path_(followed(path)), temporary_(path_ + ".partial-" + std::to_string(::getpid())) {
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
        fail(ErrorKind::io, "cannot write '{}': the folder '{}' does not exist", path, folder.string());
    if (std::filesystem::is_directory(path)) fail(ErrorKind::io, "cannot write '{}': it is a folder", path);
    if (std::filesystem::exists(path)) {
        // Giving the final name replaces what bears it, which must not happen to a device, a pipe or a protected file.
        if (!std::filesystem::is_regular_file(path))
            fail(ErrorKind::io, "cannot write '{}': it is not a regular file", path);
        if (::access(path.c_str(), W_OK) != 0)
            fail(ErrorKind::io, "cannot write '{}': {}", path, std::strerror(errno));
    }
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) fail(ErrorKind::io, "cannot write '{}': {}", path, std::strerror(errno));
    buffer_.reserve(kBufferBytes);
}

FileWriter::~FileWriter() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
}

void FileWriter::flush() {
    const char* p = buffer_.data();
    size_t left = buffer_.size();
    while (left > 0) {
        const ssize_t n = ::write(fd_, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(ErrorKind::io, "cannot write '{}': {}", path_, std::strerror(errno));
        p += n;
        left -= static_cast<size_t>(n);
    }
    buffer_.clear();
}

void FileWriter::write(const void* data, size_t size) {
    const char* p = static_cast<const char*>(data);
    position_ += size;
    while (size > 0) {
        const size_t n = std::min(size, kBufferBytes - buffer_.size());
        buffer_.append(p, n);
        p += n;
        size -= n;
        if (buffer_.size() == kBufferBytes) flush();
    }
}

void FileWriter::pad_to(size_t alignment) {
    const std::string zeros((alignment - position_ % alignment) % alignment, '\0');
    write(zeros.data(), zeros.size());
}

void FileWriter::rewrite(uint64_t offset, const void* data, size_t size) {
    flush();
    const char* p = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t n = ::pwrite(fd_, p, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(ErrorKind::io, "cannot write '{}': {}", path_, std::strerror(errno));
        p += n;
        offset += static_cast<uint64_t>(n);
        size -= static_cast<size_t>(n);
    }
}

void FileWriter::commit() {
    flush();
    if (::fsync(fd_) != 0) fail(ErrorKind::io, "cannot write '{}': {}", path_, std::strerror(errno));
    if (::close(std::exchange(fd_, -1)) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        ::unlink(temporary_.c_str());
        fail(ErrorKind::io, "cannot write '{}': {}", path_, std::strerror(error));
    }
}

}  // namespace powerinfer
