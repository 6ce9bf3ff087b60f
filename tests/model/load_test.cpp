#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tiny_model.h"

namespace powerinfer::model {
namespace {

using formats::GgufFile;
using formats::GgufValue;
using formats::GgufWriter;
using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

/// A good file with one thing changed.
class ChangedModel {
  public:
    ChangedModel() {
        TinyModel({.predictors = true}).write(folder_ / "good.gguf");
        good_ = std::make_unique<GgufFile>(GgufFile::open(folder_ / "good.gguf"));
        for (const auto& [key, value] : good_->keys()) keys[key] = value;
        for (const auto& t : good_->tensors()) tensors[t.name] = t.view;
    }

    Model load(const LoadOptions& options = {}) const {
        const std::string path = folder_ / "changed.gguf";
        GgufWriter out(path, magic);
        for (const auto& [key, value] : keys) out.set(key, value);
        for (const auto& [name, view] : tensors) out.add_tensor(name, view.type, view.ne);
        out.begin_data();
        for (const auto& [name, view] : tensors) out.write(view.data, view.n_bytes());
        out.finish();
        return model::load(std::make_shared<const GgufFile>(GgufFile::open(path)), options);
    }

    std::string message() const {
        try {
            load();
        } catch (const Error& e) {
            return e.what();
        }
        return "loaded";
    }

    std::map<std::string, GgufValue> keys;
    std::map<std::string, TensorView> tensors;
    formats::GgufMagic magic = formats::GgufMagic::pwri;

  private:
    TemporaryFolder folder_;
    std::unique_ptr<GgufFile> good_;
};

TEST(Load, AGoodFileFillsTheSpec) {
    const Model m = ChangedModel().load();
    EXPECT_EQ(m.spec.architecture, "llama");
    EXPECT_EQ(m.spec.n_vocab, 64);
    EXPECT_EQ(m.spec.n_embd, 32);
    EXPECT_EQ(m.spec.n_layer, 2);
    EXPECT_EQ(m.spec.n_ff, 96);
    EXPECT_EQ(m.spec.n_head, 4);
    EXPECT_EQ(m.spec.n_head_kv, 2);
    EXPECT_EQ(m.spec.head_dim, 8);
    EXPECT_EQ(m.spec.activation, Activation::relu);
    EXPECT_TRUE(m.spec.has_predictors);
    EXPECT_FALSE(m.spec.tied_output);
    EXPECT_EQ(m.tensors.layers[1].fc2.ne[1], 96);
}

TEST(Load, EveryMissingTensorIsNamed) {
    const ChangedModel good;
    for (const auto& [name, view] : good.tensors) {
        if (name == "output.weight") continue;  // optional: tied to the embedding
        ChangedModel changed;
        changed.tensors.erase(name);
        EXPECT_THAT(changed.message(), HasSubstr(name)) << name;
        EXPECT_THAT(changed.message(), HasSubstr("is missing")) << name;
    }
}

TEST(Load, EveryMisshapedTensorIsNamedWithBothShapes) {
    const ChangedModel good;
    for (const auto& [name, view] : good.tensors) {
        ChangedModel changed;
        changed.tensors[name].ne[0] /= 2;
        EXPECT_THAT(changed.message(), HasSubstr("'" + name + "'")) << name;
        EXPECT_THAT(changed.message(), HasSubstr("expected {")) << name;
        if (view.ne[1] == 1) continue;
        ChangedModel transposed;
        transposed.tensors[name].ne[1] /= 2;
        // A smaller rank is told by fc2, which no longer fits.
        EXPECT_THAT(transposed.message(), HasSubstr(name.ends_with("fc1.weight") ? "fc2.weight" : name)) << name;
    }
}

TEST(Load, PredictorKeysFillTheSpec) {
    ChangedModel changed;
    changed.keys["powerinfer.predictor.input"] = GgufValue::of_string("normed");
    changed.keys["powerinfer.predictor.relu"] = GgufValue::of_bool(false);
    changed.keys["powerinfer.predictor.thresholds"] = GgufValue::of_f32s({0.5, -1});
    PredictorSpec spec = changed.load().spec.predictor;
    EXPECT_EQ(spec.kind, PredictorKind::mlp);
    EXPECT_EQ(spec.input, PredictorInput::normed);
    EXPECT_FALSE(spec.relu);
    EXPECT_EQ(spec.threshold_of(0), 0.5f);
    EXPECT_EQ(spec.threshold_of(1), -1.0f);
    // "Above" is "at least the next number".
    changed.keys["powerinfer.predictor.comparison"] = GgufValue::of_string(">");
    spec = changed.load().spec.predictor;
    EXPECT_EQ(spec.threshold_of(0), std::nextafter(0.5f, 1.0f));
}

TEST(Load, ContradictoryPredictorsAreNamed) {
    const auto message = [](const char* key, const GgufValue& value) {
        ChangedModel changed;
        changed.keys[key] = value;
        return changed.message();
    };
    EXPECT_THAT(message("powerinfer.predictor.kind", GgufValue::of_string("tree")), HasSubstr("'tree', expected one of: mlp, sign"));
    EXPECT_THAT(message("powerinfer.predictor.kind", GgufValue::of_string("sign")), HasSubstr("kind is said to be sign"));
    EXPECT_THAT(message("powerinfer.predictor.input", GgufValue::of_string("layer_input")), HasSubstr("layer's input"));
    EXPECT_THAT(message("powerinfer.predictor.comparison", GgufValue::of_string("<")), HasSubstr("'<', expected one of: >=, >"));
    EXPECT_THAT(message("powerinfer.predictor.thresholds", GgufValue::of_f32s({1, 2, 3})), HasSubstr("3 values"));
    EXPECT_THAT(message("powerinfer.predictor.thresholds", GgufValue::of_f32s({1, NAN})), HasSubstr("finite"));
    EXPECT_THAT(message("powerinfer.sparse_threshold", GgufValue::of_f32(INFINITY)), HasSubstr("finite"));
}

TEST(Load, MissingKeysAreNamed) {
    for (const char* key : {"general.architecture", "llama.context_length", "llama.embedding_length", "llama.block_count",
                            "llama.feed_forward_length", "llama.attention.head_count",
                            "llama.attention.layer_norm_rms_epsilon"}) {
        ChangedModel changed;
        changed.keys.erase(key);
        EXPECT_THAT(changed.message(), HasSubstr(key));
    }
}

TEST(Load, ImpossibleValuesAreNamed) {
    struct Row {
        const char* key;
        GgufValue value;
        const char* said;
    };
    const std::vector<Row> rows = {
        {"llama.attention.head_count", GgufValue::of_u32(0), "llama.attention.head_count"},
        {"llama.attention.head_count_kv", GgufValue::of_u32(0), "llama.attention.head_count_kv"},
        {"llama.attention.head_count_kv", GgufValue::of_u32(3), "cannot share 3"},
        {"llama.block_count", GgufValue::of_u32(0), "llama.block_count"},
        {"llama.block_count", GgufValue::of_u32(0x80000000u), "llama.block_count"},
        {"llama.block_count", GgufValue::of_u32(3), "blk.2."},
        {"llama.block_count", GgufValue::of_u32(1), "blk.1."},
        {"llama.embedding_length", GgufValue::of_u64(uint64_t{1} << 63), "llama.embedding_length"},
        {"llama.rope.dimension_count", GgufValue::of_u32(7), "even"},
        {"llama.rope.dimension_count", GgufValue::of_u32(64), "llama.rope.dimension_count"},
        {"llama.rope.freq_base", GgufValue::of_f32(0), "llama.rope.freq_base"},
        {"llama.rope.scaling.type", GgufValue::of_string("longrope"), "longrope"},
        {"llama.attention.layer_norm_rms_epsilon", GgufValue::of_f32(NAN), "epsilon"},
        {"llama.attention.value_length", GgufValue::of_u32(16), "expected the same"},
        {"general.architecture", GgufValue::of_string("nosuch"), "unknown model architecture: 'nosuch'"},
        {"general.architecture", GgufValue::of_u32(7), "general.architecture"},
        {"powerinfer.activation", GgufValue::of_string("tanh"), "tanh"},
        {"powerinfer.sparse_threshold", GgufValue::of_f32(INFINITY), "powerinfer.sparse_threshold"},
    };
    for (const Row& row : rows) {
        ChangedModel changed;
        changed.keys[row.key] = row.value;
        EXPECT_THAT(changed.message(), HasSubstr(row.said)) << row.key;
    }
}

TEST(Load, CountsMayBeStoredPerLayerOrWider) {
    ChangedModel changed;
    changed.keys["llama.attention.head_count"] = GgufValue::of_i32s({4, 4});
    changed.keys["llama.embedding_length"] = GgufValue::of_u64(32);
    changed.keys["llama.block_count"] = GgufValue::of_i32(2);
    EXPECT_EQ(changed.message(), "loaded");
    changed.keys["llama.attention.head_count"] = GgufValue::of_i32s({4, 2});
    EXPECT_THAT(changed.message(), HasSubstr("differs between layers"));
}

TEST(Load, UnknownTensorsAreRefusedAndRedundantOnesAreNot) {
    ChangedModel changed;
    changed.tensors["blk.0.rotary_emb.inv_freq"] = changed.tensors["blk.0.attn_norm.weight"];
    EXPECT_EQ(changed.message(), "loaded");
    changed.tensors["blk.0.attn_q.scale"] = changed.tensors["blk.0.attn_norm.weight"];
    EXPECT_THAT(changed.message(), HasSubstr("blk.0.attn_q.scale"));
}

TEST(Load, PredictorsAreAllOrNothing) {
    ChangedModel one_missing;
    one_missing.magic = formats::GgufMagic::gguf;
    one_missing.tensors.erase("blk.1.fc1.weight");
    one_missing.tensors.erase("blk.1.fc2.weight");
    EXPECT_THAT(one_missing.message(), HasSubstr("layer 1 lacks a predictor"));
    ChangedModel none;
    for (const char* name : {"blk.0.fc1.weight", "blk.0.fc2.weight", "blk.1.fc1.weight", "blk.1.fc2.weight"})
        none.tensors.erase(name);
    EXPECT_THAT(none.message(), HasSubstr("predictor tensor"));
    none.magic = formats::GgufMagic::gguf;
    EXPECT_FALSE(none.load().spec.has_predictors);
}

TEST(Load, ActivationComesFromTheUserThenTheFileThenCustom) {
    ChangedModel changed;
    EXPECT_EQ(changed.load({.activation = Activation::gelu}).spec.activation, Activation::gelu);
    changed.keys["powerinfer.activation"] = GgufValue::of_string("relu_squared");
    EXPECT_EQ(changed.load().spec.activation, Activation::relu_squared);
    changed.keys.erase("powerinfer.activation");
    EXPECT_EQ(changed.load().spec.activation, Activation::relu);  // PWRI
    changed.magic = formats::GgufMagic::gguf;
    EXPECT_EQ(changed.load().spec.activation, Activation::silu);
}

}  // namespace
}  // namespace powerinfer::model
