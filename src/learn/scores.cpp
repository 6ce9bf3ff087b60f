#include "learn/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace powerinfer::learn {
namespace {

/// ln sum exp(logits).
double log_sum_exp(std::span<const float> logits) {
    const float max = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x - max));
    return max + std::log(sum);
}

/// The value below which the share q of the sorted values lies.
double percentile(const std::vector<float>& sorted, double q) {
    if (sorted.empty()) return 0;
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    const double part = place - static_cast<double>(below);
    return (1 - part) * sorted[below] + part * sorted[above];
}

}  // namespace

double negative_log_likelihood(std::span<const float> logits, int32_t id) {
    return log_sum_exp(logits) - logits[static_cast<size_t>(id)];
}

void log_softmax(std::span<const float> logits, std::span<float> out) {
    const double norm = log_sum_exp(logits);
    for (size_t i = 0; i < logits.size(); ++i) out[i] = static_cast<float>(logits[i] - norm);
}

double RunningMean::error() const {
    if (n < 2) return 0;
    const double count = static_cast<double>(n);
    const double variance = sum_of_squares / count - mean() * mean();
    return variance > 0 ? std::sqrt(variance / (count - 1)) : 0;
}

void Comparison::add(std::span<const float> logits, std::span<const float> base, int32_t id) {
    const double norm = log_sum_exp(logits);
    const auto next = static_cast<size_t>(id);
    const double log_p = logits[next] - norm, base_log_p = base[next];
    nll_.add(-log_p);
    base_nll_.add(-base_log_p);
    ratio_.add(base_log_p - log_p);
    product_ += log_p * base_log_p;

    double divergence = 0;
    for (size_t i = 0; i < base.size(); ++i) {
        const double p = std::exp(static_cast<double>(base[i]));
        if (p > 0) divergence += p * (base[i] - (logits[i] - norm));
    }
    divergence_.add(divergence);
    divergences_.push_back(static_cast<float>(divergence));

    const double delta = std::exp(log_p) - std::exp(base_log_p);
    delta_p_.add(delta);
    delta_p_squared_.add(delta * delta);
    deltas_.push_back(static_cast<float>(delta));
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    const auto base_best = std::max_element(base.begin(), base.end()) - base.begin();
    same_top_.add(best == base_best ? 1 : 0);
}

std::string Comparison::running_line(int window) const {
    const double perplexity = std::exp(nll_.mean());
    return fmt::format(
        "{:4d}  {:10.4f} ± {:8.4f}  {:10.5f} ± {:9.5f}  {:10.5f} ± {:9.5f}  {:6.3f} ± {:5.3f} %  {:6.3f} ± "
        "{:5.3f} %\n",
        window, perplexity, perplexity * nll_.error(), ratio_.mean(), ratio_.error(), divergence_.mean(),
        divergence_.error(), 100 * std::sqrt(delta_p_squared_.mean()),
        delta_p_squared_.mean() > 0
            ? 100 * delta_p_squared_.error() / (2 * std::sqrt(delta_p_squared_.mean()))
            : 0.0,
        100 * same_top_.mean(), 100 * same_top_.error());
}

std::string Comparison::report() const {
    const double perplexity = std::exp(nll_.mean()), base = std::exp(base_nll_.mean());
    const double n = static_cast<double>(std::max<int64_t>(nll_.n, 1));
    const double covariance = product_ / n - nll_.mean() * base_nll_.mean();
    const double spread =
        std::sqrt(std::max(0.0, nll_.sum_of_squares / n - nll_.mean() * nll_.mean())) *
        std::sqrt(std::max(0.0, base_nll_.sum_of_squares / n - base_nll_.mean() * base_nll_.mean()));
    const double ratio = std::exp(ratio_.mean());
    // The errors of both perplexities are not independent: their covariance is that of the mean log
    // likelihoods.
    const double mean_covariance = n > 1 ? covariance / (n - 1) : 0;
    const double difference_error = std::sqrt(std::max(0.0, std::pow(perplexity * nll_.error(), 2) +
                                                                std::pow(base * base_nll_.error(), 2) -
                                                                2 * perplexity * base * mean_covariance));

    std::string out = "\n====== Perplexity statistics ======\n";
    const auto row = [&](std::string_view name, double value, double error) {
        out += fmt::format("{:<30}: {:10.6f} ± {:10.6f}\n", name, value, error);
    };
    row("Mean PPL(Q)", perplexity, perplexity * nll_.error());
    row("Mean PPL(base)", base, base * base_nll_.error());
    out += fmt::format("{:<30}: {:6.2f}%\n", "Cor(ln(PPL(Q)), ln(PPL(base)))",
                       spread > 0 ? 100 * covariance / spread : 0);
    row("Mean ln(PPL(Q)/PPL(base))", ratio_.mean(), ratio_.error());
    row("Mean PPL(Q)/PPL(base)", ratio, ratio * ratio_.error());
    row("Mean PPL(Q)-PPL(base)", perplexity - base, difference_error);

    std::vector<float> sorted = divergences_;
    std::sort(sorted.begin(), sorted.end());
    out += "\n====== KL divergence statistics ======\n";
    out += fmt::format("Mean    KLD: {:10.6f} ± {:10.6f}\n", divergence_.mean(), divergence_.error());
    out += fmt::format("Maximum KLD: {:10.6f}\n", percentile(sorted, 1));
    for (const double q : {99.9, 99.0, 95.0, 90.0})
        out += fmt::format("{:4.1f}%   KLD: {:10.6f}\n", q, percentile(sorted, q / 100));
    out += fmt::format("Median  KLD: {:10.6f}\n", percentile(sorted, 0.5));
    for (const double q : {10.0, 5.0, 1.0, 0.1})
        out += fmt::format("{:4.1f}%   KLD: {:10.6f}\n", q, percentile(sorted, q / 100));
    out += fmt::format("Minimum KLD: {:10.6f}\n", percentile(sorted, 0));

    sorted = deltas_;
    std::sort(sorted.begin(), sorted.end());
    out += "\n====== Token probability statistics ======\n";
    out += fmt::format("Mean    Δp: {:6.3f} ± {:5.3f} %\n", 100 * delta_p_.mean(), 100 * delta_p_.error());
    out += fmt::format("Maximum Δp: {:6.3f}%\n", 100 * percentile(sorted, 1));
    for (const double q : {99.9, 99.0, 95.0, 90.0, 75.0})
        out += fmt::format("{:4.1f}%   Δp: {:6.3f}%\n", q, 100 * percentile(sorted, q / 100));
    out += fmt::format("Median  Δp: {:6.3f}%\n", 100 * percentile(sorted, 0.5));
    for (const double q : {25.0, 10.0, 5.0, 1.0, 0.1})
        out += fmt::format("{:4.1f}%   Δp: {:6.3f}%\n", q, 100 * percentile(sorted, q / 100));
    out += fmt::format("Minimum Δp: {:6.3f}%\n", 100 * percentile(sorted, 0));
    out += fmt::format("RMS Δp    : {:6.3f} %\n", 100 * std::sqrt(delta_p_squared_.mean()));
    out += fmt::format("Same top p: {:6.3f} ± {:5.3f} %\n", 100 * same_top_.mean(), 100 * same_top_.error());
    return out;
}

}  // namespace powerinfer::learn
