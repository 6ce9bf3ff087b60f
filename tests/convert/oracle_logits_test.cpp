// From a published checkpoint to numbers: converted and run here, the logits are those that another program
// computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "convert/convert.h"
#include "convert/predictor_import.h"
#include "engine/engine.h"
#include "formats/safetensors.h"
#include "model/model.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::convert {
namespace {

struct Case {
    const char* folder;
    const char* outtype;  ///< one that keeps the stored values
    sparsity::Mode mode;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.folder;
}

class OracleLogits : public testing::TestWithParam<Case> {};

TEST_P(OracleLogits, EqualTheStoredOnes) {
    SHARED_PATH_OR_SKIP(folder, GetParam().folder);
    const test::TemporaryFolder scratch;
    ConvertOptions options;
    options.folder = folder.string();
    options.output = scratch / "model.gguf";
    options.outtype = GetParam().outtype;
    if (GetParam().mode == sparsity::Mode::predict) options.predictor = (folder / "predictor").string();
    convert_folder(options);

    const auto file = std::make_shared<const formats::GgufFile>(formats::GgufFile::open(options.output));
    const auto model = std::make_shared<const model::Model>(model::load(file));
    plan::Budget budget;
    budget.kv_type = DType::F32;
    budget.mode = GetParam().mode;
    auto engine = engine::Engine::load(model, plan::solve(*model, budget));

    const auto expected = formats::SafeTensorsFile::open((folder / "expected.safetensors").string());
    std::vector<engine::BatchToken> prompt;
    for (const int64_t id : expected.at("prompt_ids").to_ints())
        prompt.push_back({static_cast<int32_t>(id), 0, true});
    engine.step(prompt);
    const std::vector<float> wanted = expected.at("logits").to_floats();
    const size_t n_vocab = wanted.size() / prompt.size();
    double worst = 0;
    for (size_t t = 0; t < prompt.size(); ++t) {
        ASSERT_EQ(engine.logits(t).size(), n_vocab);
        for (size_t i = 0; i < n_vocab; ++i)
            worst =
                std::max(worst, std::abs(static_cast<double>(engine.logits(t)[i]) - wanted[t * n_vocab + i]));
    }
    EXPECT_LT(worst, 2e-3) << "largest difference of a logit";

    size_t last = prompt.size() - 1;
    for (const int64_t id : expected.at("greedy_ids").to_ints()) {
        const auto logits = engine.logits(last);
        const auto best = std::ranges::max_element(logits) - logits.begin();
        ASSERT_EQ(best, id);
        const engine::BatchToken next{static_cast<int32_t>(id), 0, true};
        engine.step({&next, 1});
        last = 0;
    }
}

/// The same model without predictors, and those of its folder imported.
TEST(PredictorImport, GivesTheStoredLogits) {
    SHARED_PATH_OR_SKIP(folder, "oracles/llama-relu-predictors");
    const test::TemporaryFolder scratch;
    ConvertOptions options;
    options.folder = folder.string();
    options.output = scratch / "model.gguf";
    options.outtype = "f32";
    options.activation = model::Activation::relu;
    convert_folder(options);
    const auto file = std::make_shared<const formats::GgufFile>(formats::GgufFile::open(options.output));
    const model::Model plain = model::load(file);
    sparsity::write_predictors(scratch / "p.gguf", import_predictors((folder / "predictor").string(), plain, DType::F32));
    const sparsity::PredictorSet set = sparsity::read_predictors(scratch / "p.gguf");
    const auto model = sparsity::with_predictors(plain, set);
    plan::Budget budget;
    budget.kv_type = DType::F32;
    budget.mode = sparsity::Mode::predict;
    auto engine = engine::Engine::load(model, plan::solve(*model, budget));
    const auto expected = formats::SafeTensorsFile::open((folder / "expected.safetensors").string());
    std::vector<engine::BatchToken> prompt;
    for (const int64_t id : expected.at("prompt_ids").to_ints()) prompt.push_back({static_cast<int32_t>(id), 0, true});
    engine.step(prompt);
    const std::vector<float> wanted = expected.at("logits").to_floats();
    const size_t n_vocab = wanted.size() / prompt.size();
    double worst = 0;
    for (size_t t = 0; t < prompt.size(); ++t) {
        for (size_t i = 0; i < n_vocab; ++i)
            worst = std::max(worst, std::abs(static_cast<double>(engine.logits(t)[i]) - wanted[t * n_vocab + i]));
    }
    EXPECT_LT(worst, 2e-3) << "largest difference of a logit";
}

INSTANTIATE_TEST_SUITE_P(Llamas, OracleLogits,
                         testing::Values(Case{"oracles/llama-3", "f32", sparsity::Mode::off},
                                         Case{"oracles/llama-linear-rope", "f32", sparsity::Mode::off},
                                         Case{"oracles/llama-relu", "f32", sparsity::Mode::off},
                                         Case{"oracles/llama-relu", "auto", sparsity::Mode::exact},
                                         Case{"oracles/llama-silu", "f32", sparsity::Mode::off},
                                         Case{"oracles/llama-yarn", "f32", sparsity::Mode::off},
                                         Case{"oracles/mistral", "f32", sparsity::Mode::off},
                                         Case{"oracles/bamboo", "f32", sparsity::Mode::off},
                                         Case{"oracles/bamboo", "f32", sparsity::Mode::exact},
                                         Case{"oracles/llama-relu-predictors", "f32",
                                              sparsity::Mode::predict},
                                         Case{"models/fable-relu", "f16", sparsity::Mode::exact}));

}  // namespace
}  // namespace powerinfer::convert
