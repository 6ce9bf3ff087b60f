// Weights that were copied into another order give the same bits as weights read where they lie.
#include <gtest/gtest.h>

#include <filesystem>

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
std::vector<float> logits(const std::shared_ptr<const model::Model>& m, const plan::Plan& plan, const std::string& layout = "",
                          std::string* said = nullptr) {
    const LogSink log = [&](LogLevel, std::string_view line) {
        if (said) *said += std::string(line) + "\n";
    };
    Engine engine = Engine::load(m, plan, {.n_threads = 2, .layout_path = layout}, log);
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

TEST(Repack, AKeptLayoutChangesNoBit) {
    for (const DType type : {DType::F16, DType::Q4_0, DType::Q6_K}) {
        TemporaryFolder folder;
        TinyModel tiny({.n_vocab = 51, .n_embd = 256, .n_layer = 2, .n_ff = 512, .n_head = 4, .head_dim = 64});
        const auto m = tiny.write(folder / "m.gguf", type);
        const std::string layout = folder / "m.gguf.layout";
        for (const Mode mode : {Mode::off, Mode::exact, Mode::off}) {
            const plan::Plan plan = plan_of(*m, mode, kPlenty);
            const auto expected = logits(m, plan);
            std::string first, second;
            EXPECT_EQ(logits(m, plan, layout, &first), expected) << info(type).name;
            const bool exists = std::filesystem::exists(layout);
            const auto written = exists ? std::filesystem::last_write_time(layout) : std::filesystem::file_time_type();
            EXPECT_EQ(logits(m, plan, layout, &second), expected) << info(type).name;
            EXPECT_EQ(second.find("kept "), std::string::npos) << second;  // all was there
            if (exists) {
                EXPECT_EQ(std::filesystem::last_write_time(layout), written);
            }
        }
        EXPECT_TRUE(std::filesystem::exists(layout)) << info(type).name;
    }
}

TEST(Repack, ALayoutOfAnotherModelOrADamagedOneIsMadeAnew) {
    TemporaryFolder folder;
    const auto shape = [](unsigned seed) {
        return TinyModel({.n_vocab = 51, .n_embd = 256, .n_layer = 1, .n_ff = 512, .n_head = 4, .head_dim = 64, .seed = seed});
    };
    const auto a = shape(1).write(folder / "a.gguf", DType::Q4_0), b = shape(2).write(folder / "b.gguf", DType::Q4_0);
    const std::string layout = folder / "layout";
    const plan::Plan plan = plan_of(*a, Mode::off, kPlenty);
    ASSERT_NE(logits(a, plan), logits(b, plan));
    logits(a, plan, layout);
    std::string said;
    EXPECT_EQ(logits(b, plan, layout, &said), logits(b, plan));
    EXPECT_NE(said.find("kept "), std::string::npos) << said;
    said.clear();
    EXPECT_EQ(logits(b, plan, layout, &said), logits(b, plan));
    EXPECT_EQ(said.find("kept "), std::string::npos) << said;

    std::filesystem::resize_file(layout, std::filesystem::file_size(layout) - 100);
    EXPECT_EQ(logits(b, plan, layout, &said), logits(b, plan));
    EXPECT_NE(said.find("not usable and will be made anew"), std::string::npos) << said;
    EXPECT_NE(said.find("kept "), std::string::npos) << said;

    said.clear();
    EXPECT_EQ(logits(b, plan, folder / "missing" + "/layout", &said), logits(b, plan));
    EXPECT_NE(said.find("cannot be kept"), std::string::npos) << said;
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
