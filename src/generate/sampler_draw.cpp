#include "generate/sampler_draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace powerinfer::generate {

namespace {

/// Draws from probabilities that sum to about one. A single entry is certain and takes no number.
size_t draw_weighted(std::span<const float> p, Generator& generator) {
    if (p.size() < 2) return 0;
    double sum = 0;
    for (const float x : p) sum += x;
    const double u = generator.next_double();
    double reached = 0;
    size_t last_possible = 0;
    for (size_t i = 0; i < p.size(); ++i) {
        reached += p[i] / sum;
        if (p[i] > 0) last_possible = i;
        if (reached >= u && p[i] > 0) return i;
    }
    return last_possible;  // rounding left the sum a little short of u
}

}  // namespace

double Generator::next_double() {
    const auto low = static_cast<double>(engine_());
    const auto high = static_cast<double>(engine_());
    const double u = (low + high * 0x1p32) * 0x1p-64;
    return u < 1 ? u : std::nextafter(1.0, 0.0);
}

float Generator::next_float() {
    const float u = static_cast<float>(engine_()) * 0x1p-32f;
    return u < 1 ? u : std::nextafter(1.0f, 0.0f);
}

size_t draw(Candidates& candidates, Generator& generator) {
    const float best = candidates.max_logit();
    double sum = 0;
    for (const Candidate& c : candidates.items()) sum += std::exp(c.logit - best);
    const double wanted = generator.next_double() * sum;
    double reached = 0;
    size_t last_possible = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const float weight = std::exp(candidates.items()[i].logit - best);
        if (weight > 0) last_possible = i;
        reached += weight;
        if (reached >= wanted && weight > 0) return i;
    }
    return last_possible;
}

Mirostat::Mirostat(int version, int n_vocab, float tau, float eta)
    : version_(version), n_vocab_(n_vocab), tau_(tau), eta_(eta), mu_(2 * tau) {}

/// Version 1 estimates the exponent s of a Zipf law from the likeliest tokens and solves it for the surprise
/// mu.
void Mirostat::keep_estimated_top(Candidates& candidates) const {
    constexpr size_t kNumEstimated = 100;
    const std::span<const float> p = candidates.softmax();
    double numerator = 0, denominator = 0;
    for (size_t i = 0; i + 1 < std::min(kNumEstimated, p.size()); ++i) {
        if (p[i + 1] <= 0) break;
        const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
        const double b = std::log(static_cast<double>(p[i]) / static_cast<double>(p[i + 1]));
        numerator += t * b;
        denominator += t * t;
    }
    if (denominator == 0) return candidates.truncate(1);
    const double s = numerator / denominator;
    const double e = s - 1;
    const double k =
        std::pow(e * std::pow(2.0, mu_) / (1 - std::pow(static_cast<double>(n_vocab_), -e)), 1 / s);
    // s of 0 or 1 makes the formula 0/0 or x/0; then every token is as good as the others.
    const double n = static_cast<double>(candidates.size());
    candidates.truncate(static_cast<size_t>(std::isnan(k) ? n : std::clamp(k, 1.0, n)));
}

void Mirostat::keep_unsurprising(Candidates& candidates) const {
    const std::span<const float> p = candidates.softmax();
    size_t n = 0;
    while (n < p.size() && -std::log2(p[n]) <= mu_) ++n;
    candidates.truncate(std::max(n, size_t{1}));
}

size_t Mirostat::draw(Candidates& candidates, Generator& generator) {
    candidates.sort();
    if (version_ == 1)
        keep_estimated_top(candidates);
    else
        keep_unsurprising(candidates);
    const std::span<const float> p = candidates.softmax();
    const size_t drawn = draw_weighted(p, generator);
    mu_ -= eta_ * (-std::log2(p[drawn]) - tau_);
    return drawn;
}

AdaptiveP::AdaptiveP(float target, float decay)
    : target_(std::min(target, 1.0f)),
      decay_(std::clamp(decay, 0.0f, 0.99f)),
      weighted_sum_(target_ / (1 - decay_)),
      total_weight_(1 / (1 - decay_)) {}

size_t AdaptiveP::draw(Candidates& candidates, Generator& generator) {
    if (target_ < 0) return draw_weighted(candidates.softmax(), generator);
    constexpr float kPeak = 5, kSharpness = 10, kWidth = 0.3f;
    const float aim = std::clamp(2 * target_ - weighted_sum_ / total_weight_, 0.0f, 1.0f);
    const std::span<double> original = candidates.scratch();
    const std::span<const float> p = candidates.softmax();
    for (size_t i = 0; i < candidates.size(); ++i) {
        original[i] = p[i];
        float& logit = candidates.items()[i].logit;
        if (logit == -std::numeric_limits<float>::infinity()) continue;
        const float distance = std::abs(p[i] - aim) / kWidth;
        logit = kPeak - kSharpness * distance * distance / (1 + distance);
    }
    candidates.logits_changed();
    const size_t drawn = draw_weighted(candidates.softmax(), generator);
    weighted_sum_ = static_cast<float>(original[drawn]) + decay_ * weighted_sum_;
    total_weight_ = 1 + decay_ * total_weight_;
    return drawn;
}

}  // namespace powerinfer::generate
