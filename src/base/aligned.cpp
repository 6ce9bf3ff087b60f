#include "base/aligned.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace powerinfer {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{8} << 20;  ///< bytes of a large buffer

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    // A large buffer begins at a huge page, so that the system can use those: a random or long read then costs fewer
    // walks through page tables. What is mapped before and behind it goes back.
    const bool huge = size >= kHugeFrom;
    const size_t mapped = size + (huge ? kHugePage : 0);
    void* p = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail(ErrorKind::out_of_memory, "the system has no {} bytes of memory left", size);
    data_ = static_cast<uint8_t*>(p);
    if (!huge) return;
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(p) % kHugePage) % kHugePage;
    data_ += before;
    if (before > 0) ::munmap(p, before);
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t used = (size + page - 1) / page * page;
    if (before + used < mapped) ::munmap(data_ + used, mapped - before - used);
#ifdef MADV_HUGEPAGE
    ::madvise(data_, size, MADV_HUGEPAGE);
#endif
}

AlignedBuffer::~AlignedBuffer() {
    if (data_) ::munmap(data_, size_);
}

}  // namespace powerinfer
