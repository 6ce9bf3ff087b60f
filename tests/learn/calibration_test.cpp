#include "learn/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace powerinfer::learn {
namespace {

/// Scores and contributions of two neurons over 8 tokens, shown twice: the second half is measured on the same.
struct Example {
    Floats scores{2, 8}, contributions{2, 8};
    Example() {
        // Neuron 0: only high scores contribute. Neuron 1: a low score contributes a lot.
        const float s[2][8] = {{0, 1, 2, 3, 0, 1, 2, 3}, {0, 1, 2, 3, 0, 1, 2, 3}};
        const float c[2][8] = {{0, 0, 0, 4, 0, 0, 0, 4}, {0, 8, 0, 0, 0, 8, 0, 0}};
        for (int64_t j = 0; j < 2; ++j) {
            for (int64_t t = 0; t < 8; ++t) {
                scores.row(j)[t] = s[j][t];
                contributions.row(j)[t] = c[j][t];
            }
        }
    }
};

TEST(Calibration, EachNeuronStopsWhereItsNextSampleIsWorthThePrice) {
    ThreadPool pool(2);
    const Example e;
    const Curve curve = make_curve(e.scores, e.contributions, true, pool);
    ASSERT_EQ(curve.points.size(), prices().size());
    EXPECT_DOUBLE_EQ(curve.true_share, 1.0 / 4);  // measured on tokens 6 and 7: one of four pairs
    const CurvePoint& cheap = curve.points.front();
    EXPECT_FLOAT_EQ(cheap.thresholds[0], 2.5f);  // everything below the one that contributes
    EXPECT_FLOAT_EQ(cheap.thresholds[1], 0.5f);
    EXPECT_EQ(cheap.lost, 0);
    EXPECT_EQ(cheap.recall, 1);
    const CurvePoint& dear = curve.points.back();
    EXPECT_GT(dear.thresholds[0], 3.0f);  // nothing is worth it
    EXPECT_EQ(dear.share, 0);
    EXPECT_EQ(dear.lost, 1);
    for (size_t i = 1; i < curve.points.size(); ++i) {
        EXPECT_LE(curve.points[i].share, curve.points[i - 1].share);
        EXPECT_GE(curve.points[i].lost, curve.points[i - 1].lost);
    }
}

TEST(Calibration, OneThresholdForAllIsTheCheapestOne) {
    ThreadPool pool(1);
    const Example e;
    const Curve curve = make_curve(e.scores, e.contributions, false, pool);
    ASSERT_EQ(curve.points.front().thresholds.size(), 1u);
    EXPECT_FLOAT_EQ(curve.points.front().thresholds[0], 0.5f);  // neuron 1 holds it down
}

}  // namespace
}  // namespace powerinfer::learn
