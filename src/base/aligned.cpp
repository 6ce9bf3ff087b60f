#include "base/aligned.h"

#include <sys/mman.h>

#include "base/error.h"

namespace powerinfer {

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail(ErrorKind::out_of_memory, "the system has no {} bytes of memory left", size);
#ifdef MADV_HUGEPAGE
    if (size >= size_t{8} << 20) ::madvise(p, size, MADV_HUGEPAGE);
#endif
    data_ = static_cast<uint8_t*>(p);
}

AlignedBuffer::~AlignedBuffer() {
    if (data_) ::munmap(data_, size_);
}

}  // namespace powerinfer
