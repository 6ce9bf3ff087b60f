#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace powerinfer {
namespace {

TEST(ThreadPool, EveryMemberRunsOnce) {
    for (int n : {1, 2, 3, 7}) {
        ThreadPool pool(n);
        for (int round = 0; round < 1000; ++round) {
            std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
            pool.run([&](int i) { calls[static_cast<size_t>(i)]++; });
            for (auto& c : calls) ASSERT_EQ(c.load(), 1);
        }
    }
}

TEST(ThreadPool, FewerMembersOnRequest) {
    ThreadPool pool(4);
    for (int n = 1; n <= 4; ++n) {
        std::atomic<int> calls{0};
        pool.run([&](int) { calls++; }, n);
        EXPECT_EQ(calls.load(), n);
    }
}

TEST(ThreadPool, WakesAfterSleep) {
    ThreadPool pool(3);
    for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::atomic<int> calls{0};
        pool.run([&](int) { calls++; });
        ASSERT_EQ(calls.load(), 3);
    }
}

// Far more members than processors: what they wait for must get its turn. Polling members took minutes here.
TEST(ThreadPool, ManyMoreMembersThanProcessors) {
    const auto begin = std::chrono::steady_clock::now();
    ThreadPool pool(500);
    std::atomic<int> calls{0};
    for (int round = 0; round < 100; ++round) pool.run([&](int) { calls++; });
    EXPECT_EQ(calls.load(), 50000);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(ThreadPool, ForEachCoversTheRangeOnce) {
    ThreadPool pool(3);
    for (int64_t n : {0, 1, 5, 64, 1000}) {
        for (int64_t grain : {1, 3, 64, 2000}) {
            std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
            pool.for_each(n, grain, [&](int64_t begin, int64_t end) {
                ASSERT_LE(end - begin, std::max<int64_t>(grain, 1));
                for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)]++;
            });
            for (auto& s : seen) ASSERT_EQ(s.load(), 1);
        }
    }
}

}  // namespace
}  // namespace powerinfer
