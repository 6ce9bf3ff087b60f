// Other programs' logits, thresholds and modes by the command line alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "e2e/process.h"
#include "formats/safetensors.h"
#include "shared_data.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::string hash_of(const Output& o) {
    std::smatch m;
    return std::regex_search(o.err, m, std::regex("hash ([0-9a-f]{16})")) ? m[1].str() : "no hash in " + o.err;
}

double active_share(const Output& o) {
    std::smatch m;
    return std::regex_search(o.err, m, std::regex(R"(active share +([0-9.]+) %, hash)")) ? std::stod(m[1]) / 100 : -1;
}

void write_ids(const std::string& path, const std::vector<int64_t>& ids) {
    std::ofstream file(path);
    for (const int64_t id : ids) file << id << "\n";
}

std::vector<float> logits_in(const std::string& path) {
    return formats::SafeTensorsFile::open(path).at("logits").to_floats();
}

/// Logits after the prompt and its 16 greedy tokens equal the stored ones, and so do the greedy tokens.
void expect_oracle(const Words& convert, const std::filesystem::path& source, const std::string& mode, const TemporaryFolder& folder) {
    const std::string model = folder / "m.gguf", out = folder / "logits.safetensors";
    const Output made = run(joined({"powerinfer", "convert", source.string(), "-o", model}, convert));
    ASSERT_EQ(made.status, 0) << made.err;
    const auto expected = formats::SafeTensorsFile::open((source / "expected.safetensors").string());
    std::vector<int64_t> ids = expected.at("prompt_ids").to_ints();
    const std::vector<int64_t> greedy = expected.at("greedy_ids").to_ints();
    const std::vector<float> wanted = expected.at("logits").to_floats();
    const size_t n_prompt = ids.size(), n_vocab = wanted.size() / n_prompt;
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    write_ids(folder / "ids.txt", ids);

    const Output o = run({"powerinfer", "logits", "-m", model, "--ids-file", folder / "ids.txt", "-o", out, "--sparsity", mode,
                          "--memory-f32", "--layers"});
    ASSERT_EQ(o.status, 0) << o.err;
    const std::vector<float> found = logits_in(out);
    ASSERT_EQ(found.size(), ids.size() * n_vocab);
    float worst = 0;
    for (size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::fabs(found[i] - wanted[i]));
    EXPECT_LT(worst, 2e-3f) << mode;
    for (size_t i = 0; i < greedy.size(); ++i) {
        const auto row = found.begin() + static_cast<ptrdiff_t>((n_prompt - 1 + i) * n_vocab);
        EXPECT_EQ(std::max_element(row, row + static_cast<ptrdiff_t>(n_vocab)) - row, greedy[i]) << mode << " step " << i;
    }
}

TEST(Oracle, LlamaReluByTheCommandLine) {
    SHARED_PATH_OR_SKIP(source, "oracles/llama-relu");
    const TemporaryFolder folder;
    for (const char* mode : {"off", "exact"}) expect_oracle({}, source, mode, folder);
}

TEST(Oracle, PredictorsByTheCommandLine) {
    SHARED_PATH_OR_SKIP(source, "oracles/llama-relu-predictors");
    const TemporaryFolder folder;
    expect_oracle({"--predictor", (source / "predictor").string()}, source, "predict", folder);

    // The stored share of each layer is the mean over the passes that made the greedy tokens, each over the whole text so
    // far. Here a share is printed to a tenth of a percent, so that the mean of 16 is good to half of that.
    const auto expected = formats::SafeTensorsFile::open((source / "expected.safetensors").string());
    std::vector<int64_t> ids = expected.at("prompt_ids").to_ints();
    std::ifstream stored(source / "sparsity.json");
    const auto shares = nlohmann::json::parse(stored)["active_share_per_layer"].get<std::vector<double>>();
    std::vector<double> found(shares.size());
    const std::regex line(R"(layer +(\d+) active share +[0-9.]+ %, gates computed +([0-9.]+) %)");
    const std::vector<int64_t> greedy = expected.at("greedy_ids").to_ints();
    for (const int64_t id : greedy) {
        write_ids(folder / "ids.txt", ids);
        const Output o = run({"powerinfer", "logits", "-m", folder / "m.gguf", "--ids-file", folder / "ids.txt", "-o",
                              folder / "l", "--sparsity", "predict", "--memory-f32", "--layers"});
        size_t n = 0;
        for (std::sregex_iterator i(o.err.begin(), o.err.end(), line), end; i != end; ++i, ++n)
            found.at(n) += std::stod((*i)[2]) / 100 / static_cast<double>(greedy.size());
        ASSERT_EQ(n, shares.size()) << o.err;
        ids.push_back(id);
    }
    for (size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(found[i], shares[i], 5e-4) << "layer " << i;
}

/// The hash of a prompt's logits under a threshold of the environment and one of the command line, where given.
class Threshold : public testing::Test {
  protected:
    void SetUp() override {
        SHARED_PATH_OR_SKIP(source, "oracles/llama-relu-predictors");
        source_ = source;
        const auto predictor = folder_.path() / "predictor";
        std::filesystem::create_directory(predictor);
        for (const auto& file : std::filesystem::directory_iterator(source_ / "predictor"))
            if (file.path().extension() == ".pt") std::filesystem::copy(file.path(), predictor);
        write_ids(folder_ / "ids.txt", {1, 5, 9, 20, 30, 40, 50, 60});
        convert("stated.gguf", source_ / "predictor");
        convert("silent.gguf", predictor);
    }
    void convert(const std::string& name, const std::filesystem::path& predictor) {
        const Output o = run({"powerinfer", "convert", source_.string(), "--predictor", predictor.string(), "-o", folder_ / name});
        ASSERT_EQ(o.status, 0) << o.err;
    }
    Output logits(const std::string& model, const char* environment = nullptr, const Words& more = {}) {
        RunOptions options;
        if (environment) options.environment = {{"LLAMA_SPARSE_PRED_THRESHOLD", environment}};
        return run(joined({"powerinfer", "logits", "-m", folder_ / model, "--ids-file", folder_ / "ids.txt", "-o", folder_ / "l",
                           "--sparsity", "predict"},
                          more),
                   options);
    }
    TemporaryFolder folder_;
    std::filesystem::path source_;
};

TEST_F(Threshold, EnvironmentBeforeFileBeforeZero) {
    const std::string quarter = hash_of(logits("stated.gguf")), zero = hash_of(logits("silent.gguf"));
    EXPECT_NE(quarter, zero);
    EXPECT_EQ(hash_of(logits("silent.gguf", "0.25")), quarter);
    EXPECT_EQ(hash_of(logits("stated.gguf", "0")), zero);
    EXPECT_EQ(hash_of(logits("stated.gguf", "0.25")), quarter);
    EXPECT_EQ(hash_of(logits("stated.gguf", "0", {"--sparse-threshold", "0.25"})), quarter);
    EXPECT_EQ(active_share(logits("stated.gguf", "1e30")), 0);
    // With every neuron named nothing is lost.
    EXPECT_EQ(hash_of(logits("stated.gguf", "-1e30")), hash_of(logits("stated.gguf", nullptr, {"--sparsity", "exact"})));
}

TEST_F(Threshold, WhatCannotBeReadIsAnError) {
    for (const char* value : {"", "high", "0.5x", "nan", "inf", "0,5", "1e999"}) {
        SCOPED_TRACE(value);
        const Output o = logits("stated.gguf", value);
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.err, HasSubstr("error: environment variable LLAMA_SPARSE_PRED_THRESHOLD is '" + std::string(value) + "'"));
        EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    }
}

TEST(Modes, ExactAndOffWriteTheSameStoryHoweverItIsComputed) {
    const std::string prompt = "Once upon a time there was a little girl who lived with her mother at the edge of the forest";
    std::string text;
    for (const char* mode : {"off", "exact"}) {
        std::string hash;
        for (const Words& how : {Words{"-t", "1"}, Words{"-t", "2"}, Words{"-t", "3", "-b", "7"}, Words{"-t", "2", "-ub", "5"},
                                 Words{"-t", "1", "-b", "16", "-ub", "3"}, Words{"-t", "2", "-tb", "1", "-b", "1"}}) {
            SCOPED_TRACE(std::string(mode) + " " + testing::PrintToString(how));
            const Output o = run(joined({"main", "-m", kModel, "-p", prompt, "-n", "32", "--temp", "0", "--sparsity", mode}, how));
            EXPECT_EQ(o.status, 0) << o.err;
            if (hash.empty()) hash = hash_of(o);
            EXPECT_EQ(hash_of(o), hash);
            if (text.empty()) text = o.out;
            EXPECT_EQ(o.out, text);
        }
    }
}

}  // namespace
}  // namespace powerinfer::test
