#include "learn/profiler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "learn/learn_support.h"
#include "quant/format.h"

namespace powerinfer::learn {
namespace {

using test::some_ids;
using test::TemporaryFolder;
using test::TinyModel;

TEST(Profiler, CountsEqualASlowReferenceThatRecomputesEveryGate) {
    for (const char* activation : {"relu", "relu_squared", "drelu"}) {
        for (const bool transposed : {false, true}) {
            TemporaryFolder folder;
            TinyModel tiny({.activation = activation, .predictors = transposed, .biases = true});
            const auto m = tiny.write(folder / "m.gguf");
            const auto ids = some_ids(50);
            const auto profile = profile_text(m, {.ids = ids, .window = 20, .bos = 3}, 2);
            EXPECT_EQ(profile.n_tokens, 50u);
            EXPECT_EQ(profile.fingerprint, sparsity::fingerprint_of(*m));

            const auto n_ff = static_cast<size_t>(tiny.shape.n_ff);
            std::vector<std::vector<std::vector<test::SlowFeedForward>>> windows;
            for (size_t begin = 0; begin < ids.size(); begin += 20) {
                std::vector<int32_t> part = {3};
                part.insert(part.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin),
                            ids.begin() + static_cast<std::ptrdiff_t>(std::min(begin + 20, ids.size())));
                windows.push_back(slow_feed_forwards(tiny, part));
            }
            size_t n_doubtful = 0;
            for (size_t layer = 0; layer < 2; ++layer) {
                const auto down = tiny.tensors.at("blk." + std::to_string(layer) +
                                                  (transposed ? ".ffn_down_t.weight" : ".ffn_down.weight"));
                for (size_t j = 0; j < n_ff; ++j) {
                    uint64_t least = 0, most = 0;
                    double sum = 0, squares = 0, norm = 0;
                    for (const auto& window : windows) {
                        for (size_t t = 1; t < window[layer].size(); ++t) {
                            const test::SlowFeedForward& f = window[layer][t];
                            const double margin =
                                std::string(activation) == "drelu" ? std::min(f.gate[j], f.up[j]) : f.gate[j];
                            least += margin > 1e-5;
                            most += margin > -1e-5;
                            sum += f.h[j];
                            squares += f.h[j] * f.h[j];
                        }
                    }
                    for (size_t i = 0; i < 32; ++i) {
                        const auto w =
                            static_cast<double>(down.values[transposed ? j * 32 + i : i * n_ff + j]);
                        norm += w * w;
                    }
                    const sparsity::LayerProfile& p = profile.layers[layer];
                    EXPECT_LE(least, p.fires[j]);
                    EXPECT_GE(most, p.fires[j]);
                    n_doubtful += most - least;
                    EXPECT_NEAR(p.sum[j], sum, 1e-3);
                    EXPECT_NEAR(p.sum_of_squares[j], squares, 1e-3 * (1 + squares));
                    EXPECT_NEAR(p.contribution[j], squares * norm, 1e-3 * (1 + squares * norm));
                }
            }
            EXPECT_LE(n_doubtful, 2u) << "gates too near zero to be told apart in 32 bits";
        }
    }
}

// The demo model's weights are F16, so nothing but the order of summation stands between its gates and these.
TEST(Profiler, CountsOfTheDemoModelEqualGatesRecomputedFromItsFile) {
    const auto file = std::make_shared<const formats::GgufFile>(
        formats::GgufFile::open(std::string(POWERINFER_SOURCE_DIR) + "/models/fable.gguf"));
    const auto m = std::make_shared<const model::Model>(model::load(file));
    const auto ids = some_ids(64, m->spec.n_vocab);
    const Text text{.ids = ids, .window = 32, .bos = 1};
    const auto profile = profile_text(m, text, 2);
    const int n_embd = m->spec.n_embd, n_ff = m->spec.n_ff;
    std::vector<std::vector<uint64_t>> least(4, std::vector<uint64_t>(static_cast<size_t>(n_ff))),
        most = least;
    engine::Engine engine = load_dense(m, text, 2);
    run_text(engine, text, 0, [&](int64_t, const engine::ObservedFeedForward& f) {
        const auto layer = static_cast<size_t>(f.layer);
        const TensorView& gates = m->tensors.layers[layer].ffn_gate;
        ASSERT_EQ(gates.type, DType::F16);
        std::vector<float> row(static_cast<size_t>(n_embd));
        for (int j = 0; j < n_ff; ++j) {
            quant::format(gates.type).decode(gates.row(j), row.data(), n_embd);
            for (int64_t t = 0; t < f.n_tokens; ++t) {
                double gate = 0;
                for (int i = 0; i < n_embd; ++i)
                    gate += static_cast<double>(row[static_cast<size_t>(i)]) *
                            static_cast<double>(f.normed[t * n_embd + i]);
                least[layer][static_cast<size_t>(j)] += gate > 1e-5;
                most[layer][static_cast<size_t>(j)] += gate > -1e-5;
            }
        }
    });
    size_t n_doubtful = 0;
    for (size_t layer = 0; layer < 4; ++layer) {
        for (size_t j = 0; j < static_cast<size_t>(n_ff); ++j) {
            EXPECT_LE(least[layer][j], profile.layers[layer].fires[j]);
            EXPECT_GE(most[layer][j], profile.layers[layer].fires[j]);
            n_doubtful += most[layer][j] - least[layer][j];
        }
    }
    EXPECT_LE(n_doubtful, 20u) << "of 262,144 gates";
}

TEST(Profiler, WithoutAGateTheUpProjectionSaysWhatFires) {
    const float up[] = {-1, 0, 2, 3}, gate[] = {1, 1, -1, 1};
    engine::ObservedFeedForward f{.n_tokens = 2, .n_ff = 2, .up = up};
    const auto fired = [&](model::Activation a) {
        std::vector<bool> out;
        for (int64_t i = 0; i < 4; ++i) out.push_back(fires(f, a, i));
        return out;
    };
    EXPECT_EQ(fired(model::Activation::relu), (std::vector<bool>{false, false, true, true}));
    EXPECT_EQ(fired(model::Activation::relu_squared), (std::vector<bool>{false, false, true, true}));
    f.gate = gate;
    EXPECT_EQ(fired(model::Activation::relu), (std::vector<bool>{true, true, false, true}));
    EXPECT_EQ(fired(model::Activation::drelu), (std::vector<bool>{false, false, false, true}));
}

TEST(Profiler, TwoHalvesMergedEqualTheWhole) {
    TemporaryFolder folder;
    const auto m = TinyModel(test::TinyShape{}).write(folder / "m.gguf");
    const auto ids = some_ids(100);
    const std::span<const int32_t> all(ids);
    const auto whole = profile_text(m, {.ids = all, .window = 16}, 2);
    auto merged = profile_text(m, {.ids = all.first(48), .window = 16}, 1);
    merged.merge(profile_text(m, {.ids = all.subspan(48), .window = 16}, 2));
    EXPECT_EQ(merged.n_tokens, whole.n_tokens);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(merged.layers[i].fires, whole.layers[i].fires);
        for (size_t j = 0; j < whole.layers[i].fires.size(); ++j) {
            EXPECT_DOUBLE_EQ(merged.layers[i].sum_of_squares[j], whole.layers[i].sum_of_squares[j]);
            EXPECT_NEAR(merged.layers[i].contribution[j], whole.layers[i].contribution[j],
                        1e-12 * whole.layers[i].contribution[j]);
        }
    }
}

TEST(Profiler, NeedsATextAndAWindow) {
    TemporaryFolder folder;
    const auto m = TinyModel(test::TinyShape{}).write(folder / "m.gguf");
    const auto ids = some_ids(10);
    EXPECT_NE(test::message_of([&] { make_text({}, 16, m->spec, {}); }).find("no tokens"), std::string::npos);
    EXPECT_NE(test::message_of([&] { make_text(ids, 1, m->spec, {}); }).find("at least 2"),
              std::string::npos);
    EXPECT_EQ(make_text(ids, 1000, m->spec, {}).window, 256);
    EXPECT_EQ(make_text(ids, 1000, m->spec, {.bos = 1, .add_bos = true}).window, 255);
}

}  // namespace
}  // namespace powerinfer::learn
