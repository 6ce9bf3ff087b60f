#include "generate/sampler_filters.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace powerinfer::generate {

namespace {

constexpr size_t kFirstPiece =
    256;  // filters that need a sorted prefix sort this many first, then four times more

size_t at_least(size_t n, size_t min_keep, size_t size) {
    return std::min(std::max({n, min_keep, size_t{1}}), size);
}

}  // namespace

void keep_top_k(Candidates& candidates, int k) {
    if (k <= 0) return;
    const size_t n = std::min(static_cast<size_t>(k), candidates.size());
    candidates.sort_best(n);
    candidates.truncate(n);
}

void keep_top_p(Candidates& candidates, float p, size_t min_keep) {
    if (p >= 1) return;
    const float best = candidates.max_logit();
    double sum = 0;
    for (const Candidate& c : candidates.items()) sum += std::exp(c.logit - best);
    size_t n_sorted = candidates.is_sorted() ? candidates.size() : 0;
    float reached = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (i == n_sorted) {
            n_sorted = std::min(std::max(kFirstPiece, i * 4), candidates.size());
            candidates.sort_best(n_sorted);
        }
        reached += static_cast<float>(std::exp(candidates.items()[i].logit - best) / sum);
        if (reached >= p && i + 1 >= min_keep) {
            candidates.truncate(i + 1);
            return;
        }
    }
}

void keep_min_p(Candidates& candidates, float min_p, size_t min_keep) {
    if (min_p <= 0) return;
    const float bound = candidates.max_logit() + std::log(min_p);
    const auto good = [bound](const Candidate& c) { return c.logit >= bound; };
    size_t n = 0;
    for (const Candidate& c : candidates.items()) n += good(c);
    if (n >= std::max(min_keep, size_t{1})) {
        candidates.keep_if(good);
        return;
    }
    n = at_least(n, min_keep, candidates.size());
    candidates.sort_best(n);
    candidates.truncate(n);
}

void keep_typical(Candidates& candidates, float p, size_t min_keep) {
    if (p >= 1) return;
    const float best = candidates.max_logit();
    double sum = 0, weighted = 0;
    for (const Candidate& c : candidates.items()) {
        const double weight = std::exp(c.logit - best);
        sum += weight;
        if (weight > 0) weighted += weight * (c.logit - best);
    }
    const double log_sum = std::log(sum);
    const double entropy = log_sum - weighted / sum;
    // -ln p of a candidate, without taking the logarithm of a p that has become zero.
    const auto distance = [=](const Candidate& c) {
        return std::abs(static_cast<double>(best) - static_cast<double>(c.logit) + log_sum - entropy);
    };
    const auto nearer = [&](const Candidate& a, const Candidate& b) {
        const double da = distance(a), db = distance(b);
        return da < db || (da == db && is_better(a, b));
    };
    size_t n_sorted = 0;
    float reached = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (i == n_sorted) {
            n_sorted = std::min(std::max(kFirstPiece, i * 4), candidates.size());
            candidates.sort_first(n_sorted, nearer);
        }
        reached += static_cast<float>(std::exp(candidates.items()[i].logit - best) / sum);
        if (reached > p && i + 1 >= min_keep) {
            candidates.truncate(i + 1);
            return;
        }
    }
}

void keep_tail_free(Candidates& candidates, float z, size_t min_keep) {
    if (z >= 1 || candidates.size() <= 2) return;
    candidates.sort();
    const std::span<const float> p = candidates.softmax();
    const std::span<double> curvature = candidates.scratch().first(candidates.size() - 2);
    double sum = 0;
    for (size_t i = 0; i < curvature.size(); ++i) {
        curvature[i] = std::abs((p[i] - p[i + 1]) - (p[i + 1] - p[i + 2]));
        sum += curvature[i];
    }
    constexpr double kStraight =
        1e-6;  // below this the curvature is rounding noise: every point counts the same
    const double flat = 1.0 / static_cast<double>(curvature.size());
    double reached = 0;
    for (size_t i = 0; i < curvature.size(); ++i) {
        reached += sum > kStraight ? curvature[i] / sum : flat;
        if (reached > z && i >= min_keep) {
            candidates.truncate(at_least(i, min_keep, candidates.size()));
            return;
        }
    }
}

void forbid_below_n_sigma(Candidates& candidates, float n) {
    if (n <= 0 || candidates.size() < 2) return;
    constexpr float kForbidden = -std::numeric_limits<float>::infinity();
    const float best = candidates.max_logit();
    double sum = 0;
    size_t count = 0;
    for (const Candidate& c : candidates.items()) {
        if (c.logit == kForbidden) continue;
        sum += c.logit;
        ++count;
    }
    const double mean = sum / static_cast<double>(count);
    double squares = 0;
    for (const Candidate& c : candidates.items())
        if (c.logit != kForbidden) squares += (c.logit - mean) * (c.logit - mean);
    const double sigma = std::sqrt(squares / static_cast<double>(count));
    const double bound = best - static_cast<double>(n) * sigma;
    for (Candidate& c : candidates.items())
        if (c.logit < bound) c.logit = kForbidden;
    candidates.logits_changed();
}

void exclude_top_choices(Candidates& candidates, float threshold, size_t min_keep) {
    if (threshold > 0.5f || candidates.size() < 2) return;
    candidates.sort();
    const std::span<const float> p = candidates.softmax();
    size_t n_likely = 0;
    while (n_likely < p.size() && p[n_likely] >= threshold) ++n_likely;
    if (n_likely < 2) return;
    const size_t n_dropped = n_likely - 1;
    if (candidates.size() - n_dropped >= min_keep) candidates.drop_front(n_dropped);
}

void apply_temperature(Candidates& candidates, float temperature) {
    const float best = candidates.max_logit();
    // A quotient beyond the range of float could only ever choose the best token.
    if (temperature <= 0 || !std::isfinite(best / temperature)) {
        candidates.sort_best(1);
        candidates.truncate(1);
        return;
    }
    for (Candidate& c : candidates.items()) c.logit /= temperature;
}

void apply_dynamic_temperature(Candidates& candidates, float temperature, float range, float exponent) {
    if (candidates.size() <= 1) return;
    const double low = std::max(0.0f, temperature - range);
    const double high = std::min(temperature + range, std::numeric_limits<float>::max());
    const double largest = std::log(static_cast<double>(candidates.size()));
    const double share = Candidates::entropy(candidates.softmax()) / largest;
    const double wanted = low + (high - low) * std::pow(share, exponent);
    apply_temperature(candidates, static_cast<float>(std::clamp(wanted, low, high)));
}

}  // namespace powerinfer::generate
