// A published model, where its file is at hand (POWERINFER_REAL_MODELS names the folder): perplexity, logits and greedy
// text against figures that another program computed in float32 from the dequantised weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>

#include "e2e/process.h"
#include "formats/safetensors.h"
#include "shared_data.h"

namespace powerinfer::test {
namespace {

class SmolLm2 : public testing::Test {
  protected:
    void SetUp() override {
        const char* models = std::getenv("POWERINFER_REAL_MODELS");
        if (!models) GTEST_SKIP() << "POWERINFER_REAL_MODELS is not set; it names a folder of published model files";
        if (kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
        SHARED_PATH_OR_SKIP(figures, "oracles/real/expected.json");
        std::ifstream file(figures);
        expected_ = nlohmann::json::parse(file)["smollm2-135m"];
        model_ = (std::filesystem::path(models) / expected_["file"].get<std::string>()).string();
        if (!std::filesystem::exists(model_)) GTEST_SKIP() << model_ << " is not there";
    }

    /// Logits after each token of the prompt and its greedy continuation; also the ids in ids_.
    std::vector<float> logits(const std::string& model) {
        std::vector<int> ids = expected_["prompt_ids"];
        n_prompt_ = ids.size();
        greedy_ = expected_["greedy_ids"].get<std::vector<int>>();
        ids.insert(ids.end(), greedy_.begin(), greedy_.end());
        std::ofstream file(folder_ / "ids.txt");
        for (const int id : ids) file << id << "\n";
        file.close();
        const Output o = run({"powerinfer", "logits", "-m", model, "--ids-file", folder_ / "ids.txt", "-o",
                              folder_ / "logits.safetensors", "--memory-f32"});
        EXPECT_EQ(o.status, 0) << o.err;
        if (o.status != 0) return {};
        return formats::SafeTensorsFile::open(folder_ / "logits.safetensors").at("logits").to_floats();
    }

    /// Those that the other program computed after the prompt.
    std::vector<float> stored() {
        return formats::SafeTensorsFile::open((shared_folder() / "oracles/real/smollm2-135m.safetensors").string())
            .at("logits_after_prompt")
            .to_floats();
    }

    /// Row of the logits from which greedy token i is chosen.
    std::span<const float> row(const std::vector<float>& all, size_t i) const {
        const size_t n_vocab = all.size() / (n_prompt_ + greedy_.size());
        return {all.data() + (n_prompt_ - 1 + i) * n_vocab, n_vocab};
    }

    nlohmann::json expected_;
    std::string model_;
    TemporaryFolder folder_;
    std::vector<int> greedy_;
    size_t n_prompt_ = 0;
};

TEST_F(SmolLm2, WithDequantisedWeightsEveryLogitAndTokenIsTheSame) {
    const Output made = run({"quantize", "--allow-requantize", "--pure", model_, folder_ / "f32.gguf", "F32"});
    ASSERT_EQ(made.status, 0) << made.err;
    const std::vector<float> found = logits(folder_ / "f32.gguf"), wanted = stored();
    ASSERT_FALSE(found.empty());
    ASSERT_EQ(row(found, 0).size(), wanted.size());
    float worst = 0;
    for (size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::fabs(row(found, 0)[i] - wanted[i]));
    EXPECT_LT(worst, 2e-3f);
    for (size_t i = 0; i < greedy_.size(); ++i) {
        const auto r = row(found, i);
        EXPECT_EQ(std::max_element(r.begin(), r.end()) - r.begin(), greedy_[i]) << "step " << i;
    }
}

// Where weights are Q4_1 the activations are rounded to 8 bits per block of 32, an error of at most 1/254 of the block's
// largest value. What 30 layers make of that, apart from a shift common to all logits, which no probability depends on,
// was measured: 0.027 of the spread of the logits; held here: 0.05.
TEST_F(SmolLm2, WithTheWeightsAsTheyAreLogitsStayWithinAFewHundredths) {
    const std::vector<float> found = logits(model_), wanted = stored();
    ASSERT_FALSE(found.empty());
    ASSERT_EQ(row(found, 0).size(), wanted.size());
    const auto n = static_cast<double>(wanted.size());
    double shift = 0, mean = 0, error = 0, spread = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
        shift += static_cast<double>(row(found, 0)[i] - wanted[i]) / n;
        mean += static_cast<double>(wanted[i]) / n;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
        error += std::pow(static_cast<double>(row(found, 0)[i] - wanted[i]) - shift, 2) / n;
        spread += std::pow(static_cast<double>(wanted[i]) - mean, 2) / n;
    }
    EXPECT_LT(std::sqrt(error / spread), 0.05);
    // Along the other program's greedy text its token is the best, or as good as that within the same error.
    size_t same = 0;
    for (size_t i = 0; i < greedy_.size(); ++i) {
        const auto r = row(found, i);
        const auto best = std::max_element(r.begin(), r.end());
        same += best - r.begin() == greedy_[i];
        EXPECT_LT(*best - r[static_cast<size_t>(greedy_[i])], 2 * std::sqrt(error)) << "step " << i;
    }
    EXPECT_GE(same, greedy_.size() - 1);
}

TEST_F(SmolLm2, PerplexityIsTheStoredOneWithinHalfAPercent) {
    const auto text = shared_folder() / "text/fairy_tales.heldout.txt";
    const Output o = run({"perplexity", "-m", model_, "-f", text.string(), "-c", "512", "--chunks", "8"}, {.timeout_s = 280});
    ASSERT_EQ(o.status, 0) << o.err;
    std::smatch m;
    ASSERT_TRUE(std::regex_search(o.out, m, std::regex(R"(Final estimate: PPL = ([0-9.]+))"))) << o.out;
    const double wanted = expected_["perplexity"];
    EXPECT_NEAR(std::stod(m[1]), wanted, 0.005 * wanted);
}

}  // namespace
}  // namespace powerinfer::test
