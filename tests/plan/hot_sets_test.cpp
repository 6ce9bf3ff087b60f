// From the activation counts of a published model to the neurons that a device gets: every layer its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/torch_write.h"
#include "plan/workload.h"
#include "sparsity/activation_folder.h"
#include "sparsity/gpu_index.h"
#include "temporary_folder.h"

namespace powerinfer::plan {
namespace {

constexpr int kLayers = 12, kNeurons = 1024;

/// The first group of neurons that a device would get in each layer.
std::vector<std::vector<int32_t>> hot_sets(const sparsity::ActivationProfile& profile) {
    std::vector<std::vector<int32_t>> sets;
    for (const std::vector<double>& frequency : frequencies_of(profile)) {
        std::vector<int32_t> ids = hottest_first(frequency);
        ids.resize(kGroupNeurons);
        std::sort(ids.begin(), ids.end());
        sets.push_back(std::move(ids));
    }
    return sets;
}

// Twelve layers with disjoint hot sets: a reader that takes activation_10.pt for layer 2 gives it the wrong
// one.
TEST(HotSets, EveryLayerGetsItsOwnFromPublishedCountsAndFromOurs) {
    test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "activation");
    std::vector<std::vector<int32_t>> expected(kLayers);
    for (int layer = 0; layer < kLayers; ++layer) {
        std::vector<int64_t> counts(kNeurons, 3);
        for (int k = 0; k < kGroupNeurons; ++k) {
            const int neuron = layer * 80 + k;
            counts[static_cast<size_t>(neuron)] = 1000 + k;
            expected[static_cast<size_t>(layer)].push_back(neuron);
        }
        formats::write_torch_tensor(folder / ("activation/activation_" + std::to_string(layer) + ".pt"),
                                    counts);
    }
    const auto published = sparsity::read_activation_folder(folder / "activation");
    EXPECT_EQ(hot_sets(published), expected);
    sparsity::write_profile(folder / "p.gguf", published);
    EXPECT_EQ(hot_sets(sparsity::open_profile(folder / "p.gguf")), expected);

    sparsity::GpuIndex index;
    index.n_ff = kNeurons;
    index.on_gpu = hot_sets(published);
    sparsity::write_gpu_index(folder / "m.gguf.generated.gpuidx", index);
    const auto file = formats::GgufFile::open(folder / "m.gguf.generated.gpuidx");
    for (const int layer : {2, 10}) {
        const auto* bucket = file.find_tensor("blk." + std::to_string(layer) + ".gpu_bucket");
        ASSERT_NE(bucket, nullptr);
        const auto* ids = static_cast<const int32_t*>(bucket->view.data);
        EXPECT_EQ(std::vector<int32_t>(ids, ids + bucket->view.ne[0]), expected[static_cast<size_t>(layer)]);
    }
}

}  // namespace
}  // namespace powerinfer::plan
