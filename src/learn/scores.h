// Arithmetic of perplexity and of the comparison of two models' answers, on plain numbers.
// Not for running a model (windows.h) nor for files of logits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace powerinfer::learn {

/// -ln p of one token. logits: [n_vocab].
double negative_log_likelihood(std::span<const float> logits, int32_t id);

/// ln p of every token, out [n_vocab].
void log_softmax(std::span<const float> logits, std::span<float> out);

/// Running mean of a figure and the uncertainty of that mean.
struct RunningMean {
    double sum = 0, sum_of_squares = 0;
    int64_t n = 0;

    void add(double x) {
        sum += x;
        sum_of_squares += x * x;
        ++n;
    }
    double mean() const { return n > 0 ? sum / static_cast<double>(n) : 0; }
    /// Standard deviation of the mean; 0 for fewer than two values.
    double error() const;
};

/// The answers of two models to the same tokens, counted together.
class Comparison {
  public:
    /// logits: of the model under test; base_log_probs: ln p of the base model, both [n_vocab]; id: what came
    /// next.
    void add(std::span<const float> logits, std::span<const float> base_log_probs, int32_t id);

    /// One line with the running figures after a window.
    std::string running_line(int window) const;
    /// The closing tables.
    std::string report() const;

    const RunningMean& nll() const { return nll_; }  ///< of the model under test
    const RunningMean& divergence() const { return divergence_; }
    const RunningMean& same_top() const { return same_top_; }

  private:
    RunningMean nll_, base_nll_, ratio_, divergence_, same_top_, delta_p_, delta_p_squared_;
    double product_ = 0;  ///< of the two nll, for their correlation
    std::vector<float> divergences_, deltas_;
};

}  // namespace powerinfer::learn
