#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace powerinfer {

MappedFile::MappedFile(const std::string& path) : path_(path) {
    // A named pipe would be waited for until somebody writes into it.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fail(ErrorKind::io, "cannot open '{}': {}", path, std::strerror(errno));
    struct stat st {};
    if (::fstat(fd, &st) != 0) {
        const int error = errno;
        ::close(fd);
        fail(ErrorKind::io, "cannot read the size of '{}': {}", path, std::strerror(error));
    }
    if (!S_ISREG(st.st_mode)) {
        ::close(fd);
        fail(ErrorKind::io, "'{}' is not a regular file", path);
    }
    size_ = static_cast<size_t>(st.st_size);
    if (size_ > 0) {
        void* p = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
        const int error = errno;
        ::close(fd);
        if (p == MAP_FAILED) fail(ErrorKind::io, "cannot map '{}': {}", path, std::strerror(error));
        data_ = static_cast<const uint8_t*>(p);
    } else {
        ::close(fd);
    }
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(const_cast<uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

void MappedFile::release(const void* begin, size_t n) const {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const auto first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
    const auto last = (reinterpret_cast<uintptr_t>(begin) + n) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

bool MappedFile::lock() const {
    return data_ == nullptr || ::mlock(data_, size_) == 0;
}

}  // namespace powerinfer
