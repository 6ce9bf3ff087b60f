#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "tiny_model.h"

namespace powerinfer::engine {
namespace {

using sparsity::Mode;
using test::TemporaryFolder;
using test::TinyModel;
using test::TinyShape;
using ModelPtr = std::shared_ptr<const model::Model>;

std::vector<int32_t> some_ids(size_t n, int n_vocab = 64) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>((i * 37 + 11 + i * i) % static_cast<size_t>(n_vocab)));
    return ids;
}

Engine make_engine(const ModelPtr& m, Mode mode, DType kv = DType::F32, int threads = 2, int n_batch = 512, int n_seq = 1) {
    const plan::Plan plan = plan::solve(*m, {.n_ctx = 256, .n_seq = n_seq, .n_batch = n_batch, .kv_type = kv, .mode = mode});
    return Engine::load(m, plan, {.n_threads = threads});
}

/// All logits of a sequence, computed in steps of `step_size` tokens.
std::vector<std::vector<float>> run(Engine& engine, const std::vector<int32_t>& ids, size_t step_size, int seq = 0) {
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i < ids.size(); i += step_size) {
        std::vector<BatchToken> batch;
        for (size_t k = i; k < std::min(i + step_size, ids.size()); ++k) batch.push_back({ids[k], seq, true});
        engine.step(batch);
        for (size_t k = 0; k < engine.n_logits(); ++k)
            out.emplace_back(engine.logits(k).begin(), engine.logits(k).end());
    }
    return out;
}

double max_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<double>>& b) {
    EXPECT_EQ(a.size(), b.size());
    double worst = 0;
    for (size_t t = 0; t < a.size(); ++t) {
        for (size_t i = 0; i < a[t].size(); ++i)
            worst = std::max(worst, std::fabs(static_cast<double>(a[t][i]) - b[t][i]));
    }
    return worst;
}

struct Case {
    const char* name;
    TinyShape shape;
};
std::vector<Case> cases() {
    std::vector<Case> list = {{"silu", {.activation = "silu"}},
                              {"relu", {}},
                              {"relu_squared", {.activation = "relu_squared"}},
                              {"drelu", {.activation = "drelu"}},
                              {"multi_head", {.n_head_kv = 4}},
                              {"multi_query", {.n_head_kv = 1}},
                              {"odd_sizes", {.n_vocab = 51, .n_embd = 40, .n_ff = 133, .head_dim = 14}},
                              {"window", {.sliding_window = 5}},
                              {"linear_rope", {.rope_factor = 2.5f}},
                              {"biases", {.biases = true}},
                              {"transposed", {.predictors = true}},
                              {"transposed_biases", {.predictors = true, .biases = true}}};
    return list;
}

TEST(Engine, LogitsEqualASlowReference) {
    const auto ids = some_ids(40, 51);
    for (const Case& c : cases()) {
        TemporaryFolder folder;
        TinyModel tiny(c.shape);
        const ModelPtr m = tiny.write(folder / "m.gguf");
        const auto expected = tiny.logits(ids);
        Engine engine = make_engine(m, Mode::off);
        EXPECT_LT(max_difference(run(engine, ids, 512), expected), 1e-4) << c.name;
        if (!model::is_sparse_capable(m->spec.activation)) continue;
        Engine exact = make_engine(m, Mode::exact);
        EXPECT_LT(max_difference(run(exact, ids, 512), expected), 1e-4) << c.name << " exact";
        EXPECT_LT(exact.counts().active_share(), 0.7) << c.name;
        EXPECT_GT(exact.counts().active_share(), 0.1) << c.name;
    }
}

TEST(Engine, ExactEqualsOffBitForBitWhereTheDownProjectionIsTransposed) {
    const auto ids = some_ids(30);
    for (const char* activation : {"relu", "relu_squared", "drelu"}) {
        for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0}) {
            TemporaryFolder folder;
            TinyModel tiny({.n_ff = 200, .rank = 32, .activation = activation, .predictors = true});
            const ModelPtr m = tiny.write(folder / "m.gguf", type);
            Engine off = make_engine(m, Mode::off), exact = make_engine(m, Mode::exact);
            EXPECT_EQ(run(off, ids, 512), run(exact, ids, 512)) << activation << " " << info(type).name;
            off.truncate(0, 0);
            exact.truncate(0, 0);
            EXPECT_EQ(run(off, ids, 1), run(exact, ids, 1)) << activation << " " << info(type).name;
        }
    }
}

// Ordinary files keep the down projection's blocks along n_ff; `exact` re-lays them by neuron without loss.
TEST(Engine, ExactOnOrdinaryFilesEqualsOffWithinSummationOrder) {
    const auto ids = some_ids(30);
    for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                             DType::Q8_0, DType::IQ4_NL, DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K}) {
        for (const char* activation : {"relu", "drelu"}) {
            TemporaryFolder folder;
            TinyModel tiny({.n_embd = 256, .n_layer = 1, .n_ff = 512, .n_head = 4, .head_dim = 64, .activation = activation});
            const ModelPtr m = tiny.write(folder / "m.gguf", type);
            Engine off = make_engine(m, Mode::off), exact = make_engine(m, Mode::exact);
            const auto a = run(off, ids, 30), b = run(exact, ids, 30);
            // A difference in the last bit may turn the rounding of an 8-bit activation of the output layer: rare
            // differences of one step, and nothing but last bits otherwise.
            double sum = 0;
            for (size_t t = 0; t < a.size(); ++t) {
                for (size_t i = 0; i < a[t].size(); ++i) {
                    ASSERT_NEAR(a[t][i], b[t][i], 5e-3) << info(type).name;
                    sum += std::fabs(static_cast<double>(a[t][i] - b[t][i]));
                }
            }
            EXPECT_LT(sum / static_cast<double>(a.size() * a[0].size()), 5e-5) << info(type).name;
            Engine stepwise = make_engine(m, Mode::exact, DType::F32, 3);
            EXPECT_EQ(run(stepwise, ids, 1), b) << info(type).name << " " << activation;
        }
    }
}

TEST(Engine, LogitsDoNotDependOnThreadsStepsOrCompany) {
    const auto ids = some_ids(50), others = some_ids(50, 33);
    for (const DType type : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_0}) {
        for (const bool predictors : {false, true}) {
            TemporaryFolder folder;
            TinyModel tiny({.n_embd = 64, .n_ff = 352, .head_dim = 16, .rank = 32, .predictors = predictors});
            const ModelPtr m = tiny.write(folder / "m.gguf", type);
            std::vector<Mode> modes = {Mode::off};
            if (predictors) modes = {Mode::off, Mode::exact, Mode::predict};
            for (const Mode mode : modes) {
                Engine first = make_engine(m, mode, DType::F16, 1);
                const auto expected = run(first, ids, 1);
                for (const int threads : {1, 2, 3}) {
                    for (const size_t step : {1u, 7u, 64u}) {
                        Engine engine = make_engine(m, mode, DType::F16, threads);
                        EXPECT_EQ(run(engine, ids, step), expected)
                            << info(type).name << " " << sparsity::name(mode) << " threads " << threads << " step " << step;
                    }
                }
                Engine small_batch = make_engine(m, mode, DType::F16, 2, 5);
                EXPECT_EQ(run(small_batch, ids, 50), expected);
                // Two sequences interleaved in the same steps.
                Engine both = make_engine(m, mode, DType::F16, 2, 512, 2);
                std::vector<std::vector<float>> mine;
                for (size_t i = 0; i < ids.size(); ++i) {
                    const std::vector<BatchToken> batch = {{others[i], 1, true}, {ids[i], 0, true}};
                    both.step(batch);
                    mine.emplace_back(both.logits(1).begin(), both.logits(1).end());
                }
                EXPECT_EQ(mine, expected) << info(type).name << " beside another sequence";
            }
        }
    }
}

TEST(Engine, PredictEqualsDenseWithUnpredictedNeuronsZeroed) {
    TemporaryFolder folder;
    TinyModel tiny({.predictors = true, .threshold = 0.3f});
    const ModelPtr m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(40);
    uint64_t predicted = 0;
    const auto expected = tiny.logits(ids, [&](int layer, const std::vector<double>& residual) {
        const std::string p = "blk." + std::to_string(layer) + ".";
        std::vector<double> hidden;
        for (int r = 0; r < tiny.shape.rank; ++r) {
            double sum = 0;
            for (int i = 0; i < tiny.shape.n_embd; ++i)
                sum += static_cast<double>(tiny.row(p + "fc1.weight", r)[i]) * residual[static_cast<size_t>(i)];
            hidden.push_back(std::max(sum, 0.0));
        }
        std::set<int> active;
        for (int j = 0; j < tiny.shape.n_ff; ++j) {
            double logit = 0;
            for (int r = 0; r < tiny.shape.rank; ++r)
                logit += static_cast<double>(tiny.row(p + "fc2.weight", j)[r]) * hidden[static_cast<size_t>(r)];
            if (logit >= static_cast<double>(0.3f)) active.insert(j);
        }
        predicted += active.size();
        return active;
    });
    for (const size_t step : {1u, 40u}) {
        Engine engine = make_engine(m, Mode::predict);
        EXPECT_LT(max_difference(run(engine, ids, step), expected), 1e-4);
        uint64_t selected = 0;
        for (const LayerCounts& layer : engine.counts().layers) selected += layer.selected;
        EXPECT_EQ(selected, predicted);
    }
}

TEST(Engine, PredictWithEveryNeuronSelectedEqualsExactBitForBit) {
    TemporaryFolder folder;
    TinyModel tiny({.predictors = true});
    const ModelPtr m = tiny.write(folder / "m.gguf", DType::F32, {.threshold = -1e30f});
    Engine predict = make_engine(m, Mode::predict), exact = make_engine(m, Mode::exact);
    const auto ids = some_ids(20);
    EXPECT_EQ(run(predict, ids, 20), run(exact, ids, 20));
}

// The PowerInfer rule: a neuron is skipped only when its logit is below the threshold. fc1 passes the constant first
// element of the residual through, so the logits of neurons can be set exactly.
TEST(Engine, NeuronsExactlyAtTheThresholdAreActive) {
    TinyShape shape{.n_embd = 256, .n_layer = 1, .n_ff = 1024, .n_head = 4, .n_head_kv = 4, .head_dim = 64, .rank = 32,
                    .predictors = true, .threshold = 0.25f};
    TinyModel tiny(shape);
    for (int t = 0; t < shape.n_vocab; ++t) tiny.row("token_embd.weight", t)[0] = 1;
    for (int i = 0; i < shape.n_embd; ++i) tiny.row("blk.0.attn_output.weight", 0)[i] = 0;
    for (int r = 0; r < shape.rank; ++r) {
        for (int i = 0; i < shape.n_embd; ++i) tiny.row("blk.0.fc1.weight", r)[i] = r == 0 && i == 0 ? 1.0f : 0.0f;
    }
    const float below = std::nextafterf(0.25f, 0), above = std::nextafterf(0.25f, 1);
    for (int j = 0; j < shape.n_ff; ++j) {
        for (int r = 0; r < shape.rank; ++r) tiny.row("blk.0.fc2.weight", j)[r] = 0;
        tiny.row("blk.0.fc2.weight", j)[0] = j % 3 == 0 ? below : j % 3 == 1 ? 0.25f : above;
    }
    TemporaryFolder folder;
    const ModelPtr m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(6);
    const auto expected = tiny.logits(ids, [&](int, const std::vector<double>&) {
        std::set<int> active;
        for (int j = 0; j < shape.n_ff; ++j) {
            if (j % 3 != 0) active.insert(j);
        }
        return active;
    });
    for (const size_t step : {1u, 6u}) {
        Engine engine = make_engine(m, Mode::predict);
        EXPECT_LT(max_difference(run(engine, ids, step), expected), 1e-3);
        EXPECT_EQ(engine.counts().layers[0].selected, 6u * 682u);  // of 1024: 342 lie below
    }
}

constexpr DType kCacheTypes[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};

TEST(Engine, TruncateAndCopyContinueAsIfFreshlyComputed) {
    TemporaryFolder folder;
    TinyModel tiny({.head_dim = 32});
    const ModelPtr m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(30);
    for (const DType kv : kCacheTypes) {
        Engine engine = make_engine(m, Mode::off, kv, 2, 512, 2);
        const auto expected = run(engine, ids, 30);
        engine.truncate(0, 12);
        const std::vector<int32_t> tail(ids.begin() + 12, ids.end());
        auto again = run(engine, tail, 5);
        EXPECT_EQ(again.back(), expected.back()) << info(kv).name;
        engine.copy(0, 1, 20);
        EXPECT_EQ(engine.n_past(1), 20);
        const std::vector<int32_t> last(ids.begin() + 20, ids.end());
        EXPECT_EQ(run(engine, last, 3, 1).back(), expected.back()) << info(kv).name;
    }
}

// With one layer, what the cache holds depends on each token alone, so dropping tokens and moving the rest down must
// equal a fresh run over the remaining tokens.
TEST(Engine, ContextShiftOfOneLayerEqualsAFreshRun) {
    TemporaryFolder folder;
    TinyModel tiny({.n_layer = 1, .head_dim = 32});
    const ModelPtr m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(40);
    for (const DType kv : kCacheTypes) {
        Engine shifted = make_engine(m, Mode::off, kv), fresh = make_engine(m, Mode::off, kv);
        run(shifted, {ids.begin(), ids.begin() + 39}, 39);
        shifted.shift(0, 4, 13);
        EXPECT_EQ(shifted.n_past(0), 26);
        std::vector<int32_t> rest(ids.begin(), ids.begin() + 4);
        rest.insert(rest.end(), ids.begin() + 17, ids.end());
        const auto a = run(shifted, {ids.back()}, 1).back(), b = run(fresh, rest, 64).back();
        for (size_t i = 0; i < a.size(); ++i)
            EXPECT_NEAR(a[i], b[i], kv == DType::F32 ? 1e-4 : kv == DType::F16 ? 1e-2 : 5e-2) << info(kv).name;
    }
}

// Contexts of several runs of positions (attention.cpp), whose states are added: by one thread or many, in steps of any
// size, with few KV heads (runs shared out among threads) and with windows.
TEST(Engine, LongContextsDoNotDependOnThreadsOrStepsAndMatchAReference) {
    const auto ids = some_ids(2300);
    for (const int window : {0, 1500}) {
        TemporaryFolder folder;
        TinyModel tiny({.n_layer = 1, .n_ff = 64, .n_head_kv = 1, .head_dim = 32, .sliding_window = window});
        const ModelPtr m = tiny.write(folder / "m.gguf");
        for (const DType kv : kCacheTypes) {
            const auto logits = [&](int threads, size_t step, bool company) {
                const plan::Plan plan =
                    plan::solve(*m, {.n_ctx = 2304, .n_seq = 2, .n_batch = 512, .kv_type = kv, .mode = Mode::off});
                Engine engine = Engine::load(m, plan, {.n_threads = threads});
                std::vector<BatchToken> batch;
                for (size_t i = 0; i < ids.size(); ++i) {
                    batch.push_back({ids[i], 0, i + 1 == ids.size()});
                    if (company && i < 700) batch.push_back({ids[i + 1], 1, false});
                    if (i % step + 1 == step || i + 1 == ids.size()) {
                        engine.step(batch);
                        batch.clear();
                    }
                }
                return std::vector<float>(engine.logits(0).begin(), engine.logits(0).end());
            };
            const auto expected = logits(1, 512, false);
            EXPECT_EQ(logits(2, 512, true), expected) << info(kv).name;
            EXPECT_EQ(logits(3, 97, false), expected) << info(kv).name;
            EXPECT_EQ(logits(4, 1, false), expected) << info(kv).name;
            if (kv != DType::F32) continue;
            const auto reference = tiny.logits(ids).back();
            for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], reference[i], 1e-4);
        }
    }
}

TEST(Engine, CacheInBlocksNeedsHeadsOfWholeBlocks) {
    TemporaryFolder folder;
    TinyModel tiny({.head_dim = 16});
    const ModelPtr m = tiny.write(folder / "m.gguf");
    try {
        make_engine(m, Mode::off, DType::Q8_0);
        FAIL() << "expected an error";
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "a KV cache in Q8_0 needs attention heads of a multiple of 32 elements, but this "
                               "model's have 16: use f16");
    }
}

TEST(Engine, BadRequestsAreRefusedAndChangeNothing) {
    TemporaryFolder folder;
    TinyModel tiny({});
    const ModelPtr m = tiny.write(folder / "m.gguf");
    Engine engine = make_engine(m, Mode::off);
    const auto message = [&](auto&& f) -> std::string {
        try {
            f();
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    const auto step = [&](std::vector<BatchToken> batch) { return message([&] { engine.step(batch); }); };
    EXPECT_EQ(step({{64, 0, true}}), "token id 64 is not in the vocabulary, expected 0 to 63");
    EXPECT_EQ(step({{-1, 0, true}}), "token id -1 is not in the vocabulary, expected 0 to 63");
    EXPECT_EQ(step({{1, 1, true}}), "sequence 1 does not exist, expected 0 to 0");
    EXPECT_EQ(step(std::vector<BatchToken>(257, {1, 0, false})), "sequence 0 would exceed its context of 256 tokens");
    EXPECT_EQ(engine.n_past(0), 0);
    EXPECT_EQ(message([&] { make_engine(m, Mode::predict); }),
              "sparsity mode 'predict' needs predictors, which this model does not have: use exact or off, or make them with `powerinfer complete`");
    EXPECT_THAT(message([&] { Engine::load(m, plan::solve(*m, {}), {.isa = "mmx"}); }), testing::HasSubstr("mmx"));
}

TEST(Engine, DamagedWeightsAreNamedByLayer) {
    TemporaryFolder folder;
    TinyModel tiny({.n_layer = 3});
    tiny.row("blk.1.attn_v.weight", 3)[5] = std::numeric_limits<float>::infinity();
    const ModelPtr m = tiny.write(folder / "m.gguf");
    Engine engine = make_engine(m, Mode::off);
    try {
        const std::vector<BatchToken> batch = {{3, 0, true}};
        engine.step(batch);
        FAIL() << "expected an error";
    } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::internal);
        EXPECT_THAT(e.what(), testing::HasSubstr("layer 1"));
    }
    EXPECT_EQ(engine.n_past(0), 0);
}

}  // namespace
}  // namespace powerinfer::engine
