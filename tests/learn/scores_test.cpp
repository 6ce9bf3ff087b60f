#include "learn/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "learn/windows.h"

namespace powerinfer::learn {
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
    const float q[] = {std::log(0.25f), std::log(0.75f)};  // of the model under test
    const float base[] = {std::log(0.5f), std::log(0.5f)};
    c.add(q, base, 0);
    // 0.5 ln(0.5/0.25) + 0.5 ln(0.5/0.75)
    EXPECT_NEAR(c.divergence().mean(), 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3.0), 1e-6);
    EXPECT_EQ(c.same_top().mean(), 0);
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean PPL(Q)                   :   4.000000"));
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean PPL(base)                :   2.000000"));
    EXPECT_THAT(c.report(), testing::HasSubstr("Mean    Δp: -25.000"));
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
}  // namespace powerinfer::learn
