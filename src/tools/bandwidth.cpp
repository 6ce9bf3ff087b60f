#include "tools/bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tools/numbers.h"
#include "tools/perf.h"

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
// Choosing among clones happens before a sanitizer is ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && defined(__gnu_linux__) && !SANITIZED
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

namespace powerinfer::tools {
namespace {

constexpr size_t kPiece = size_t{4} << 20;
constexpr size_t kLanes = 32;  ///< independent sums, so that loads do not wait for each other

/// Reads a piece once. Four vectors of 64 bytes at a time, in any instruction set the compiler has clones for.
WIDEST_VECTORS uint64_t sum_piece(const uint64_t* p, size_t n) {
    uint64_t sums[kLanes] = {};
    for (size_t i = 0; i < n; i += kLanes)
        for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += p[i + lane];
    uint64_t all = 0;
    for (const uint64_t s : sums) all += s;
    return all;
}

struct Buffer {
    explicit Buffer(size_t n) : size(n) {
        data = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data == MAP_FAILED)
            fail(ErrorKind::out_of_memory, "no room for the {} that measuring the bandwidth takes", size_text(n));
        ::madvise(data, n, MADV_HUGEPAGE);
    }
    ~Buffer() { ::munmap(data, size); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    void* data;
    size_t size;
};

}  // namespace

double measure_read_bandwidth(int n_threads, size_t size) {
    size = (size + kPiece - 1) / kPiece * kPiece;
    const Buffer buffer(size);
    auto* bytes = static_cast<uint8_t*>(buffer.data);
    ThreadPool pool(n_threads);
    const auto n_pieces = static_cast<int64_t>(size / kPiece);
    pool.for_each(n_pieces, 8, [&](int64_t begin, int64_t end) {
        std::memset(bytes + static_cast<size_t>(begin) * kPiece, 1, static_cast<size_t>(end - begin) * kPiece);
    });
    std::atomic<uint64_t> sum{0};  // keeps the reads from being left out
    double best = 0;
    for (int repetition = 0; repetition < 5; ++repetition) {
        const Stopwatch watch;
        pool.for_each(n_pieces, 8, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                sum += sum_piece(reinterpret_cast<const uint64_t*>(bytes + static_cast<size_t>(i) * kPiece),
                                 kPiece / sizeof(uint64_t));
        });
        best = std::max(best, static_cast<double>(size) / watch.seconds());
    }
    if (sum == 0) fail(ErrorKind::internal, "the bandwidth measurement read zeros");
    return best;
}

}  // namespace powerinfer::tools
