// A file as read-only memory. Pages are read by the operating system when touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace powerinfer {

/// Movable owner of a read-only mapping. Errors name the path and the system's reason.
class MappedFile {
  public:
    MappedFile() = default;
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    const std::string& path() const { return path_; }
    std::span<const uint8_t> bytes() const { return {data_, size_}; }

    /// Lets go of the whole pages within [begin, begin + n), which must lie in the mapping: they stop counting as this
    /// process's memory and are read again if they are touched again.
    void release(const void* begin, size_t n) const;
    /// Pins all pages in memory. Returns false, with errno set, where the system refuses.
    bool lock() const;

  private:
    std::string path_;
    const uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace powerinfer
