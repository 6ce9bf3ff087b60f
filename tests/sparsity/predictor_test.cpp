#include "sparsity/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "error_message.h"
#include "sparsity/neuron_order.h"
#include "temporary_folder.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufValue;
using test::TemporaryFolder;
using testing::HasSubstr;

PredictorMatrix matrix(int64_t n_in, int64_t n_out) {
    PredictorMatrix m{DType::F32, n_in, n_out, std::vector<uint8_t>(static_cast<size_t>(n_in * n_out) * sizeof(float))};
    auto* values = reinterpret_cast<float*>(m.data.data());
    for (int64_t i = 0; i < n_in * n_out; ++i) values[i] = static_cast<float>(i);
    return m;
}

PredictorSet small_set(bool biases) {
    PredictorSet set;
    set.maker = "svd";
    set.fingerprint = 77;
    set.n_embd = 40;
    set.n_ff = 6;
    set.spec.thresholds = {0.5f, -1.5f};
    for (int i = 0; i < 2; ++i) {
        LayerPredictor p;
        p.fc1 = matrix(40, 3 + i);
        p.fc2 = matrix(3 + i, 6);
        if (biases) p.fc2_bias = {0, 1, 2, 3, 4, 5};
        set.layers.push_back(p);
    }
    return set;
}

TEST(PredictorFile, IsReadAsItWasWritten) {
    TemporaryFolder folder;
    PredictorSet set = small_set(true);
    set.spec.relu = false;
    set.spec.input = model::PredictorInput::normed;
    write_predictors(folder / "p.gguf", set);
    const PredictorSet back = read_predictors(folder / "p.gguf");
    EXPECT_EQ(back.maker, "svd");
    EXPECT_EQ(back.fingerprint, 77u);
    EXPECT_FALSE(back.spec.relu);
    EXPECT_EQ(back.spec.input, model::PredictorInput::normed);
    EXPECT_EQ(back.spec.thresholds, set.spec.thresholds);
    ASSERT_EQ(back.n_layer(), 2);
    EXPECT_EQ(back.layers[1].fc1.n_out, 4);
    EXPECT_EQ(back.layers[1].fc2.data, set.layers[1].fc2.data);
    EXPECT_EQ(back.layers[0].fc2_bias, set.layers[0].fc2_bias);

    PredictorSet signs;
    signs.spec.kind = model::PredictorKind::sign;
    signs.n_embd = 40;
    signs.n_ff = 2;
    signs.layers.resize(1);
    signs.layers[0].signs = {1, 2, 3, 4};
    write_predictors(folder / "s.gguf", signs);
    EXPECT_EQ(read_predictors(folder / "s.gguf").layers[0].signs, signs.layers[0].signs);
}

TEST(PredictorFile, OnlyWhatTheOriginalCanRunIsSaidToBe) {
    PredictorSet set = small_set(false);
    EXPECT_TRUE(set.original_can_run());
    // The lowest threshold keeps at least what each layer's own keeps.
    for (const auto& [key, value] : predictor_keys(set)) {
        if (key == "powerinfer.sparse_threshold") {
            EXPECT_EQ(std::get<double>(value.data), -1.5);
        }
    }
    set.spec.relu = false;
    EXPECT_FALSE(set.original_can_run());
    set = small_set(true);
    EXPECT_FALSE(set.original_can_run());
    set = small_set(false);
    set.spec.input = model::PredictorInput::normed;
    EXPECT_FALSE(set.original_can_run());
}

/// A file of predictors with one thing changed.
std::string refusal(const std::function<void(std::map<std::string, GgufValue>&, std::map<std::string, TensorView>&)>& change) {
    TemporaryFolder folder;
    write_predictors(folder / "good.gguf", small_set(true));
    const formats::GgufFile good = formats::GgufFile::open(folder / "good.gguf");
    std::map<std::string, GgufValue> keys(good.keys().begin(), good.keys().end());
    std::map<std::string, TensorView> tensors;
    for (const auto& t : good.tensors()) tensors[t.name] = t.view;
    change(keys, tensors);
    formats::GgufWriter out(folder / "bad.gguf", formats::GgufMagic::gguf);
    for (const auto& [key, value] : keys) out.set(key, value);
    for (const auto& [name, view] : tensors) out.add_tensor(name, view.type, view.ne);
    out.begin_data();
    for (const auto& [name, view] : tensors) out.write(view.data, view.n_bytes());
    out.finish();
    return test::message_of([&] { read_predictors(folder / "bad.gguf"); });
}

TEST(PredictorFile, WhatIsWrongIsNamed) {
    EXPECT_THAT(refusal([](auto& k, auto&) { k["general.architecture"] = GgufValue::of_string("llama"); }), HasSubstr("'llama'"));
    EXPECT_THAT(refusal([](auto& k, auto&) { k["powerinfer.predictor.version"] = GgufValue::of_u32(9); }), HasSubstr("version 9"));
    EXPECT_THAT(refusal([](auto& k, auto&) { k["powerinfer.predictor.n_layer"] = GgufValue::of_u32(4000000000u); }), HasSubstr("n_layer"));
    EXPECT_THAT(refusal([](auto& k, auto&) { k["powerinfer.predictor.n_ff"] = GgufValue::of_u32(7); }), HasSubstr("fc2"));
    EXPECT_THAT(refusal([](auto& k, auto&) { k["powerinfer.predictor.n_layer"] = GgufValue::of_u32(1); }), HasSubstr("thresholds"));
    EXPECT_THAT(refusal([](auto&, auto& t) { t.erase("blk.1.fc1.weight"); }), HasSubstr("'blk.1.fc1.weight' is missing"));
    EXPECT_THAT(refusal([](auto&, auto& t) { t["blk.0.fc1.weight"].ne[0] = 20; }), HasSubstr("expected {40"));
    EXPECT_THAT(refusal([](auto&, auto& t) { t["blk.0.other"] = t["blk.0.fc2.bias"]; }), HasSubstr("of which predictors"));
    static const float nan[6] = {0, 1, NAN, 0, 0, 0};
    EXPECT_THAT(refusal([](auto&, auto& t) { t["blk.0.fc2.bias"].data = nan; }), HasSubstr("finite"));
}

TEST(NeuronOrder, HottestFirstAndBack) {
    ActivationProfile profile;
    profile.n_ff = 6;
    profile.layers.resize(2);
    profile.layers[0].fires = {5, 9, 1, 9, 0, 7};
    profile.layers[1].fires = {0, 0, 0, 1, 0, 0};
    const NeuronOrder order = order_by_firing(profile);
    EXPECT_EQ(order[0], (std::vector<int32_t>{1, 3, 5, 0, 2, 4}));
    EXPECT_EQ(order[1], (std::vector<int32_t>{3, 0, 1, 2, 4, 5}));
    EXPECT_EQ(reordered(profile, order).layers[0].fires, (std::vector<uint64_t>{9, 9, 7, 5, 1, 0}));
    const PredictorSet set = reordered(small_set(true), order);
    EXPECT_EQ(set.layers[0].fc2_bias, (std::vector<float>{1, 3, 5, 0, 2, 4}));
    float first = 0;
    std::memcpy(&first, set.layers[0].fc2.data.data() + 3 * sizeof(float), sizeof first);  // row 1 was row 3 of rank 3
    EXPECT_EQ(first, 9.0f);
    // Moving twice: the numbers of before the first move are what is stored.
    const auto keys = neuron_order_keys({{2, 0, 1}}, {{10, 11, 12}});
    EXPECT_EQ(std::get<std::vector<int64_t>>(keys[0].second.data), (std::vector<int64_t>{12, 10, 11}));
}

}  // namespace
}  // namespace powerinfer::sparsity
