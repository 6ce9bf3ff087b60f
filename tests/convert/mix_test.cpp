// The mixtures: which type each tensor gets, against the tables of the format's other programs worked out by
// hand.
#include "convert/mix.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace powerinfer::convert {
namespace {

/// Decisions by name for a model of n layers whose rows all have `n` elements.
std::map<std::string, std::string> decide(const std::string& target, const MixFacts& facts,
                                          MixChoice choice = {}, bool tied = false, int64_t n = 256,
                                          const std::string& down = "ffn_down") {
    std::vector<std::string> names{"token_embd.weight"};
    for (int64_t i = 0; i < facts.n_layer; ++i) {
        for (const std::string& name :
             {std::string("attn_norm"), std::string("attn_q"), std::string("attn_k"), std::string("attn_v"),
              std::string("attn_output"), std::string("ffn_gate"), std::string("ffn_up"), down,
              std::string("fc1"), std::string("fc2")})
            names.push_back("blk." + std::to_string(i) + "." + name + ".weight");
    }
    names.emplace_back("output_norm.weight");
    if (!tied) names.emplace_back("output.weight");
    std::vector<MixTensor> tensors;
    for (const std::string& name : names) {
        const bool norm = name.find("norm") != std::string::npos;
        tensors.push_back({name, norm ? DType::F32 : DType::F16, {n, norm ? 1 : 8, 1, 1}});
    }
    choice.target = &find_file_type(target);
    std::map<std::string, std::string> types;
    const auto decisions = decide_types(choice, facts, tensors);
    for (size_t i = 0; i < names.size(); ++i) types[names[i]] = info(decisions[i].type).name;
    return types;
}

/// The layers in which a tensor has a type, such as "0 1 5".
std::string layers_with(const std::map<std::string, std::string>& types, const std::string& name,
                        const std::string& type, int64_t n_layer) {
    std::string list;
    for (int64_t i = 0; i < n_layer; ++i) {
        if (types.at("blk." + std::to_string(i) + "." + name + ".weight") == type)
            list += (list.empty() ? "" : " ") + std::to_string(i);
    }
    return list;
}

const MixFacts kLlama7b{"llama", 32, 32, 32, 0};
const MixFacts kGrouped{"llama", 32, 32, 8, 0};
// n/8 = 4, 7n/8 = 28: 0-3, 28-31, and where (i - 4) mod 3 is 2.
const std::string kMore = "0 1 2 3 6 9 12 15 18 21 24 27 28 29 30 31";
const std::string kAll =
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31";

TEST(Mix, FileTypesAreFoundByNameAndNumber) {
    EXPECT_EQ(find_file_type("q4_k_m").number, 15u);
    EXPECT_EQ(find_file_type("Q4_K").name, "Q4_K_M");
    EXPECT_EQ(find_file_type("15").name, "Q4_K_M");
    EXPECT_EQ(find_file_type("0").name, "F32");
    EXPECT_TRUE(find_file_type("copy").copy);
    EXPECT_EQ(file_type_number_of(DType::Q4_K), 14u);
    EXPECT_EQ(file_type_number_of(DType::BF16), 32u);
    for (const char* bad : {"", "Q9", "4", "-1", "1x"}) EXPECT_THROW(find_file_type(bad), Error) << bad;
}

TEST(Mix, MixturesOfTheTable) {
    auto t = decide("Q4_K_M", kLlama7b);
    EXPECT_EQ(t.at("output.weight"), "Q6_K");
    EXPECT_EQ(t.at("token_embd.weight"), "Q4_K");
    EXPECT_EQ(t.at("output_norm.weight"), "F32");
    EXPECT_EQ(layers_with(t, "attn_v", "Q6_K", 32), kMore);
    EXPECT_EQ(layers_with(t, "ffn_down", "Q6_K", 32), kMore);
    for (const char* name : {"attn_q", "attn_k", "attn_output", "ffn_gate", "ffn_up", "fc1", "fc2"})
        EXPECT_EQ(layers_with(t, name, "Q4_K", 32), kAll) << name;
    EXPECT_EQ(layers_with(t, "attn_norm", "F32", 32), kAll);

    t = decide("Q5_K_M", kLlama7b);
    EXPECT_EQ(layers_with(t, "attn_v", "Q6_K", 32), kMore);
    EXPECT_EQ(layers_with(t, "ffn_down", "Q6_K", 32), kMore);
    EXPECT_EQ(layers_with(t, "attn_output", "Q5_K", 32), kAll);

    t = decide("Q4_K_S", kLlama7b);
    EXPECT_EQ(layers_with(t, "attn_v", "Q5_K", 32), "0 1 2 3");
    EXPECT_EQ(layers_with(t, "ffn_down", "Q5_K", 32), "0 1 2 3");
    EXPECT_EQ(layers_with(t, "attn_output", "Q4_K", 32), kAll);

    t = decide("Q3_K_M", kLlama7b);
    EXPECT_EQ(layers_with(t, "attn_v", "Q5_K", 32), "0 1");
    EXPECT_EQ(layers_with(t, "attn_v", "Q4_K", 32), kAll.substr(4));
    EXPECT_EQ(layers_with(t, "ffn_down", "Q5_K", 32), "0 1");
    EXPECT_EQ(layers_with(t, "attn_output", "Q4_K", 32), kAll);
    EXPECT_EQ(layers_with(t, "ffn_up", "Q3_K", 32), kAll);

    t = decide("Q3_K_L", kLlama7b);
    for (const char* name : {"attn_v", "ffn_down", "attn_output"})
        EXPECT_EQ(layers_with(t, name, "Q5_K", 32), kAll) << name;

    t = decide("Q2_K", kLlama7b);
    for (const char* name : {"attn_v", "ffn_down", "attn_output"})
        EXPECT_EQ(layers_with(t, name, "Q3_K", 32), kAll) << name;
    EXPECT_EQ(layers_with(decide("Q2_K", kGrouped), "attn_v", "Q4_K", 32), kAll);

    t = decide("IQ4_NL", kGrouped);
    EXPECT_EQ(layers_with(t, "attn_v", "Q5_K", 32), kAll);
    EXPECT_EQ(layers_with(t, "ffn_down", "Q5_K", 32), "0 1 2 3");

    for (const char* plain : {"Q3_K_S", "Q5_K_S", "Q6_K", "Q4_0", "Q4_1", "Q5_0", "Q5_1"}) {
        t = decide(plain, kLlama7b);
        const std::string base(info(find_file_type(plain).base).name);
        EXPECT_EQ(t.at("output.weight"), "Q6_K");
        for (const char* name : {"attn_v", "ffn_down", "attn_output", "ffn_gate"})
            EXPECT_EQ(layers_with(t, name, base, 32), kAll) << plain << " " << name;
    }
    t = decide("Q8_0", kLlama7b);
    EXPECT_EQ(t.at("output.weight"), "Q8_0");
    t = decide("F16", kLlama7b);
    EXPECT_EQ(t.at("output.weight"), "F16");
}

TEST(Mix, ModelsWithRulesOfTheirOwn) {
    // Llama 2 70B: grouped values get more than Q4_K.
    const MixFacts big{"llama", 80, 64, 8, 0};
    EXPECT_EQ(layers_with(decide("Q4_K_M", big), "attn_v", "Q4_K", 80), "");
    EXPECT_EQ(layers_with(decide("Q3_K_S", big), "attn_v", "Q3_K", 80), "");

    const MixFacts falcon{"falcon", 32, 71, 1, 0};
    auto t = decide("Q4_K_M", falcon);
    EXPECT_EQ(t.at("output.weight"), "Q8_0");
    EXPECT_EQ(layers_with(t, "ffn_down", "Q6_K", 32), "0 1");
    EXPECT_EQ(layers_with(t, "ffn_down", "Q5_K", 32), kMore.substr(4));
    t = decide("Q3_K_M", falcon);
    EXPECT_EQ(layers_with(t, "attn_output", "Q3_K", 32), kAll);
    EXPECT_EQ(layers_with(t, "ffn_down", "Q4_K", 32), kMore.substr(4));

    const MixFacts mixtral{"llama", 32, 32, 8, 8};
    t = decide("Q4_K_M", mixtral);
    EXPECT_EQ(layers_with(t, "attn_v", "Q8_0", 32), kAll);
    EXPECT_EQ(layers_with(t, "attn_k", "Q8_0", 32), kAll);
    EXPECT_EQ(layers_with(t, "attn_output", "Q5_K", 32), kAll);
}

TEST(Mix, TheTransposedDownProjectionFollowsTheRuleOfTheOrdinaryOne) {
    const auto t = decide("Q4_K_M", kLlama7b, {}, false, 256, "ffn_down_t");
    EXPECT_EQ(layers_with(t, "ffn_down_t", "Q6_K", 32), kMore);
}

TEST(Mix, TheUsersChoicesWin) {
    MixChoice choice;
    choice.pure = true;
    auto t = decide("Q4_K_M", kLlama7b, choice);
    EXPECT_EQ(t.at("output.weight"), "Q4_K");
    EXPECT_EQ(layers_with(t, "attn_v", "Q4_K", 32), kAll);

    choice = {};
    choice.output = DType::F16;
    choice.token_embedding = DType::Q8_0;
    choice.predictor = DType::Q5_0;
    t = decide("Q4_K_M", kLlama7b, choice);
    EXPECT_EQ(t.at("output.weight"), "F16");
    EXPECT_EQ(t.at("token_embd.weight"), "Q8_0");
    EXPECT_EQ(layers_with(t, "fc1", "Q5_0", 32), kAll);
    EXPECT_EQ(layers_with(t, "fc2", "Q5_0", 32), kAll);

    choice = {};
    choice.leave_output = true;
    EXPECT_EQ(decide("Q4_0", kLlama7b, choice).at("output.weight"), "F16");

    // A tied model has its output in the token embeddings.
    EXPECT_EQ(decide("Q4_0", kLlama7b, {}, true).at("token_embd.weight"), "Q6_K");
    choice = {};
    choice.output = DType::F16;
    EXPECT_EQ(decide("Q4_0", kLlama7b, choice, true).at("token_embd.weight"), "F16");
}

TEST(Mix, CountsByLayerWhateverTheOrderInTheFile) {
    std::vector<MixTensor> tensors;
    const std::vector<std::string> names{"blk.10.attn_v.weight", "blk.2.attn_v.weight",
                                         "blk.0.attn_v.weight"};
    for (const std::string& name : names) tensors.push_back({name, DType::F16, {256, 8, 1, 1}});
    MixChoice choice;
    choice.target = &find_file_type("Q3_K_M");
    const auto decisions = decide_types(choice, {"llama", 11, 8, 8, 0}, tensors);
    EXPECT_EQ(decisions[0].type, DType::Q4_K);  // the third by layer
    EXPECT_EQ(decisions[1].type, DType::Q5_K);
    EXPECT_EQ(decisions[2].type, DType::Q5_K);
}

TEST(Mix, RowsThatABlockDoesNotDivide) {
    EXPECT_EQ(fitting_type(DType::Q2_K, 160), DType::Q4_0);
    EXPECT_EQ(fitting_type(DType::Q3_K, 160), DType::Q4_0);
    EXPECT_EQ(fitting_type(DType::IQ4_XS, 160), DType::IQ4_NL);
    EXPECT_EQ(fitting_type(DType::Q4_K, 160), DType::Q5_0);
    EXPECT_EQ(fitting_type(DType::Q5_K, 160), DType::Q5_1);
    EXPECT_EQ(fitting_type(DType::Q6_K, 160), DType::Q8_0);
    for (const DType t : {DType::Q2_K, DType::Q4_K, DType::Q6_K, DType::Q4_0, DType::Q8_0, DType::IQ4_NL})
        EXPECT_EQ(fitting_type(t, 100), DType::F16);
    EXPECT_EQ(fitting_type(DType::Q4_K, 512), DType::Q4_K);
    EXPECT_EQ(fitting_type(DType::F32, 7), DType::F32);
    const auto t = decide("Q4_K_M", kLlama7b, {}, false, 160);
    EXPECT_EQ(t.at("output.weight"), "Q8_0");
    EXPECT_EQ(t.at("token_embd.weight"), "Q5_0");
}

TEST(Mix, SmallAndPositionalTensorsAreLeftAlone) {
    for (const char* name : {"blk.0.attn_norm.weight", "blk.0.ffn_gate_inp.weight", "position_embd.weight",
                             "token_types.weight", "blk.0.ssm_conv1d.weight", "blk.0.attn_q.bias"})
        EXPECT_FALSE(is_quantizable(name, {256, 256, 1, 1})) << name;
    EXPECT_FALSE(is_quantizable("blk.0.attn_q.weight", {256, 1, 1, 1}));
    EXPECT_TRUE(is_quantizable("blk.0.ffn_gate_exps.weight", {256, 256, 8, 1}));
}

}  // namespace
}  // namespace powerinfer::convert
