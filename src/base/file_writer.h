// Writing a file so that its final name appears only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace powerinfer {

/// Writes to "<path>.partial-<pid>" and renames on commit(). A writer that is destroyed without commit() removes
/// its temporary file, so an error, a full disk or a cancelled run leaves nothing behind. Every failed system
/// call throws Error{io} with the path and the system's reason, and so does a path that names a folder, a device,
/// a pipe or a file without write permission. Of a link, the target is written.
class FileWriter {
  public:
    explicit FileWriter(const std::string& path);
    ~FileWriter();
    FileWriter(const FileWriter&) = delete;
    FileWriter& operator=(const FileWriter&) = delete;

    void write(const void* data, size_t size);
    /// Writes zero bytes until the position is a multiple of `alignment`.
    void pad_to(size_t alignment);
    /// Overwrites bytes that were written before; the position at the end of the file is kept.
    void rewrite(uint64_t offset, const void* data, size_t size);
    /// Hands everything to the system, so that the temporary file can be read back.
    void flush();
    uint64_t position() const { return position_; }
    const std::string& temporary_path() const { return temporary_; }

    /// Flushes to the disk and gives the file its final name.
    void commit();

  private:
    std::string path_, temporary_;
    int fd_ = -1;
    uint64_t position_ = 0;
    std::string buffer_;
};

}  // namespace powerinfer
