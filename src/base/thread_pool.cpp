#include "base/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <system_error>

#include "base/error.h"

namespace powerinfer {
namespace {

// About 20 to 50 microseconds of polling: longer than the gap between two pieces of work inside a token,
// far shorter than the time a person would notice an idle engine burning a core.
constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int n_threads)
    : n_threads_(n_threads),
      // With more members than processors, polling only keeps the member that is waited for from running.
      n_spins_(n_threads <= static_cast<int>(std::thread::hardware_concurrency()) ? kSpins : 0) {
    assert(n_threads >= 1);
    threads_.reserve(static_cast<size_t>(n_threads - 1));
    try {
        for (int i = 1; i < n_threads; ++i) threads_.emplace_back([this, i] { worker(i); });
    } catch (const std::system_error& e) {
        dismiss();
        fail(ErrorKind::out_of_memory, "the system gives {} threads, {} were asked for: {}", threads_.size() + 1,
             n_threads, e.code().message());
    }
}

ThreadPool::~ThreadPool() { dismiss(); }

void ThreadPool::dismiss() {
    stop_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& t : threads_) t.join();
}

void ThreadPool::worker(int index) {
    uint32_t seen = 0;
    for (;;) {
        uint32_t now = generation_.load(std::memory_order_acquire);
        for (int spin = 0; now == seen && spin < n_spins_; ++spin) {
            relax();
            now = generation_.load(std::memory_order_acquire);
        }
        while (now == seen) {
            generation_.wait(seen, std::memory_order_acquire);
            now = generation_.load(std::memory_order_acquire);
        }
        seen = now;
        if (stop_.load(std::memory_order_relaxed)) return;
        if (index < active_) (*work_)(index);
        if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) remaining_.notify_one();
    }
}

void ThreadPool::run(FunctionRef<void(int)> f, int n) {
    if (n <= 0 || n > n_threads_) n = n_threads_;
    if (n == 1) return f(0);
    work_ = &f;
    active_ = n;
    remaining_.store(n_threads_ - 1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    generation_.notify_all();
    f(0);
    int left = remaining_.load(std::memory_order_acquire);
    for (int spin = 0; left != 0 && spin < n_spins_; ++spin) {
        relax();
        left = remaining_.load(std::memory_order_acquire);
    }
    while (left != 0) {
        remaining_.wait(left, std::memory_order_acquire);
        left = remaining_.load(std::memory_order_acquire);
    }
}

void ThreadPool::for_each(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f, int n_threads) {
    if (n <= 0) return;
    if (n <= grain) return f(0, n);
    std::atomic<int64_t> next{0};
    run(
        [&](int) {
            for (;;) {
                const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
                if (begin >= n) return;
                f(begin, std::min(begin + grain, n));
            }
        },
        n_threads);
}

}  // namespace powerinfer
