// A two-layer network that learns which neurons fire, with its optimiser. Knows batches, not where they come from.
#pragma once

#include <vector>

#include "learn/matmul.h"

namespace powerinfer::learn {

/// logits = second . relu(first . x + first_bias) + second_bias.
struct Net {
    Floats first, second;                        ///< [rank][n_in], [n_out][rank]
    std::vector<float> first_bias, second_bias;  ///< [rank], [n_out]; both empty in a network without biases
};

/// What to learn from, a row per token.
struct NetBatch {
    Floats x;        ///< [n][n_in]
    Floats weights;  ///< [n][n_out]: how much the answer matters; below zero where the right answer is "no"
};

struct NetOptions {
    double rate = 1e-3;     ///< of the first steps; falls to a hundredth along half a cosine
    double decay = 0.01;    ///< of weights, times the rate
    int64_t n_steps = 1000;
};

/// AdamW on weighted binary cross-entropy.
class NetTrainer {
  public:
    NetTrainer(Net net, const NetOptions& options, Multiplier& multiply);

    /// One step; gives the mean loss per pair of token and output before it.
    double step(const NetBatch& batch);
    /// The same loss, without learning.
    double loss(const NetBatch& batch);
    const Net& net() const { return net_; }

  private:
    struct Moments {
        std::vector<float> mean, square;
    };
    double forward(const NetBatch& batch, bool keep_gradient);
    void update(std::vector<float>& values, const std::vector<float>& gradient, Moments& moments, double decay);

    Net net_;
    NetOptions options_;
    Multiplier& multiply_;
    int64_t n_done_ = 0;
    Floats hidden_, logits_;  // logits_ becomes the gradient of the loss by them
    Moments first_, second_, first_bias_, second_bias_;
};

}  // namespace powerinfer::learn
