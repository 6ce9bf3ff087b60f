// A fixed team of threads that runs one function at a time on all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace powerinfer {

/// A non-owning reference to a callable: costs nothing to make, unlike std::function.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
  public:
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
    FunctionRef(F&& f)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
          call_([](void* o, Args... args) -> R {
              return (*static_cast<std::remove_reference_t<F>*>(o))(args...);
          }) {}
    R operator()(Args... args) const { return call_(object_, args...); }

  private:
    void* object_;
    R (*call_)(void*, Args...);
};

/// Persistent threads: they spin for a bounded time after each piece of work, then sleep. The calling thread is
/// member 0 of the team. Running work allocates nothing and takes no lock unless a member sleeps.
/// Not reentrant: one run() at a time. Functions given to it must not throw.
class ThreadPool {
  public:
    /// n_threads >= 1. Throws Error{out_of_memory} where the system does not give so many.
    explicit ThreadPool(int n_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return n_threads_; }

    /// Calls f(thread) once on the first `n` members (all when n is 0) and returns when all have returned.
    void run(FunctionRef<void(int)> f, int n = 0);

    /// Calls f(begin, end) for pieces of [0, n) of at most `grain` items, handed out to whoever is free.
    /// Which thread gets which piece is not fixed, so f must not let results depend on it.
    void for_each(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f, int n_threads = 0);

  private:
    void worker(int index);
    /// Ends the threads there are.
    void dismiss();
    int n_threads_;
    int n_spins_;  ///< looks at a flag before sleeping
    std::vector<std::thread> threads_;
    std::atomic<uint32_t> generation_{0};
    std::atomic<int> remaining_{0};
    std::atomic<bool> stop_{false};
    int active_ = 0;
    const FunctionRef<void(int)>* work_ = nullptr;
};

}  // namespace powerinfer
