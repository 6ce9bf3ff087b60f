#include "tools/fma_rate.h"

#include <algorithm>
#include <cstdint>

#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "tools/perf.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace powerinfer::tools {
namespace {

// Independent sums: more than latency times units (4 to 5 cycles, two a cycle), fewer than there are registers.
constexpr int kSums = 12;
constexpr int64_t kSteps = 2'000'000;

/// `run` does kSteps of kSums multiply-adds in vectors of `lanes` floats.
struct Loop {
    int lanes;
    void (*run)();
};

// The empty asm keeps the compiler from solving the recurrence or leaving it out.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void run_avx512() {
    __m512 sums[kSums];
    for (__m512& s : sums) s = _mm512_set1_ps(1.0f);
    const __m512 factor = _mm512_set1_ps(0.999f);
    for (int64_t i = 0; i < kSteps; ++i)
        for (__m512& s : sums) {
            s = _mm512_fmadd_ps(s, factor, factor);
            asm volatile("" : "+v"(s));
        }
}

__attribute__((target("avx2,fma"))) void run_avx2() {
    __m256 sums[kSums];
    for (__m256& s : sums) s = _mm256_set1_ps(1.0f);
    const __m256 factor = _mm256_set1_ps(0.999f);
    for (int64_t i = 0; i < kSteps; ++i)
        for (__m256& s : sums) {
            s = _mm256_fmadd_ps(s, factor, factor);
            asm volatile("" : "+x"(s));
        }
}
#elif defined(__aarch64__)
void run_neon() {
    float32x4_t sums[kSums];
    for (float32x4_t& s : sums) s = vdupq_n_f32(1.0f);
    const float32x4_t factor = vdupq_n_f32(0.999f);
    for (int64_t i = 0; i < kSteps; ++i)
        for (float32x4_t& s : sums) {
            s = vfmaq_f32(s, factor, factor);
            asm volatile("" : "+w"(s));
        }
}
#endif

void run_scalar() {
    float sums[kSums];
    for (float& s : sums) s = 1.0f;
    for (int64_t i = 0; i < kSteps; ++i)
        for (float& s : sums) {
            s = s * 0.999f + 0.999f;
            asm volatile("" : "+m"(s));
        }
}

Loop widest_loop() {
#if defined(__x86_64__)
    const CpuInfo cpu = read_cpu_info();
    if (cpu.avx512) return {16, run_avx512};
    if (cpu.avx2) return {8, run_avx2};
#elif defined(__aarch64__)
    return {4, run_neon};
#endif
    return {1, run_scalar};
}

}  // namespace

double measure_fma_rate(int n_threads) {
    const Loop loop = widest_loop();
    ThreadPool pool(n_threads);
    const double operations = 2.0 * kSums * loop.lanes * static_cast<double>(kSteps) * n_threads;
    double best = 0;
    for (int repetition = 0; repetition < 10; ++repetition) {
        const Stopwatch watch;
        pool.run([&](int) { loop.run(); });
        best = std::max(best, operations / watch.seconds());
    }
    return best;
}

}  // namespace powerinfer::tools
