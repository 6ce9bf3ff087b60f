// Memory for numbers: aligned to cache lines, zero pages until touched, and counted by nobody else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace powerinfer {

/// Owns `size` bytes, aligned to 64 bytes (to a page for large sizes) and zero-filled. Large buffers take physical
/// memory only where they are touched. Throws Error{out_of_memory} with the size when the system has no more.
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(size_t size);
    ~AlignedBuffer();
    AlignedBuffer(AlignedBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& o) noexcept {
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        return *this;
    }

    uint8_t* data() { return data_; }
    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    template <class T>
    T* as() {
        return reinterpret_cast<T*>(data_);
    }
    template <class T>
    const T* as() const {
        return reinterpret_cast<const T*>(data_);
    }

  private:
    uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace powerinfer
