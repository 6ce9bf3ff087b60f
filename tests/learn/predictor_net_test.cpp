#include "learn/predictor_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace powerinfer::learn {
namespace {

Net small_net(int64_t n_in, int64_t rank, int64_t n_out, uint32_t seed, bool biases) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 0.4f);
    Net net{Floats(rank, n_in), Floats(n_out, rank), {}, {}};
    for (float& v : net.first.values) v = normal(random);
    for (float& v : net.second.values) v = normal(random);
    if (biases) {
        net.first_bias.assign(static_cast<size_t>(rank), 0.1f);
        net.second_bias.assign(static_cast<size_t>(n_out), -0.1f);
    }
    return net;
}

/// "Yes" where x_0 and x_1 have the same sign, which no linear predictor can tell.
NetBatch same_sign(int64_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    NetBatch batch{Floats(n, 2), Floats(n, 1)};
    for (int64_t t = 0; t < n; ++t) {
        for (int64_t i = 0; i < 2; ++i) batch.x.row(t)[i] = uniform(random);
        batch.weights.row(t)[0] = batch.x.row(t)[0] * batch.x.row(t)[1] > 0 ? 1.0f : -1.0f;
    }
    return batch;
}

/// The loss of one pair, straight from its definition.
double slow_loss(const Net& net, const NetBatch& batch) {
    double sum = 0;
    for (int64_t t = 0; t < batch.x.rows; ++t) {
        for (int64_t j = 0; j < net.second.rows; ++j) {
            double z = net.second_bias.empty() ? 0 : static_cast<double>(net.second_bias[static_cast<size_t>(j)]);
            for (int64_t k = 0; k < net.first.rows; ++k) {
                double h = net.first_bias.empty() ? 0 : static_cast<double>(net.first_bias[static_cast<size_t>(k)]);
                for (int64_t i = 0; i < net.first.columns; ++i)
                    h += static_cast<double>(net.first.row(k)[i]) * static_cast<double>(batch.x.row(t)[i]);
                if (h > 0) z += h * static_cast<double>(net.second.row(j)[k]);
            }
            const double w = static_cast<double>(batch.weights.row(t)[j]);
            sum += std::fabs(w) * std::log(1 + std::exp(w > 0 ? -z : z));
        }
    }
    return sum / static_cast<double>(batch.x.rows * net.second.rows);
}

TEST(PredictorNet, LossEqualsItsDefinition) {
    Multiplier multiply(1);
    NetBatch batch{Floats(5, 3), Floats(5, 4)};
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    for (float& v : batch.x.values) v = normal(random);
    for (float& v : batch.weights.values) v = normal(random);
    for (const bool biases : {false, true}) {
        const Net net = small_net(3, 6, 4, 1, biases);
        EXPECT_NEAR(NetTrainer(net, {}, multiply).loss(batch), slow_loss(net, batch), 1e-5);
    }
}

/// The first step of AdamW moves every weight by the rate, against the sign of its gradient.
TEST(PredictorNet, StepsAgainstTheGradientOfTheLoss) {
    Multiplier multiply(1);
    const NetBatch batch = same_sign(20, 3);
    const Net net = small_net(2, 3, 1, 2, true);
    NetTrainer trainer(net, {.rate = 1e-4, .decay = 0, .n_steps = 1000}, multiply);
    trainer.step(batch);
    const auto check = [&](auto place) {
        Net higher = net, lower = net, moved = trainer.net();
        place(higher) += 1e-2f;
        place(lower) -= 1e-2f;
        Net start = net;
        const double gradient = slow_loss(higher, batch) - slow_loss(lower, batch);
        if (std::fabs(gradient) < 1e-6) return;
        EXPECT_NEAR(place(moved) - place(start), gradient > 0 ? -1e-4f : 1e-4f, 2e-5f);
    };
    for (size_t i = 0; i < 6; ++i) check([i](Net& n) -> float& { return n.first.values[i]; });
    for (size_t i = 0; i < 3; ++i) check([i](Net& n) -> float& { return n.second.values[i]; });
    for (size_t i = 0; i < 3; ++i) check([i](Net& n) -> float& { return n.first_bias[i]; });
    check([](Net& n) -> float& { return n.second_bias[0]; });
}

TEST(PredictorNet, LearnsWhatNoLinearPredictorCan) {
    Multiplier multiply(1);
    NetTrainer trainer(small_net(2, 16, 1, 4, true), {.rate = 3e-2, .decay = 0.001, .n_steps = 300}, multiply);
    const double before = trainer.loss(same_sign(500, 99));
    for (uint32_t step = 0; step < 300; ++step) trainer.step(same_sign(64, step));
    EXPECT_GT(before, 0.6);
    EXPECT_LT(trainer.loss(same_sign(500, 99)), 0.15);
}

}  // namespace
}  // namespace powerinfer::learn
