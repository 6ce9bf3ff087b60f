// Costs of a feed-forward from the rates of kernels, and the choices that follow.
#include "plan/kernel_rates.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/plan.h"
#include "tiny_model.h"

namespace powerinfer::plan {
namespace {

using sparsity::Mode;
using test::TemporaryFolder;
using test::TinyModel;

/// Bytes per second that make times easy to work out.
RatesByType rates_of(DType type, double rows, double sums) {
    return {{type, {.dense = 1000, .rows = rows, .sums = sums, .prompt = 800, .prompt_lists = 400}}};
}

TEST(KernelRates, RoundTrip) {
    const RatesByType rates = {{DType::Q4_0, {1e9, 2e9, 3e9, 4e9, 0}}, {DType::F16, {5.5, 6, 7, 8, 9}}};
    const auto read = rates_from_json(to_json(rates, "a machine"), "a machine", "kernels.json");
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), size_t{2});
    EXPECT_EQ(read->at(DType::Q4_0).sums, 3e9);
    EXPECT_EQ(read->at(DType::Q4_0).prompt_lists, 0);
    EXPECT_EQ(read->at(DType::F16).dense, 5.5);
    EXPECT_FALSE(rates_from_json(to_json(rates, "a machine"), "another", "kernels.json"));
}

TEST(KernelRates, DamagedFilesAreNamed) {
    const auto message = [](const std::string& text) -> std::string {
        try {
            rates_from_json(text, "m", "kernels.json");
        } catch (const Error& e) {
            EXPECT_EQ(e.kind(), ErrorKind::bad_file);
            return e.what();
        }
        return "no error";
    };
    EXPECT_EQ(message("["), "'kernels.json' must be a JSON object with \"machine\" and \"formats\"");
    EXPECT_EQ(message(R"({"machine": 1, "formats": {}})"), "'kernels.json' must be a JSON object with \"machine\" and \"formats\"");
    EXPECT_EQ(message(R"({"machine": "m", "formats": {"Q9": {}}})"), "'kernels.json': formats.Q9 is not a number format with its rates");
    EXPECT_EQ(message(R"({"machine": "m", "formats": {"F16": {"dense": 1, "rows": -1}}})"),
              "'kernels.json': formats.F16.rows must be a number that is not negative");
}

TEST(KernelRates, CostOfALayer) {
    float something = 0;
    const auto matrix = [&](int64_t n_in, int64_t n_out) { return TensorView{&something, DType::F32, {n_in, n_out, 1, 1}}; };
    model::LayerTensors layer{};
    layer.ffn_gate = layer.ffn_up = matrix(10, 100);  // 4000 bytes each
    layer.ffn_down_t = matrix(10, 100);
    layer.fc1 = matrix(10, 5);    // 200 bytes
    layer.fc2 = matrix(5, 100);   // 2000 bytes
    const FfnCost cost = ffn_cost(layer, rates_of(DType::F32, 500, 250), 0.25, 0.5);
    EXPECT_DOUBLE_EQ(cost.off, 4 + 4 + 16);
    EXPECT_DOUBLE_EQ(cost.exact, 4 + 0.25 * 8 + 0.25 * 16);
    EXPECT_DOUBLE_EQ(cost.predict, 0.2 + 2 + 0.5 * 8 + 0.25 * 8 + 0.25 * 16);
    layer.ffn_down_t = {};
    layer.ffn_down = matrix(100, 10);
    EXPECT_DOUBLE_EQ(ffn_cost(layer, rates_of(DType::F32, 500, 250), 0.25, 0.5).off, 4 + 4 + 4);
    EXPECT_EQ(ffn_cost(layer, rates_of(DType::F16, 500, 250), 0.25, 0.5).off, 0);  // not known
    EXPECT_DOUBLE_EQ(dense_from(rates_of(DType::F32, 1, 1)[DType::F32]), 8);
    EXPECT_EQ(dense_from({.prompt = 5}), 0);
}

/// A model of which the file says how many neurons fire; its predictors are not those that were evaluated.
std::shared_ptr<const model::Model> evaluated(const std::string& path, double share, bool by_neuron = true) {
    TinyModel tiny({.n_embd = 64, .n_layer = 3, .n_ff = 128, .predictors = by_neuron});
    tiny.write(path, DType::F16);
    auto file = std::make_shared<formats::GgufFile>(formats::GgufFile::open(path));
    const auto set = [&](const char* name, double value) {
        formats::GgufValue v;
        v.type = formats::GgufType::f64;
        v.data = value;
        file->override_key(std::string("powerinfer.evaluation.") + name, v);
    };
    file->override_key("powerinfer.evaluation.version", formats::GgufValue::of_u32(1));
    file->override_key("powerinfer.evaluation.weights", formats::GgufValue::of_u64(1));
    file->override_key("powerinfer.evaluation.tokens", formats::GgufValue::of_u64(100));
    file->override_key("powerinfer.evaluation.text", formats::GgufValue::of_string("a text"));
    for (const char* name : {"perplexity", "perplexity_off"}) set(name, 5);
    for (const char* name : {"kl", "recall", "contribution_recall"}) set(name, 1);
    for (const char* name : {"active_share", "true_active_share"}) set(name, share);
    set("max_perplexity_ratio", 1.01);
    return std::make_shared<model::Model>(model::load(file));
}

TEST(KernelRates, LayersThatAreTooDenseAreComputedWhole) {
    const TemporaryFolder folder;
    const auto modes = [&](double share, Mode asked, RatesByType rates, bool by_neuron = true) {
        const auto m = evaluated(folder / "m.gguf", share, by_neuron);
        const Plan plan = solve(*m, {.n_ctx = 64, .mode = asked, .rates = std::move(rates)});
        for (const LayerPlan& l : plan.layers) EXPECT_EQ(l.relay_down, l.mode != Mode::off && !by_neuron);
        return std::pair(plan.mode, plan.layers[1].mode);
    };
    const RatesByType half = rates_of(DType::F16, 500, 500);
    // exact: 1 + s (2 + 2) against 1 + 1 + 2: it pays below three quarters.
    EXPECT_EQ(modes(0.7, Mode::automatic, half), std::pair(Mode::exact, Mode::exact));
    EXPECT_EQ(modes(0.8, Mode::automatic, half), std::pair(Mode::exact, Mode::off));
    EXPECT_EQ(modes(0.8, Mode::exact, half), std::pair(Mode::exact, Mode::exact));      // asked for
    EXPECT_EQ(modes(0.8, Mode::automatic, {}), std::pair(Mode::exact, Mode::exact));    // nothing measured
    EXPECT_EQ(modes(0.8, Mode::automatic, rates_of(DType::Q4_0, 500, 500)), std::pair(Mode::exact, Mode::exact));
}

// What was measured may choose how fast, never what comes out: an ordinary file sums in another order when computed whole, and a
// predictor leaves neurons out.
TEST(KernelRates, MeasuredTimesChangeNoResult) {
    const TemporaryFolder folder;
    const RatesByType slow = rates_of(DType::F16, 1, 1);
    const auto plain = evaluated(folder / "m.gguf", 0.9, false);
    EXPECT_EQ(solve(*plain, {.n_ctx = 64, .rates = slow}).layers[0].mode, Mode::exact);
    const auto m = evaluated(folder / "p.gguf", 0.9);
    EXPECT_EQ(solve(*m, {.n_ctx = 64, .mode = Mode::predict, .rates = slow}).layers[0].mode, Mode::predict);
}

TEST(KernelRates, ExplainTellsTheChoice) {
    const TemporaryFolder folder;
    const auto m = evaluated(folder / "m.gguf", 0.8);
    const RatesByType half = rates_of(DType::F16, 500, 500);
    const Plan plan = solve(*m, {.n_ctx = 64, .mode = Mode::automatic, .rates = half});
    const std::string text = explain(plan, half);
    EXPECT_NE(text.find("3 of 3 layers are faster without"), std::string::npos) << text;
    EXPECT_NE(text.find("shares from the evaluation in the file"), std::string::npos) << text;
    EXPECT_NE(text.find("| 2 | 80.0 % | 80.0 % | 65536000.0 | 68812800.0 |"), std::string::npos) << text;
    const auto plain = std::make_shared<model::Model>(
        model::load(std::make_shared<formats::GgufFile>(formats::GgufFile::open(folder / "m.gguf"))));
    EXPECT_NE(explain(solve(*plain, {.n_ctx = 64, .rates = half}), half).find("is not known"), std::string::npos);
}

}  // namespace
}  // namespace powerinfer::plan
