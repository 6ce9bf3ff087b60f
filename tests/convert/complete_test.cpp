// A completed file computes what the model it was made of computes, neurons in another order and fewer of them.
#include "convert/complete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"
#include "error_message.h"
#include "sparsity/neuron_order.h"
#include "tiny_model.h"

namespace powerinfer::convert {
namespace {

using sparsity::Mode;
using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

/// A predictor that lets neurons [0, n) of `before` through, by biases alone.
sparsity::PredictorSet first_neurons(const model::Model& m, int n) {
    sparsity::PredictorSet set;
    set.spec.relu = false;
    set.spec.input = model::PredictorInput::normed;
    set.n_embd = m.spec.n_embd;
    set.n_ff = m.spec.n_ff;
    for (int layer = 0; layer < m.spec.n_layer; ++layer) {
        sparsity::LayerPredictor p;
        p.fc1 = {DType::F32, set.n_embd, 1, std::vector<uint8_t>(static_cast<size_t>(set.n_embd) * 4)};
        p.fc2 = {DType::F32, 1, set.n_ff, std::vector<uint8_t>(static_cast<size_t>(set.n_ff) * 4)};
        for (int j = 0; j < set.n_ff; ++j) p.fc2_bias.push_back(j < n ? 1.0f : -1.0f);
        set.layers.push_back(std::move(p));
    }
    return set;
}

sparsity::ActivationProfile some_profile(const model::Model& m) {
    sparsity::ActivationProfile profile = sparsity::empty_profile(m);
    profile.n_tokens = 1000;
    for (int i = 0; i < m.spec.n_layer; ++i) {
        for (int j = 0; j < m.spec.n_ff; ++j)
            profile.layers[static_cast<size_t>(i)].fires[static_cast<size_t>(j)] = static_cast<uint64_t>((j * 37 + i) % 97);
    }
    return profile;
}

std::vector<float> logits_of(const std::shared_ptr<const model::Model>& m, Mode mode) {
    engine::Engine engine =
        engine::Engine::load(m, plan::solve(*m, {.n_ctx = 64, .kv_type = DType::F32, .mode = mode}), {.n_threads = 1});
    std::vector<engine::BatchToken> tokens;
    for (int i = 0; i < 12; ++i) tokens.push_back({(i * 29 + 3) % 64, 0, i == 11});
    engine.step(tokens);
    return {engine.logits(0).begin(), engine.logits(0).end()};
}

std::shared_ptr<const model::Model> opened(const std::string& path) {
    return std::make_shared<const model::Model>(
        model::load(std::make_shared<const formats::GgufFile>(formats::GgufFile::open(path))));
}

TEST(Complete, ComputesTheSameInAnotherOrder) {
    for (const bool biases : {false, true}) {
        TemporaryFolder folder;
        TinyModel tiny({.biases = biases});
        const auto before = tiny.write(folder / "m.gguf");
        write_complete(*before, first_neurons(*before, 40), some_profile(*before), {.output = folder / "c.gguf", .keys = {}, .log = {}, .progress = {}});
        const auto after = opened(folder / "c.gguf");
        EXPECT_EQ(after->file->magic(), formats::GgufMagic::gguf);
        EXPECT_TRUE(after->tensors.layers[0].ffn_down_t);

        const auto profile = sparsity::read_profile(*after->file);
        EXPECT_TRUE(std::is_sorted(profile.layers[1].fires.rbegin(), profile.layers[1].fires.rend()));
        const auto order = sparsity::read_neuron_order(*after->file, 2, 96);
        for (size_t j = 0; j < 96; ++j) EXPECT_EQ(profile.layers[1].fires[j], some_profile(*before).layers[1].fires[static_cast<size_t>(order[1][j])]);

        const std::vector<float> dense = logits_of(before, Mode::off), off = logits_of(after, Mode::off),
                                 exact = logits_of(after, Mode::exact), predict = logits_of(after, Mode::predict);
        std::set<int> first;
        for (int j = 0; j < 40; ++j) first.insert(j);
        std::vector<int32_t> ids;
        for (int i = 0; i < 12; ++i) ids.push_back((i * 29 + 3) % 64);
        const auto expected = tiny.logits(ids, [&](int, const auto&) { return first; }).back();
        double moved = 0;
        for (size_t v = 0; v < dense.size(); ++v) {
            EXPECT_NEAR(off[v], dense[v], 1e-4);
            EXPECT_EQ(exact[v], off[v]);
            EXPECT_NEAR(predict[v], expected[v], 1e-4);
            moved = std::max(moved, std::fabs(static_cast<double>(dense[v]) - expected[v]));
        }
        EXPECT_GT(moved, 0.1) << "the predictor leaves nothing out";
    }
}

TEST(Complete, PredictorsOfTheOriginalMakeAFileOfTheOriginal) {
    TemporaryFolder folder;
    const auto before = TinyModel({}).write(folder / "m.gguf");
    sparsity::PredictorSet set = first_neurons(*before, 40);
    set.spec = {};
    for (auto& layer : set.layers) layer.fc2_bias.clear();
    write_complete(*before, set, some_profile(*before), {.output = folder / "c.gguf", .keys = {}, .log = {}, .progress = {}});
    const formats::GgufFile file = formats::GgufFile::open(folder / "c.gguf");
    EXPECT_EQ(file.magic(), formats::GgufMagic::pwri);
    EXPECT_TRUE(file.has("powerinfer.sparse_threshold"));
}

TEST(Complete, QuantisesOnlyWhatIsNotQuantisedYetUnlessAllowed) {
    TemporaryFolder folder;
    const auto before = TinyModel({}).write(folder / "m.gguf", DType::Q8_0);
    CompleteOptions options;
    options.output = folder / "c.gguf";
    const auto set = first_neurons(*before, 96);
    EXPECT_THAT(test::message_of([&] { write_complete(*before, set, some_profile(*before), options); }),
                HasSubstr("--allow-requantize"));
    options.allow_requantize = true;
    write_complete(*before, set, some_profile(*before), options);
    const auto a = logits_of(before, Mode::off), b = logits_of(opened(options.output), Mode::predict);
    for (size_t v = 0; v < a.size(); ++v) EXPECT_NEAR(a[v], b[v], 0.1);
}

TEST(Complete, WhatDoesNotFitIsNamed) {
    TemporaryFolder folder;
    const auto before = TinyModel({}).write(folder / "m.gguf");
    CompleteOptions options;
    options.output = folder / "m.gguf";
    EXPECT_THAT(test::message_of([&] { write_complete(*before, first_neurons(*before, 9), some_profile(*before), options); }),
                HasSubstr("the input file itself"));
    options.output = folder / "c.gguf";
    sparsity::PredictorSet set = first_neurons(*before, 9);
    set.layers.pop_back();
    EXPECT_THAT(test::message_of([&] { write_complete(*before, set, some_profile(*before), options); }),
                HasSubstr("predictors of 1 layers"));
    set = first_neurons(*before, 9);
    set.fingerprint = 5;
    EXPECT_THAT(test::message_of([&] { write_complete(*before, set, some_profile(*before), options); }),
                HasSubstr("another model of the same shape"));
    EXPECT_EQ(folder.n_files(), 1u);
}

}  // namespace
}  // namespace powerinfer::convert
