// convert_folder on tiny folders made here: metadata, layouts, types, and one clear sentence for each thing
// that can be wrong with a folder.
#include "convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "convert/hf_folder.h"
#include "error_message.h"
#include "formats/gguf.h"
#include "quant/format.h"

namespace powerinfer::convert {
namespace {

using formats::GgufFile;
using formats::GgufMagic;
using test::counted;
using test::HfFolder;
using test::message_of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

class Convert : public testing::Test {
  protected:
    GgufFile run() {
        hf.write();
        return convert_written();
    }
    GgufFile convert_written() {
        options.folder = hf.path();
        options.output = output();
        if (!hf.predictors.empty()) options.predictor = hf.predictor_path();
        options.log = [this](LogLevel, std::string_view line) { lines.emplace_back(line); };
        result = convert_folder(options);
        return GgufFile::open(options.output);
    }
    std::string error() {
        const std::string message = message_of([&] { run(); });
        EXPECT_FALSE(std::filesystem::exists(output()));
        EXPECT_EQ(hf.folder.n_files(), 0u) << "something was left behind";
        return message;
    }
    std::string output() const { return hf.folder / "out.gguf"; }

    static std::vector<float> values(const GgufFile& file, const std::string& name) {
        const formats::GgufTensor* t = file.find_tensor(name);
        if (!t) return {};
        std::vector<float> v(static_cast<size_t>(t->view.n_elements()));
        quant::format(t->view.type).decode(t->view.data, v.data(), t->view.n_elements());
        return v;
    }
    static std::vector<std::string> names(const GgufFile& file) {
        std::vector<std::string> list;
        for (const auto& t : file.tensors()) list.push_back(t.name);
        return list;
    }

    HfFolder hf;
    ConvertOptions options;
    ConvertResult result;
    std::vector<std::string> lines;
};

TEST_F(Convert, WritesTheMetadataOfALlama) {
    options.name = "tiny";
    const GgufFile file = run();
    EXPECT_EQ(file.magic(), GgufMagic::gguf);
    EXPECT_EQ(file.get_string("general.architecture"), "llama");
    EXPECT_EQ(file.get_string("general.name"), "tiny");
    EXPECT_EQ(file.get_uint("general.file_type"), 0u);
    EXPECT_EQ(file.get_uint("general.quantization_version"), 2u);
    EXPECT_EQ(file.get_uint("llama.context_length"), 64u);
    EXPECT_EQ(file.get_uint("llama.embedding_length"), 8u);
    EXPECT_EQ(file.get_uint("llama.block_count"), 2u);
    EXPECT_EQ(file.get_uint("llama.feed_forward_length"), 12u);
    EXPECT_EQ(file.get_uint("llama.attention.head_count"), 2u);
    EXPECT_EQ(file.get_uint("llama.attention.head_count_kv"), 1u);
    EXPECT_EQ(file.get_uint("llama.rope.dimension_count"), 4u);
    EXPECT_EQ(file.get_uint("llama.vocab_size"), 262u);
    EXPECT_EQ(file.get_float("llama.rope.freq_base"), 10000.0);
    EXPECT_FLOAT_EQ(static_cast<float>(file.get_float("llama.attention.layer_norm_rms_epsilon")), 1e-5f);
    EXPECT_EQ(file.get_string("powerinfer.activation"), "silu");
    EXPECT_FALSE(file.has("llama.attention.key_length"));
    EXPECT_FALSE(file.has("llama.rope.scaling.type"));
    EXPECT_FALSE(file.has("powerinfer.sparse_threshold"));
    EXPECT_EQ(file.get_string("tokenizer.ggml.model"), "llama");
    EXPECT_EQ(file.find_strings("tokenizer.ggml.tokens")->size(), 262u);
    EXPECT_EQ(file.find_strings("tokenizer.ggml.tokens")->at(13), "<0x0A>");
    EXPECT_EQ(file.get_uint("tokenizer.ggml.bos_token_id"), 1u);
    EXPECT_EQ(file.get_uint("tokenizer.ggml.eos_token_id"), 2u);
}

TEST_F(Convert, NamesTheModelAfterItsFolder) {
    EXPECT_EQ(run().get_string("general.name"), "model");
    options.output = output();
    options.folder = hf.path() + "/";
    convert_folder(options);
    EXPECT_EQ(GgufFile::open(output()).get_string("general.name"), "model");
}

TEST_F(Convert, LaysQueryAndKeyRowsInPairs) {
    hf.tensors["model.layers.1.self_attn.q_proj.bias"] = counted({8}, 40);
    hf.tensors["model.layers.1.self_attn.v_proj.bias"] = counted({4}, 41);
    hf.tensors["model.layers.1.mlp.down_proj.bias"] = counted({8}, 42);
    const GgufFile file = run();
    // Heads of 4: rows 0 1 2 3 become 0 2 1 3.
    const std::vector<float> q = values(file, "blk.1.attn_q.weight"), k = values(file, "blk.1.attn_k.weight");
    const float q0 = hf.tensors["model.layers.1.self_attn.q_proj.weight"].values[0];
    const float k0 = hf.tensors["model.layers.1.self_attn.k_proj.weight"].values[0];
    const std::vector<int> from{0, 2, 1, 3, 4, 6, 5, 7};
    for (size_t r = 0; r < 8; ++r) EXPECT_EQ(q[r * 8 + 3], q0 + static_cast<float>(from[r] * 8 + 3)) << r;
    for (size_t r = 0; r < 4; ++r) EXPECT_EQ(k[r * 8 + 5], k0 + static_cast<float>(from[r] * 8 + 5)) << r;
    EXPECT_EQ(values(file, "blk.1.attn_q.bias"),
              (std::vector<float>{40000, 40002, 40001, 40003, 40004, 40006, 40005, 40007}));
    EXPECT_EQ(values(file, "blk.1.attn_v.bias"), (std::vector<float>{41000, 41001, 41002, 41003}));
    EXPECT_EQ(values(file, "blk.1.ffn_down.bias"), counted({8}, 42).values);
    for (const auto& [hf_name, name] : std::map<std::string, std::string>{
             {"model.embed_tokens.weight", "token_embd.weight"},
             {"model.norm.weight", "output_norm.weight"},
             {"lm_head.weight", "output.weight"},
             {"model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight"},
             {"model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"},
             {"model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight"},
             {"model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight"},
             {"model.layers.0.mlp.gate_proj.weight", "blk.0.ffn_gate.weight"},
             {"model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight"},
             {"model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"}})
        EXPECT_EQ(values(file, name), hf.tensors[hf_name].values) << name;
    EXPECT_EQ(file.find_tensor("blk.0.ffn_down.weight")->view.ne, (std::array<int64_t, 4>{12, 8, 1, 1}));
    EXPECT_EQ(file.tensors().size(), hf.tensors.size());
}

TEST_F(Convert, PredictorsMakeAPwriFileWithTransposedDownProjections) {
    hf.add_predictors();
    hf.write();
    HfFolder::write_text(hf.predictor_path() + "/README.txt", "not a predictor");
    HfFolder::write_text(hf.predictor_path() + "/model_7.pt.bak", "not a predictor either");
    const GgufFile file = convert_written();
    EXPECT_TRUE(result.has_predictors);
    EXPECT_EQ(file.magic(), GgufMagic::pwri);
    EXPECT_EQ(file.get_float("powerinfer.sparse_threshold"), 0.25);
    EXPECT_EQ(file.get_string("powerinfer.activation"), "relu");
    EXPECT_THAT(names(file), testing::Not(Contains("blk.0.ffn_down.weight")));
    EXPECT_EQ(file.find_tensor("blk.0.ffn_down_t.weight")->view.ne, (std::array<int64_t, 4>{8, 12, 1, 1}));
    const auto& down = hf.tensors["model.layers.0.mlp.down_proj.weight"].values;
    const std::vector<float> down_t = values(file, "blk.0.ffn_down_t.weight");
    for (size_t j = 0; j < 12; ++j) {
        for (size_t i = 0; i < 8; ++i) EXPECT_EQ(down_t[j * 8 + i], down[i * 12 + j]);
    }
    for (size_t layer = 0; layer < 2; ++layer) {
        const std::string b = fmt::format("blk.{}.", layer);
        const auto& p = hf.predictors[fmt::format("model_{}.pt", layer)];
        EXPECT_EQ(values(file, b + "fc1.weight"), p.at("fc1.weight").values);
        EXPECT_EQ(values(file, b + "fc2.weight"), p.at("fc2.weight").values);
        const auto rank = static_cast<int64_t>(3 + layer);
        EXPECT_EQ(file.find_tensor(b + "fc1.weight")->view.ne, (std::array<int64_t, 4>{8, rank, 1, 1}));
        EXPECT_EQ(file.find_tensor(b + "fc2.weight")->view.ne, (std::array<int64_t, 4>{rank, 12, 1, 1}));
    }
}

TEST_F(Convert, AThresholdIsOnlyWrittenWhereOneIsStated) {
    hf.add_predictors();
    hf.predictor_config = "";
    EXPECT_FALSE(run().has("powerinfer.sparse_threshold"));
    EXPECT_THAT(lines, Contains(HasSubstr("'sparse_threshold'")));
    hf.predictor_config = "{\"sparse_threshold\": 0}";
    EXPECT_EQ(run().get_float("powerinfer.sparse_threshold"), 0.0);
    std::filesystem::remove(output());
    hf.predictor_config = "{\"sparse_threshold\": \"high\"}";
    EXPECT_THAT(error(), HasSubstr("'sparse_threshold'"));
}

TEST_F(Convert, PredictorsThatDoNotFitAreNamed) {
    hf.add_predictors();
    const auto good = hf.predictors;
    const auto message = [&] {
        const std::string text = error();
        std::filesystem::remove_all(hf.predictor_path());
        hf.predictors = good;
        return text;
    };
    hf.predictors.erase("model_1.pt");
    EXPECT_THAT(message(), AllOf(HasSubstr("no model_1.pt"), HasSubstr("2 layers")));
    hf.predictors["model_2.pt"] = good.at("model_1.pt");
    EXPECT_THAT(message(), AllOf(HasSubstr("model_2.pt"), HasSubstr("layer 2"), HasSubstr("2 layers")));
    hf.predictors["model_01.pt"] = good.at("model_1.pt");
    EXPECT_THAT(message(), HasSubstr("both predictors of layer 1"));
    hf.predictors["model_0.pt"]["fc1.weight"] = counted({3, 9}, 50);
    EXPECT_THAT(message(), AllOf(HasSubstr("fc1.weight"), HasSubstr("[3, 9]"), HasSubstr("[rank, 8]")));
    hf.predictors["model_0.pt"]["fc2.weight"] = counted({12, 4}, 60);
    EXPECT_THAT(message(), AllOf(HasSubstr("model_0.pt"), HasSubstr("[12, 4]"), HasSubstr("[12, 3]")));
    hf.predictors["model_1.pt"].erase("fc2.weight");
    EXPECT_THAT(message(), AllOf(HasSubstr("model_1.pt"), HasSubstr("'fc2.weight'")));
    hf.predictors["model_1.pt"]["fc1.bias"] = counted({4}, 60);
    EXPECT_THAT(message(), AllOf(HasSubstr("model_1.pt"), HasSubstr("'fc1.bias'")));

    hf.write();
    HfFolder::write_text(hf.predictor_path() + "/model_1.pt", "<html>");
    EXPECT_THAT(message_of([&] { convert_written(); }), HasSubstr("model_1.pt"));
    std::filesystem::remove_all(hf.predictor_path());
    EXPECT_THAT(message_of([&] { convert_written(); }),
                AllOf(HasSubstr("predictor"), HasSubstr("does not exist")));
    hf.config["hidden_act"] = "\"silu\"";
    EXPECT_THAT(message(), HasSubstr("--activation relu"));
}

TEST_F(Convert, TheActivationIsAlwaysStated) {
    for (const auto& [text, expected] : std::map<std::string, std::string>{{"relu", "relu"},
                                                                           {"swish", "silu"},
                                                                           {"relu2", "relu_squared"},
                                                                           {"gelu_pytorch_tanh", "gelu"},
                                                                           {"drelu", "drelu"}}) {
        hf.config["hidden_act"] = fmt::format("\"{}\"", text);
        EXPECT_EQ(run().get_string("powerinfer.activation"), expected);
    }
    hf.config.erase("hidden_act");
    hf.config["hidden_activation"] = "\"gelu\"";
    EXPECT_EQ(run().get_string("powerinfer.activation"), "gelu");
    EXPECT_THAT(lines, testing::Not(Contains(HasSubstr("activation"))));

    options.activation = model::Activation::relu;
    EXPECT_EQ(run().get_string("powerinfer.activation"), "relu");
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("relu was asked for"), HasSubstr("gelu"))));
    std::filesystem::remove(output());

    options.activation.reset();
    hf.config.erase("hidden_activation");
    EXPECT_THAT(error(), AllOf(HasSubstr("'hidden_act'"), HasSubstr("--activation")));
    hf.config["hidden_act"] = "\"fatrelu\"";
    EXPECT_THAT(error(), AllOf(HasSubstr("'fatrelu'"), HasSubstr("--activation")));
    hf.config["hidden_act_param"] = "0.0";
    EXPECT_EQ(run().get_string("powerinfer.activation"), "relu");
}

TEST_F(Convert, BambooIsAnArchitectureOfItsOwn) {
    hf.config["architectures"] = "[\"BambooForCausalLM\"]";
    hf.config["hidden_act"] = "\"relu\"";
    const GgufFile file = run();
    EXPECT_EQ(file.get_string("general.architecture"), "bamboo");
    EXPECT_EQ(file.get_uint("bamboo.block_count"), 2u);
    EXPECT_EQ(file.get_string("powerinfer.activation"), "drelu");
}

TEST_F(Convert, KnowsTheNamesOfTheFamily) {
    for (const char* name : {"SparseLlamaForCausalLM", "MistralForCausalLM"}) {
        hf.config["architectures"] = fmt::format("[\"{}\"]", name);
        EXPECT_EQ(run().get_string("general.architecture"), "llama") << name;
    }
    EXPECT_FALSE(GgufFile::open(output()).has("llama.attention.sliding_window"));
    hf.config["sliding_window"] = "16";
    EXPECT_EQ(run().get_uint("llama.attention.sliding_window"), 16u);
    hf.config["sliding_window"] = "null";
    EXPECT_FALSE(run().has("llama.attention.sliding_window"));
    std::filesystem::remove(output());
    hf.config["architectures"] = "[\"T5ForConditionalGeneration\"]";
    EXPECT_THAT(error(), AllOf(HasSubstr("'T5ForConditionalGeneration'"), HasSubstr("LlamaForCausalLM")));
    hf.config.erase("architectures");
    EXPECT_THAT(error(), HasSubstr("'architectures'"));
}

TEST_F(Convert, HeadsOfAnotherWidthAreStated) {
    hf.config["head_dim"] = "6";
    for (int i = 0; i < 2; ++i) {
        const std::string p = fmt::format("model.layers.{}.self_attn.", i);
        hf.tensors[p + "q_proj.weight"] = counted({12, 8}, 70);
        hf.tensors[p + "k_proj.weight"] = counted({6, 8}, 71);
        hf.tensors[p + "v_proj.weight"] = counted({6, 8}, 72);
        hf.tensors[p + "o_proj.weight"] = counted({8, 12}, 73);
    }
    const GgufFile file = run();
    EXPECT_EQ(file.get_uint("llama.attention.key_length"), 6u);
    EXPECT_EQ(file.get_uint("llama.attention.value_length"), 6u);
    EXPECT_EQ(file.get_uint("llama.rope.dimension_count"), 6u);
    // Heads of 6: 0 3 1 4 2 5.
    const std::vector<float> q = values(file, "blk.0.attn_q.weight");
    for (size_t r = 0; r < 6; ++r)
        EXPECT_EQ(q[(6 + r) * 8], 70000.0f + static_cast<float>((6 + r / 2 + 3 * (r % 2)) * 8));
}

TEST_F(Convert, HeadCountDefaultsToEveryHeadItsOwnKey) {
    hf.config.erase("num_key_value_heads");
    for (const std::string p : {"model.layers.0.self_attn.", "model.layers.1.self_attn."}) {
        hf.tensors[p + "k_proj.weight"] = counted({8, 8}, 71);
        hf.tensors[p + "v_proj.weight"] = counted({8, 8}, 72);
    }
    EXPECT_EQ(run().get_uint("llama.attention.head_count_kv"), 2u);
}

TEST_F(Convert, TiedEmbeddingsHaveNoOutput) {
    hf.config["tie_word_embeddings"] = "true";
    EXPECT_THAT(names(run()), testing::Not(Contains("output.weight")));
    EXPECT_THAT(lines, Contains(HasSubstr("lm_head.weight is left out")));
    hf.tensors.erase("lm_head.weight");
    EXPECT_THAT(names(run()), testing::Not(Contains("output.weight")));
    std::filesystem::remove(output());
    hf.config["tie_word_embeddings"] = "false";
    EXPECT_THAT(error(), AllOf(HasSubstr("'lm_head.weight'"), HasSubstr("tie_word_embeddings")));
}

TEST_F(Convert, RopeInOlderAndNewerKeyStyles) {
    hf.config["rope_scaling"] = "{\"type\": \"linear\", \"factor\": 2.5}";
    for (int style = 0; style < 2; ++style) {
        const GgufFile file = run();
        EXPECT_EQ(file.get_float("llama.rope.freq_base"), 10000.0);
        EXPECT_EQ(file.get_string("llama.rope.scaling.type"), "linear");
        EXPECT_EQ(file.get_float("llama.rope.scaling.factor"), 2.5);
        hf.config.erase("rope_scaling");
        hf.config.erase("rope_theta");
        hf.config["rope_parameters"] =
            "{\"rope_type\": \"linear\", \"factor\": 2.5, \"rope_theta\": 10000.0}";
    }
    hf.config["rope_parameters"] = "{\"rope_type\": \"default\", \"rope_theta\": 500000.0}";
    EXPECT_EQ(run().get_float("llama.rope.freq_base"), 500000.0);
    EXPECT_FALSE(GgufFile::open(output()).has("llama.rope.scaling.type"));
    hf.config.erase("rope_parameters");
    EXPECT_EQ(run().get_float("llama.rope.freq_base"), 10000.0);
    EXPECT_THAT(lines, Contains(HasSubstr("no 'rope_theta'")));
    hf.config["rope_scaling"] = "{\"type\": \"dynamic\", \"factor\": 2.0}";
    run();
    EXPECT_THAT(lines, Contains(HasSubstr("dynamic RoPE scaling is left out")));
    std::filesystem::remove(output());
    hf.config["rope_scaling"] = "{\"type\": \"longrope\", \"factor\": 2.0}";
    EXPECT_THAT(error(), HasSubstr("'longrope'"));
    hf.config["rope_scaling"] = "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0}";
    EXPECT_THAT(error(), HasSubstr("'high_freq_factor'"));
    hf.config["rope_scaling"] = "{\"type\": \"linear\"}";
    EXPECT_THAT(error(), HasSubstr("'factor'"));
    hf.config["rope_scaling"] = "{\"type\": \"linear\", \"factor\": -1}";
    EXPECT_THAT(error(), HasSubstr("must be positive"));
}

TEST_F(Convert, YarnStatesTheMagnitudeRelativeToTheUsualOne) {
    const std::string start =
        "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 16";
    const auto convert = [&](const std::string& more) {
        hf.config["rope_scaling"] = start + more + "}";
        return run();
    };
    const double usual = 0.1 * std::log(4.0) + 1.0;
    const GgufFile plain = convert("");
    EXPECT_EQ(plain.get_string("llama.rope.scaling.type"), "yarn");
    EXPECT_EQ(plain.get_float("llama.rope.scaling.factor"), 4.0);
    EXPECT_EQ(plain.get_uint("llama.rope.scaling.original_context_length"), 16u);
    for (const char* key : {"attn_factor", "yarn_beta_fast", "yarn_beta_slow"})
        EXPECT_FALSE(plain.has(std::string("llama.rope.scaling.") + key)) << key;
    EXPECT_NEAR(convert(", \"attention_factor\": 1.0").get_float("llama.rope.scaling.attn_factor"), 1 / usual,
                1e-6);
    // mscale 1 and mscale_all_dim 0.707: (0.1 ln 4 + 1) / (0.0707 ln 4 + 1) is the whole magnitude.
    EXPECT_NEAR(
        convert(", \"mscale\": 1.0, \"mscale_all_dim\": 0.707").get_float("llama.rope.scaling.attn_factor"),
        1 / (0.0707 * std::log(4.0) + 1.0), 1e-6);
    const GgufFile betas = convert(", \"beta_fast\": 16.0, \"beta_slow\": 2.0");
    EXPECT_EQ(betas.get_float("llama.rope.scaling.yarn_beta_fast"), 16.0);
    EXPECT_EQ(betas.get_float("llama.rope.scaling.yarn_beta_slow"), 2.0);
    std::filesystem::remove(output());
    hf.config["rope_scaling"] = start + ", \"truncate\": false}";
    EXPECT_THAT(error(), HasSubstr("'truncate'"));
}

TEST_F(Convert, Llama3ScalingBecomesDivisors) {
    hf.config["head_dim"] = "4";
    hf.config["rope_theta"] = "100.0";
    hf.config["rope_scaling"] =
        "{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
        "\"original_max_position_embeddings\": 128}";
    const GgufFile file = run();
    EXPECT_FALSE(file.has("llama.rope.scaling.type"));
    EXPECT_EQ(file.find_tensor("rope_freqs.weight")->view.type, DType::F32);
    // Frequencies 1 and 0.1 turn 20.4 and 2.04 times over 128 positions: above 4, and between 1 and 4.
    const double smooth = (128 * 0.1 / (2 * M_PI) - 1) / 3;
    const std::vector<float> divisors = values(file, "rope_freqs.weight");
    ASSERT_EQ(divisors.size(), 2u);
    EXPECT_EQ(divisors[0], 1.0f);
    EXPECT_NEAR(divisors[1], 1 / ((1 - smooth) / 8 + smooth), 1e-6);
    hf.config["rope_theta"] = "1000000.0";  // 0.001: 0.02 turns
    EXPECT_EQ(values(run(), "rope_freqs.weight"), (std::vector<float>{1.0f, 8.0f}));
}

TEST_F(Convert, ShardsAreOneModel) {
    const GgufFile whole = run();
    std::map<std::string, test::HfTensor> shards[2];
    std::string index;
    int i = 0;
    for (const auto& [name, t] : hf.tensors) {
        const int s = i++ % 2;
        shards[s][name] = t;
        index += (index.empty() ? "" : ", ") + fmt::format("\"{}\": \"part-{}.safetensors\"", name, s);
    }
    std::filesystem::remove(hf.path() + "/model.safetensors");
    for (int s = 0; s < 2; ++s) hf.write_weights(fmt::format("part-{}.safetensors", s), shards[s]);
    HfFolder::write_text(hf.path() + "/model.safetensors.index.json", "{\"weight_map\": {" + index + "}}");
    options.output = hf.folder / "shards.gguf";
    convert_folder(options);
    EXPECT_EQ(test::read_file(output()), test::read_file(hf.folder / "shards.gguf"));
    std::filesystem::remove(hf.path() + "/part-1.safetensors");
    EXPECT_THAT(message_of([&] { convert_folder(options); }), HasSubstr("part-1.safetensors"));
}

TEST_F(Convert, TypesOfTheMatrices) {
    for (auto& [name, t] : hf.tensors) {
        for (float& v : t.values) v = std::fmod(v, 256.0f) / 16.0f;
        if (t.shape.size() == 2) t.dtype = "BF16";
    }
    GgufFile file = run();
    EXPECT_EQ(file.find_tensor("blk.0.attn_q.weight")->view.type, DType::BF16);
    EXPECT_EQ(file.find_tensor("blk.0.attn_norm.weight")->view.type, DType::F32);
    EXPECT_EQ(file.get_uint("general.file_type"), 32u);
    for (const auto& [text, type, number] : std::vector<std::tuple<std::string, DType, unsigned>>{
             {"f32", DType::F32, 0}, {"F16", DType::F16, 1}, {"bf16", DType::BF16, 32}}) {
        options.outtype = text;
        file = run();
        for (const auto& t : file.tensors())
            EXPECT_EQ(t.view.type, t.view.ne[1] > 1 ? type : DType::F32) << t.name;
        EXPECT_EQ(file.get_uint("general.file_type"), number);
        EXPECT_EQ(values(file, "blk.1.ffn_up.weight"),
                  hf.tensors["model.layers.1.mlp.up_proj.weight"].values);
    }
    // Rows of 8 and 12 do not hold a block of 32.
    options.outtype = "q8_0";
    file = run();
    EXPECT_EQ(file.find_tensor("blk.0.attn_q.weight")->view.type, DType::F16);
    EXPECT_THAT(lines,
                Contains(AllOf(HasSubstr("blk.0.ffn_down.weight"), HasSubstr("12"), HasSubstr("Q8_0"))));
    EXPECT_EQ(result.n_fallbacks, 16);
    std::filesystem::remove(output());
    for (const char* bad : {"q9", "", "I32", "q4_k_m"}) {
        options.outtype = bad;
        EXPECT_THAT(error(), AllOf(HasSubstr(fmt::format("'{}'", bad)), HasSubstr("Q8_0"))) << bad;
    }
}

TEST_F(Convert, BytesDoNotDependOnTheNumberOfThreads) {
    options.n_threads = 1;
    run();
    const auto one = test::read_file(output());
    options.n_threads = 4;
    run();
    EXPECT_EQ(one, test::read_file(output()));
}

TEST_F(Convert, PadsTheVocabularyOrRefuses) {
    hf.n_pieces = 260;
    const GgufFile file = run();
    const auto& tokens = *file.find_strings("tokenizer.ggml.tokens");
    ASSERT_EQ(tokens.size(), 262u);
    EXPECT_EQ(tokens[259], "w259");
    EXPECT_EQ(tokens[260], "[PAD260]");
    EXPECT_EQ(file.find_ints("tokenizer.ggml.token_type")->at(261), 5);
    EXPECT_EQ(file.find_floats("tokenizer.ggml.scores")->size(), 262u);
    std::filesystem::remove(output());
    hf.n_pieces = 263;
    EXPECT_THAT(error(), AllOf(HasSubstr("263"), HasSubstr("262"), HasSubstr("vocab_size")));
}

TEST_F(Convert, MissingPartsAreNamed) {
    const auto config = hf.config;
    for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                            "max_position_embeddings", "rms_norm_eps", "vocab_size"}) {
        hf.config.erase(key);
        EXPECT_THAT(error(), AllOf(HasSubstr(fmt::format("'{}'", key)), HasSubstr("config.json")));
        hf.config[key] = "\"many\"";
        EXPECT_THAT(error(), AllOf(HasSubstr(fmt::format("'{}'", key)), HasSubstr("many")));
        hf.config = config;
    }
    for (const char* bad : {"0", "-4", "2.5", "1e300", "99999999999"}) {
        hf.config["hidden_size"] = bad;
        EXPECT_THAT(error(), HasSubstr("'hidden_size'")) << bad;
    }
    hf.config = config;
    hf.config["num_hidden_layers"] = "2147483647";
    EXPECT_THAT(error(), HasSubstr("'num_hidden_layers'"));
    hf.config["num_hidden_layers"] = "3";
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.2.input_layernorm.weight'"), HasSubstr("missing")));
    hf.config["num_hidden_layers"] = "1";
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.1."), HasSubstr("1 layers")));
    hf.config = config;
    hf.config["num_key_value_heads"] = "3";
    EXPECT_THAT(error(), HasSubstr("3 key/value heads"));
    hf.config = config;

    const auto tensors = hf.tensors;
    hf.tensors.erase("model.layers.1.mlp.gate_proj.weight");
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.1.mlp.gate_proj.weight'"), HasSubstr("missing")));
    hf.tensors = tensors;
    hf.tensors["model.layers.1.mlp.gate_proj.weight"] = counted({12, 9}, 1);
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.1.mlp.gate_proj.weight'"), HasSubstr("[12, 9]"),
                               HasSubstr("[12, 8]")));
    hf.tensors = tensors;
    hf.tensors["model.layers.0.mlp.router.weight"] = counted({12, 9}, 1);
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.0.mlp.router.weight'"), HasSubstr("not part of")));
    hf.tensors = tensors;
    hf.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = counted({2}, 1);
    run();  // follows from the config: left out
    std::filesystem::remove(output());

    hf.write();
    for (const char* file : {"config.json", "tokenizer.model", "model.safetensors"}) {
        std::filesystem::rename(hf.path() + "/" + file, hf.folder / "away");
        EXPECT_THAT(message_of([&] { convert_written(); }), HasSubstr(file));
        std::filesystem::rename(hf.folder / "away", hf.path() + "/" + file);
    }
    HfFolder::write_text(hf.path() + "/config.json", "{\"architectures\": ");
    EXPECT_THAT(message_of([&] { convert_written(); }), HasSubstr("not valid JSON"));
    options.folder = hf.folder / "nowhere";
    EXPECT_THAT(message_of([&] { convert_folder(options); }), HasSubstr("nowhere"));
    EXPECT_EQ(hf.folder.n_files(), 0u);
}

TEST_F(Convert, DamagedWeightsAreNamed) {
    hf.tensors["model.layers.1.self_attn.k_proj.weight"].values[17] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(error(), AllOf(HasSubstr("'model.layers.1.self_attn.k_proj.weight'"), HasSubstr("NaN")));
    hf.tensors["model.layers.1.self_attn.k_proj.weight"].values[17] = 1e9f;
    options.outtype = "f16";
    EXPECT_THAT(error(),
                AllOf(HasSubstr("'model.layers.1.self_attn.k_proj.weight'"), HasSubstr("too large")));
    options.outtype = "bf16";
    run();
}

TEST_F(Convert, AnOutputThatCannotBeWrittenIsSaidBeforeWork) {
    hf.write();
    options.folder = hf.path();
    options.progress = [](double, std::string_view) -> bool { throw std::logic_error("work has begun"); };
    // The second folder exists, but nobody, not even root, may make files in it.
    for (const std::string& folder : {hf.folder / "no/such/folder", std::string("/proc")}) {
        options.output = folder + "/out.gguf";
        EXPECT_THAT(message_of([&] { convert_folder(options); }),
                    AllOf(HasSubstr("cannot write"), HasSubstr(options.output)));
    }
}

TEST_F(Convert, AStopLeavesNothingBehind) {
    int calls = 0;
    options.progress = [&](double, std::string_view) { return ++calls < 8; };
    EXPECT_THAT(error(), HasSubstr("stopped"));
    EXPECT_EQ(calls, 8);
}

TEST_F(Convert, AFullDiskLeavesNothingBehind) {
    hf.write();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{20'000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = message_of([&] { convert_written(); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    EXPECT_THAT(message, AllOf(HasSubstr("out.gguf"), HasSubstr("File too large")));
    EXPECT_EQ(hf.folder.n_files(), 0u);
}

}  // namespace
}  // namespace powerinfer::convert
