// Weights that were copied into another order give the same bits as weights read where they lie.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "tiny_model.h"

namespace powerinfer::engine {
namespace {

using sparsity::Mode;
using test::TemporaryFolder;
using test::TinyModel;

constexpr uint64_t kPlenty = uint64_t{1} << 40;

plan::Plan plan_of(const model::Model& m, Mode mode, uint64_t repack_bytes) {
    return plan::solve(m, {.n_ctx = 64, .n_batch = 32, .kv_type = DType::F32, .mode = mode, .repack_bytes = repack_bytes});
}

/// All logits of 37 tokens: 9 in one step, the others one by one.
std::vector<float> logits(const std::shared_ptr<const model::Model>& m, const plan::Plan& plan) {
    Engine engine = Engine::load(m, plan, {.n_threads = 2});
    std::vector<float> all;
    const auto step = [&](int begin, int end) {
        std::vector<BatchToken> batch;
        for (int i = begin; i < end; ++i) batch.push_back({(i * 29 + 5) % 50, 0, true});
        engine.step(batch);
        for (size_t i = 0; i < engine.n_logits(); ++i)
            all.insert(all.end(), engine.logits(i).begin(), engine.logits(i).end());
    };
    step(0, 9);
    for (int i = 9; i < 37; ++i) step(i, i + 1);
    return all;
}

TEST(Repack, ChangesNoBit) {
    for (const DType type : {DType::F16, DType::Q4_0, DType::Q5_1, DType::Q8_0, DType::MXFP4, DType::Q3_K, DType::Q4_K, DType::Q6_K}) {
        for (const bool predictors : {false, true}) {
            TemporaryFolder folder;
            TinyModel tiny({.n_vocab = 51, .n_embd = 256, .n_layer = 2, .n_ff = 512, .n_head = 4, .head_dim = 64, .rank = 256,
                            .predictors = predictors});
            const auto m = tiny.write(folder / "m.gguf", type);
            for (const Mode mode : {Mode::off, Mode::exact, Mode::predict}) {
                if (mode == Mode::predict && !predictors) continue;
                EXPECT_EQ(logits(m, plan_of(*m, mode, 0)), logits(m, plan_of(*m, mode, kPlenty)))
                    << info(type).name << " " << sparsity::name(mode) << (predictors ? " by neuron" : "");
            }
        }
    }
}

TEST(Repack, TakesAsManyLayersAsFit) {
    TemporaryFolder folder;
    TinyModel tiny({.n_embd = 256, .n_layer = 3, .n_ff = 512, .n_head = 4, .head_dim = 64, .activation = "silu"});
    const auto m = tiny.write(folder / "m.gguf", DType::Q4_0);
    const plan::Plan none = plan_of(*m, Mode::off, 0), all = plan_of(*m, Mode::off, kPlenty);
    EXPECT_EQ(none.repacked_bytes, uint64_t{0});
    EXPECT_FALSE(none.layers[0].repack || none.repack_output);
    EXPECT_TRUE(all.layers[0].repack && all.layers[1].repack && all.layers[2].repack && all.repack_output);
    // One layer: q, k, v, output of 256 x 256 or 256 x 128, three feed-forward matrices of 256 x 512; 18 bytes for 32 numbers.
    const uint64_t layer = (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512) / 32 * 18, output = 256 * 64 / 32 * 18;
    EXPECT_EQ(all.repacked_bytes, 3 * layer + output);
    const uint64_t beside = none.kv_bytes + none.scratch_bytes;
    const plan::Plan two = plan_of(*m, Mode::off, beside + 2 * layer + output - 1);
    EXPECT_TRUE(two.layers[0].repack && two.layers[1].repack);
    EXPECT_FALSE(two.layers[2].repack || two.repack_output);
    EXPECT_EQ(logits(m, two), logits(m, none));
    EXPECT_EQ(plan_of(*m, Mode::off, beside + layer - 1).repacked_bytes, output);
}

}  // namespace
}  // namespace powerinfer::engine
