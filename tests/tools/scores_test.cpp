#include "tools/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tools/logits_file.h"
#include "tools/windows.h"

namespace powerinfer::tools {
namespace {

TEST(Scores, NegativeLogLikelihoodOfKnownProbabilities) {
    const float logits[] = {std::log(0.5f), std::log(0.25f), std::log(0.25f)};
    EXPECT_NEAR(negative_log_likelihood(logits, 0), std::log(2.0), 1e-6);
    EXPECT_NEAR(negative_log_likelihood(logits, 2), std::log(4.0), 1e-6);
    const float large[] = {1e4f, 1e4f};
    EXPECT_NEAR(negative_log_likelihood(large, 1), std::log(2.0), 1e-6);
}

TEST(Scores, MeanAndItsError) {
    RunningMean m;
    EXPECT_EQ(m.error(), 0);
    for (const double x : {1.0, 2.0, 3.0, 4.0}) m.add(x);
    EXPECT_DOUBLE_EQ(m.mean(), 2.5);
    // Variance 5/4 over n, divided by n - 1 = 3.
    EXPECT_NEAR(m.error(), std::sqrt(1.25 / 3), 1e-12);
}

TEST(Scores, DivergenceOfTwoKnownDistributions) {
    Comparison c;
    const float q[] = {std::log(0.25f), std::log(0.75f)};     // of the model under test
    const float base[] = {std::log(0.5f), std::log(0.5f)};
    c.add(q, base, 0);
    // 0.5 ln(0.5/0.25) + 0.5 ln(0.5/0.75)
    EXPECT_NEAR(c.divergence().mean(), 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3.0), 1e-6);
    EXPECT_EQ(c.same_top().mean(), 0);
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean PPL(Q)                   :   4.000000"));
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean PPL(base)                :   2.000000"));
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean    Δp: -25.000"));
}

class LogitsFile : public testing::Test {
  protected:
    LogitsFile() : path_(std::filesystem::temp_directory_path() / "powerinfer-logits-test.bin") {}
    ~LogitsFile() override { std::filesystem::remove(path_); }
    std::filesystem::path path_;
};

TEST_F(LogitsFile, RowsComeBackAsLogProbabilities) {
    const std::vector<int32_t> tokens = {1, 2, 0, 2};
    const float logits[] = {0.0f, 1.0f, -30.0f};
    {
        LogitsFileWriter writer(path_.string(), 4, 3, tokens);
        writer.add(logits);
        writer.finish();
    }
    LogitsFileReader reader(path_.string());
    EXPECT_EQ(reader.n_ctx(), 4);
    EXPECT_EQ(reader.n_vocab(), 3);
    EXPECT_EQ(reader.n_windows(), 1);
    EXPECT_THAT(reader.tokens(), testing::ElementsAreArray(tokens));
    const auto row = reader.log_probs(0);
    const double norm = std::log(1 + std::exp(1.0) + std::exp(-30.0));
    EXPECT_NEAR(row[0], -norm, 2e-4);
    EXPECT_NEAR(row[1], 1 - norm, 2e-4);
    EXPECT_NEAR(row[2], 1 - 16 - norm, 2e-4) << "no more than 16 below the best";
}

TEST_F(LogitsFile, DamageIsNamed) {
    std::vector<int32_t> tokens(8, 1);
    const float logits[] = {0.0f, 1.0f};
    {
        LogitsFileWriter writer(path_.string(), 8, 2, tokens);
        for (int i = 0; i < 3; ++i) writer.add(logits);
        writer.finish();
    }
    EXPECT_NO_THROW(LogitsFileReader(path_.string()));
    const auto size = std::filesystem::file_size(path_);
    for (const auto wrong : {size - 1, size - 12, size_t{19}, size_t{8}, size_t{0}}) {
        std::filesystem::resize_file(path_, wrong);
        EXPECT_THROW(LogitsFileReader(path_.string()), Error) << wrong;
    }
}

TEST(Windows, CutsSideBySideOrWithAStride) {
    const Windows plain = cut_windows(1030, 256, 0, -1);
    EXPECT_EQ(plain.n_windows, 4);
    EXPECT_EQ(plain.first, 128);
    EXPECT_EQ(cut_windows(1030, 256, 0, 2).n_windows, 2);
    const Windows stride = cut_windows(600, 256, 100, -1);
    EXPECT_EQ(stride.n_windows, 4);  // ceil(344 / 100)
    EXPECT_EQ(stride.first, 155);    // 100 successors, positions 156 .. 255
    EXPECT_THROW(cut_windows(511, 256, 0, -1), Error);
    EXPECT_THROW(cut_windows(1000, 256, 256, -1), Error);
}

}  // namespace
}  // namespace powerinfer::tools
