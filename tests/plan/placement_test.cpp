#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "error_message.h"
#include "plan/cases.h"

namespace powerinfer::plan {
namespace {

using test::integer;
using test::random_machine;
using test::random_workload;
using test::uniform;

constexpr uint64_t kGiB = uint64_t{1} << 30;

Workload published_like(const Shape& shape, double active_share, double share_of_80) {
    Frequencies f;
    for (int l = 0; l < shape.n_layer; ++l)
        f.push_back(power_law(shape.n_ff, active_share * (0.7 + 0.6 * l / shape.n_layer), share_of_80));
    return workload_of(shape, f);
}

const Workload& seven_b() {
    static const Workload w = published_like({.name = "llama-7b"}, 0.2, 0.43);
    return w;
}

TEST(Placement, EqualsBruteForceOnOneDevice) {
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
        const int n_layer = integer(random, 1, 3);
        const Workload w = random_workload(random, n_layer, n_layer == 1 ? 20 : n_layer == 2 ? integer(random, 1, 10) : 2);
        const Machine m = random_machine(random, w, 1);
        const Solution s = place(w, m, {});
        ASSERT_NEAR(s.expected.seconds, test::brute_force(w, m, {}), 1e-12 * s.expected.seconds) << "case " << i;
        EXPECT_LE(s.gap(), 1e-12) << "case " << i;
    }
}

TEST(Placement, EqualsBruteForceOnTwoDevices) {
    std::mt19937 random(2);
    for (int i = 0; i < 30; ++i) {
        const int n_layer = integer(random, 1, 2);
        const Workload w = random_workload(random, n_layer, n_layer == 1 ? 20 : integer(random, 1, 4));
        const Machine m = random_machine(random, w, 2);
        const Solution s = place(w, m, {});
        ASSERT_NEAR(s.expected.seconds, test::brute_force(w, m, {}), 1e-12 * s.expected.seconds) << "case " << i;
        EXPECT_LE(s.gap(), 1e-12) << "case " << i;
    }
}

TEST(Placement, EqualsBruteForceWhereRamIsShort) {
    std::mt19937 random(3);
    for (int i = 0; i < 40; ++i) {
        const Workload w = random_workload(random, 2, integer(random, 1, 6));
        const Machine m = random_machine(random, w, 1);
        Allowance a;
        a.ram = w.embedding_bytes + w.scratch_bytes + static_cast<uint64_t>(uniform(random, 0, 1) * static_cast<double>(w.total_bytes()));
        const Solution s = place(w, m, a);
        ASSERT_NEAR(s.expected.seconds, test::brute_force(w, m, a), 1e-12 * s.expected.seconds) << "case " << i;
    }
}

// The accounting of the result is what `expect` adds up from the parts, and it keeps to the allowance to the byte.
TEST(Placement, KeepsToAnyBudgetToTheByte) {
    std::mt19937 random(4);
    const Machine& m = find_machine("rtx4090");
    for (int i = 0; i < 12; ++i) {
        const uint64_t budget = static_cast<uint64_t>(uniform(random, 0.1, 8) * static_cast<double>(kGiB)) + static_cast<uint64_t>(i);
        const Solution s = place(seven_b(), m, {.vram = {budget}, .ram = {}});
        const DeviceUse& use = s.expected.devices[0];
        EXPECT_LE(use.total(), budget);
        if (use.placed() == 0) continue;
        // One byte less than it uses, and the same placement is refused.
        EXPECT_NO_THROW(expect(seven_b(), m, {.vram = {use.total()}, .ram = {}}, s.placement));
        EXPECT_THROW(expect(seven_b(), m, {.vram = {use.total() - 1}, .ram = {}}, s.placement), Error);
    }
}

TEST(Placement, MoreMemoryIsNeverSlower) {
    const Machine& m = find_machine("rtx3060");
    double last = std::numeric_limits<double>::infinity();
    for (double gib = 0.5; gib < 8; gib += 0.61) {
        const Solution s = place(seven_b(), m, {.vram = {static_cast<uint64_t>(gib * static_cast<double>(kGiB))}, .ram = {}});
        EXPECT_LE(s.gap(), 1e-4);
        EXPECT_LE(s.expected.seconds, last * (1 + 1e-4)) << gib;
        EXPECT_LE(s.bound, last) << gib;
        last = s.expected.seconds;
    }
    std::mt19937 random(5);
    for (int i = 0; i < 20; ++i) {  // small ones are solved exactly
        const Workload w = random_workload(random, 3, 8);
        const Machine machine = random_machine(random, w, 1);
        double before = std::numeric_limits<double>::infinity();
        for (uint64_t share = 0; share <= 8; ++share) {
            const double seconds = place(w, machine, {.vram = {machine.devices[0].memory / 8 * share}, .ram = {}}).expected.seconds;
            EXPECT_LE(seconds, before * (1 + 1e-12)) << "case " << i;
            before = seconds;
        }
    }
}

TEST(Placement, NeverSlowerThanTheRulesOfOthers) {
    for (const char* name : {"rtx4090", "rtx2080ti", "laptop-8gb", "phone"})
        for (const double gib : {1.5, 3.0, 6.0}) {
            const Machine& m = find_machine(name);
            const Allowance a{.vram = {static_cast<uint64_t>(gib * static_cast<double>(kGiB))}, .ram = {}};
            const Solution s = place(seven_b(), m, a);
            for (const Rule rule : {Rule::whole_layers, Rule::attention_first, Rule::hottest_neurons, Rule::powerinfer_order})
                EXPECT_LE(s.bound, expect(seven_b(), m, a, place_by(rule, seven_b(), m, a)).seconds)
                    << name << " " << gib << " " << title(rule);
        }
}

TEST(Placement, SolvesTheLargestShapeInTime) {
    const Workload w = published_like({.name = "llama-70b", .n_embd = 8192, .n_layer = 80, .n_ff = 28672, .n_embd_kv = 1024}, 0.18, 0.43);
    ASSERT_EQ(w.layers[0].groups.size(), 448u);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const double factor = 20;
#else
    const double factor = 4;  // of 50 ms: tests share their machine
#endif
    for (const double gib : {8.0, 12.0, 24.0}) {
        double best = 1e9;
        for (int i = 0; i < 3; ++i) {
            const auto start = std::chrono::steady_clock::now();
            const Solution s = place(w, find_machine("rtx4090"), {.vram = {static_cast<uint64_t>(gib * static_cast<double>(kGiB))}, .ram = {}});
            best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            EXPECT_LE(s.gap(), 1e-4);
        }
        EXPECT_LT(best, 0.05 * factor) << gib;
    }
}

TEST(Placement, IsTheSameEveryTime) {
    const Allowance a{.vram = {3 * kGiB}, .ram = {}};
    EXPECT_EQ(place(seven_b(), find_machine("rtx4090"), a).placement, place(seven_b(), find_machine("rtx4090"), a).placement);
}

TEST(Placement, LeastUsefulGroupsPayForTheVisit) {
    Machine m = find_machine("rtx4090");
    const std::optional<uint32_t> few = least_useful_groups(seven_b(), m, 0, 0);
    ASSERT_TRUE(few);
    m.devices[0].submit_s = 200e-6;
    const std::optional<uint32_t> more = least_useful_groups(seven_b(), m, 0, 0);
    ASSERT_TRUE(more);
    EXPECT_GT(*more, *few);
    m.devices[0].submit_s = 1;
    EXPECT_FALSE(least_useful_groups(seven_b(), m, 0, 0));
}

TEST(Placement, ExpertsAreGroups) {
    // Two experts of 512 neurons, one chosen for nearly every token: with room for one, that one goes to the device.
    Workload w = workload_of(Shape{.name = "experts", .n_embd = 512, .n_layer = 1, .n_ff = 1024, .n_embd_kv = 512, .rank = 0, .n_ctx = 16, .n_batch = 1},
                             {std::vector<double>(1024, 1.0)});
    LayerLoad& l = w.layers[0];
    l.fired += l.always;
    l.always = {};
    l.groups = {{0.9, 512}, {0.1, 512}};
    std::mt19937 random(6);
    Machine m = random_machine(random, w, 1);
    m.rates.bandwidth = 1e9;
    m.shared_bandwidth = 0;
    m.devices[0].rates.bandwidth = 1e12;
    m.devices[0].visit_s = m.devices[0].submit_s = 1e-7;
    uint64_t row = 0;
    for (const uint32_t b : l.row_bytes) row += b;
    m.devices[0].memory = m.devices[0].reserved + w.scratch_bytes + 512 * row + 4096;
    const Solution s = place(w, m, {});
    EXPECT_EQ(s.placement.layers[0].n_groups, 1u);
    EXPECT_NEAR(s.expected.served, 0.9, 1e-12);
}

TEST(Placement, ImpossiblePlacementsAreRefused) {
    const Machine& m = find_machine("rtx4090");
    Placement p;
    const auto message = [&] { return powerinfer::test::message_of([&] { expect(seven_b(), m, {}, p); }); };
    EXPECT_EQ(message(), "the placement has 0 layers, the model 32");
    p.layers.resize(32);
    p.layers[3].n_groups = 1;
    EXPECT_EQ(message(), "layer 3 has neurons or cache on a device, and no device");
    p.layers[3] = {.home = kHost, .device = 1, .kv_on_device = false, .n_groups = 1};
    EXPECT_EQ(message(), "layer 3 is placed on device 1, the machine has 1");
    p.layers[3] = {.home = kHost, .device = 0, .kv_on_device = false, .n_groups = 173};
    EXPECT_EQ(message(), "layer 3 has 173 groups on a device, there are 172");
}

TEST(PowerLaw, HasTheMeanAndTheShareAskedFor) {
    const std::vector<double> f = power_law(11008, 0.2, 0.43);
    double sum = 0, covered = 0;
    for (const double v : f) sum += v;
    EXPECT_NEAR(sum / 11008, 0.2, 1e-6);
    for (size_t i = 0; i < static_cast<size_t>(0.43 * 11008); ++i) covered += f[i];
    EXPECT_NEAR(covered / sum, 0.8, 1e-3);
    EXPECT_THROW(power_law(11008, 0.2, 0.9), Error);
}

}  // namespace
}  // namespace powerinfer::plan
