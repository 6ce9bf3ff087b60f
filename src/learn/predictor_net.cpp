#include "learn/predictor_net.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace powerinfer::learn {
namespace {

std::vector<float> column_sums(const Floats& a) {
    std::vector<float> sums(static_cast<size_t>(a.columns));
    for (int64_t r = 0; r < a.rows; ++r) {
        for (int64_t c = 0; c < a.columns; ++c) sums[static_cast<size_t>(c)] += a.row(r)[c];
    }
    return sums;
}

}  // namespace

NetTrainer::NetTrainer(Net net, const NetOptions& options, Multiplier& multiply)
    : net_(std::move(net)), options_(options), multiply_(multiply) {}

double NetTrainer::forward(const NetBatch& batch, bool keep_gradient) {
    multiply_.rows_by_rows(batch.x, net_.first, hidden_);
    for (int64_t t = 0; t < hidden_.rows; ++t) {
        float* row = hidden_.row(t);
        for (int64_t k = 0; k < hidden_.columns; ++k) {
            if (!net_.first_bias.empty()) row[k] += net_.first_bias[static_cast<size_t>(k)];
            row[k] = std::max(row[k], 0.0f);
        }
    }
    multiply_.rows_by_rows(hidden_, net_.second, logits_);
    const auto scale = 1 / static_cast<float>(logits_.values.size());
    std::vector<double> sums(static_cast<size_t>(logits_.rows));
    multiply_.pool().for_each(logits_.rows, 8, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
            float* z = logits_.row(t);
            const float* weight = batch.weights.row(t);
            double sum = 0;
            for (int64_t j = 0; j < logits_.columns; ++j) {
                if (!net_.second_bias.empty()) z[j] += net_.second_bias[static_cast<size_t>(j)];
                // -log of the probability of the right answer: log(1 + exp(-z)) for yes, log(1 + exp(z)) for no.
                const float towards = weight[j] > 0 ? z[j] : -z[j];
                const float e = std::exp(-std::fabs(towards));
                const float importance = std::fabs(weight[j]);
                sum += static_cast<double>(importance * (std::log1p(e) + std::max(-towards, 0.0f)));
                const float wrong = towards > 0 ? e / (1 + e) : 1 / (1 + e);  // probability of the wrong answer
                if (keep_gradient) z[j] = (weight[j] > 0 ? -wrong : wrong) * importance * scale;
            }
            sums[static_cast<size_t>(t)] = sum;
        }
    });
    double total = 0;
    for (const double s : sums) total += s;
    return total * static_cast<double>(scale);
}

double NetTrainer::loss(const NetBatch& batch) {
    return forward(batch, false);
}

double NetTrainer::step(const NetBatch& batch) {
    const double loss = forward(batch, true);
    const Floats by_output = multiply_.transpose(logits_);
    Floats second_gradient, hidden_gradient, first_gradient;
    multiply_.rows_by_rows(by_output, multiply_.transpose(hidden_), second_gradient);
    multiply_.rows_by_rows(logits_, multiply_.transpose(net_.second), hidden_gradient);
    for (size_t i = 0; i < hidden_gradient.values.size(); ++i) {
        if (hidden_.values[i] <= 0) hidden_gradient.values[i] = 0;
    }
    multiply_.rows_by_rows(multiply_.transpose(hidden_gradient), multiply_.transpose(batch.x), first_gradient);
    ++n_done_;
    update(net_.first.values, first_gradient.values, first_, options_.decay);
    update(net_.second.values, second_gradient.values, second_, options_.decay);
    if (!net_.first_bias.empty()) {
        update(net_.first_bias, column_sums(hidden_gradient), first_bias_, 0);
        update(net_.second_bias, column_sums(logits_), second_bias_, 0);
    }
    return loss;
}

void NetTrainer::update(std::vector<float>& values, const std::vector<float>& gradient, Moments& moments, double decay) {
    constexpr double kMean = 0.9, kSquare = 0.99;
    moments.mean.resize(values.size());
    moments.square.resize(values.size());
    const double way = std::min(1.0, static_cast<double>(n_done_) / static_cast<double>(options_.n_steps));
    const double rate = options_.rate * (0.01 + 0.99 * 0.5 * (1 + std::cos(std::numbers::pi * way)));
    const auto n = static_cast<double>(n_done_);
    const auto step = static_cast<float>(rate / (1 - std::pow(kMean, n)));
    const auto unbias = static_cast<float>(1 / (1 - std::pow(kSquare, n)));
    const auto keep = static_cast<float>(1 - rate * decay);
    constexpr auto a = static_cast<float>(kMean), b = static_cast<float>(kSquare);
    multiply_.pool().for_each(static_cast<int64_t>(values.size()), 1 << 14, [&](int64_t begin, int64_t end) {
        float *v = values.data(), *m = moments.mean.data(), *s = moments.square.data();
        const float* g = gradient.data();
        for (int64_t i = begin; i < end; ++i) {
            m[i] = a * m[i] + (1 - a) * g[i];
            s[i] = b * s[i] + (1 - b) * g[i] * g[i];
            v[i] = v[i] * keep - step * m[i] / (std::sqrt(s[i] * unbias) + 1e-10f);
        }
    });
}

}  // namespace powerinfer::learn
