#include "learn/predictor_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "error_message.h"
#include "learn/evaluate.h"
#include "learn_support.h"

namespace powerinfer::learn {
namespace {

using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

/// A model whose gates have rank 4 on top of a bias that keeps most of them low.
TinyModel low_rank_model() {
    TinyModel tiny({.n_embd = 32, .n_layer = 2, .n_ff = 96});
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (int layer = 0; layer < 2; ++layer) {
        std::vector<float> a(96 * 4), b(4 * 32);
        for (float& v : a) v = normal(random) * 0.5f;
        for (float& v : b) v = normal(random) * 0.4f;
        for (int64_t j = 0; j < 96; ++j) {
            float* row = tiny.row("blk." + std::to_string(layer) + ".ffn_gate.weight", j);
            for (size_t i = 0; i < 32; ++i) {
                row[i] = 0;
                for (size_t k = 0; k < 4; ++k) row[i] += a[static_cast<size_t>(j) * 4 + k] * b[k * 32 + i];
            }
        }
    }
    return tiny;
}

struct Fixture {
    TemporaryFolder folder;
    TinyModel tiny = low_rank_model();
    std::shared_ptr<const model::Model> model = tiny.write(folder / "m.gguf");
    std::vector<int32_t> ids = random_ids(1600, 1), check_ids = random_ids(600, 2);
    Text text{.ids = ids, .window = 64, .bos = {}}, check{.ids = check_ids, .window = 64, .bos = {}};
    MakerOptions options;

    Fixture() {
        options.folder = folder / "recording";
        options.type = DType::F32;
        options.n_threads = 1;
        options.n_most_rank = 8;
        options.fixed_rank = true;
    }
    static std::vector<int32_t> random_ids(size_t n, uint32_t seed) {
        std::mt19937 random(seed);
        std::vector<int32_t> list;
        for (size_t i = 0; i < n; ++i) list.push_back(static_cast<int32_t>(random() % 64));
        return list;
    }
    SelectionCounts measured(const sparsity::PredictorSet& set) {
        EvaluateOptions how;
        how.budget.n_ctx = 64;
        how.budget.mode = sparsity::Mode::predict;
        how.engine.n_threads = 1;
        how.n_decode = 0;
        return evaluate(sparsity::with_predictors(*model, set), check_ids, {}, how).total();
    }
};

TEST(PredictorMaker, SvdFindsAGateOfLowRank) {
    Fixture f;
    f.options.target = {Target::Kind::recall, 0.995};
    const sparsity::PredictorSet set = make_predictors(f.model, f.text, f.check, f.options);
    const SelectionCounts c = f.measured(set);
    EXPECT_GT(c.contribution_recall(), 0.985);
    EXPECT_LT(c.active_share(), c.true_active_share() + 0.02);  // no more than those that fire
}

TEST(PredictorMaker, TheOriginalsFormKeepsItsThresholdToTheLayer) {
    Fixture f;
    f.options.original_form = true;
    f.options.target = {Target::Kind::recall, 0.995};
    const sparsity::PredictorSet set = make_predictors(f.model, f.text, f.check, f.options);
    EXPECT_TRUE(set.original_can_run());
    EXPECT_EQ(set.layers[0].fc1.n_out, 8);  // a linear predictor of the gate's rank 4, at twice that rank
    EXPECT_EQ(set.spec.thresholds.size(), 2u);
    EXPECT_GT(f.measured(set).contribution_recall(), 0.985);
}

TEST(PredictorMaker, TrainingGoesOnWhereItWasStopped) {
    Fixture f;
    f.options.maker = Maker::train;
    f.options.n_epochs = 2;
    f.options.target = {Target::Kind::share, 0.6};
    const sparsity::PredictorSet set = make_predictors(f.model, f.text, f.check, f.options);
    const SelectionCounts c = f.measured(set);
    EXPECT_LT(c.active_share(), 0.65);
    EXPECT_GT(c.contribution_recall(), 0.98);
    bool trained = false;
    f.options.log = [&](LogLevel, std::string_view line) { trained |= line.find("loss at the start") != std::string_view::npos; };
    const sparsity::PredictorSet again = make_predictors(f.model, f.text, f.check, f.options);
    EXPECT_FALSE(trained);
    EXPECT_EQ(again.layers[1].fc2.data, set.layers[1].fc2.data);
}

TEST(PredictorMaker, SignsOfGatesThatAreAllSignsAreEnough) {
    Fixture f;
    // Gates of +-1: on inputs of +-1 the count of equal signs is the gate itself.
    std::mt19937 random(3);
    Multiplier multiply(1);
    Floats x(800, 32), worth(96, 800);
    for (float& v : x.values) v = random() % 2 ? 1.0f : -1.0f;
    TinyModel tiny({});
    for (int64_t j = 0; j < 96; ++j) {
        for (size_t i = 0; i < 32; ++i) tiny.row("blk.0.ffn_gate.weight", j)[i] = random() % 2 ? 1.0f : -1.0f;
        for (int64_t t = 0; t < 800; ++t) {
            float gate = -6;
            for (int64_t i = 0; i < 32; ++i) gate += tiny.row("blk.0.ffn_gate.weight", j)[i] * x.row(t)[i];
            worth.row(j)[t] = gate > 0 ? gate * gate : 0.0f;
        }
    }
    const auto model = tiny.write(f.folder / "signs.gguf");
    const std::vector<Candidate> made = sign_candidates(*model, 0, x, worth, multiply);
    const CurvePoint& careful = made.at(0).curve.points.front();
    EXPECT_EQ(careful.lost, 0);
    EXPECT_NEAR(careful.share, made[0].curve.true_share, 0.01);
}

TEST(PredictorMaker, SharesAndPerplexityAreTargetsToo) {
    Fixture f;
    f.options.target = {Target::Kind::share, 0.1};
    EXPECT_LT(f.measured(make_predictors(f.model, f.text, f.check, f.options)).active_share(), 0.13);
    f.options.target = {Target::Kind::perplexity, 0.01};
    EXPECT_LT(f.measured(make_predictors(f.model, f.text, f.check, f.options)).active_share(), 0.7);
}

TEST(PredictorMaker, TargetsAreReadAsWritten) {
    EXPECT_EQ(target_from_text("ppl:0.5%").value, 0.005);
    EXPECT_EQ(target_from_text("share:0.15").kind, Target::Kind::share);
    EXPECT_EQ(text_of(target_from_text("recall:0.98")), "recall:0.98");
    for (const char* text : {"", "ppl", "ppl:", "ppl:x", "ppl:-1", "recall:1.5", "speed:1", "share:0", "ppl:0.5%%", "ppl:nan"})
        EXPECT_THAT(test::message_of([&] { target_from_text(text); }), HasSubstr("ppl:0.5%")) << text;
}

TEST(PredictorMaker, WhatCannotBeDoneIsSaid) {
    Fixture f;
    const auto message = [&] { return test::message_of([&] { make_predictors(f.model, f.text, f.check, f.options); }); };
    f.options.n_most_rank = 64;
    EXPECT_THAT(message(), HasSubstr("rank is 64"));
    f.options.n_most_rank = 8;
    f.options.type = DType::I32;
    EXPECT_THAT(message(), HasSubstr("I32"));
    f.options.type = DType::F32;
    f.options.maker = Maker::sign;
    f.options.original_form = true;
    EXPECT_THAT(message(), HasSubstr("sign"));
    f.options.original_form = false;
    f.text.ids = f.text.ids.first(100);
    EXPECT_THAT(message(), HasSubstr("100 tokens"));
    f.text.ids = f.ids;
    f.model = TinyModel({.activation = "silu"}).write(f.folder / "silu.gguf");
    EXPECT_THAT(message(), HasSubstr("silu"));
}

}  // namespace
}  // namespace powerinfer::learn
