#include "learn/profiler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "learn/learn_support.h"

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
