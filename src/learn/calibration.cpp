#include "learn/calibration.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace powerinfer::learn {
namespace {

struct Sample {
    float score, contribution;
};

/// The threshold for every price, from the samples of one neuron (or of all). `unit` is a price of 1 per pair, in units of
/// contribution.
class Thresholds {
  public:
    void find(std::vector<Sample>& samples, double unit, std::span<const double> lambdas, float* out, size_t stride) {
        std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.score < b.score; });
        make_hull(samples);
        // Along the hull every further sample left out costs more: go on while that is cheaper than computing it.
        size_t at = 0;
        for (size_t i = 0; i < lambdas.size(); ++i) {
            while (at + 1 < hull_.size() && slope(hull_[at], hull_[at + 1]) <= lambdas[i] * unit) ++at;
            out[i * stride] = between(samples, hull_[at].n);
        }
    }

  private:
    struct Corner {
        size_t n;     ///< lowest samples left out
        double lost;  ///< what they contribute
    };
    static double slope(const Corner& a, const Corner& b) {
        return (b.lost - a.lost) / static_cast<double>(b.n - a.n);
    }

    void make_hull(const std::vector<Sample>& samples) {
        hull_.assign(1, {0, 0.0});
        double lost = 0;
        for (size_t i = 0; i < samples.size(); ++i) {
            lost += static_cast<double>(samples[i].contribution);
            if (i + 1 < samples.size() && samples[i + 1].score == samples[i].score) continue;  // left out together
            const Corner next{i + 1, lost};
            while (hull_.size() > 1 && slope(hull_[hull_.size() - 2], hull_.back()) >= slope(hull_.back(), next))
                hull_.pop_back();
            hull_.push_back(next);
        }
    }

    /// Leaves out the n lowest samples, half-way to the next one; beyond both ends by a tenth of their range.
    static float between(const std::vector<Sample>& samples, size_t n) {
        const float low = samples.front().score, high = samples.back().score;
        const float beyond = 0.1f * (high - low) + 1e-6f * std::max(std::fabs(low), std::fabs(high)) + 1e-20f;
        if (n == 0) return low - beyond;
        if (n == samples.size()) return high + beyond;
        const float a = samples[n - 1].score, b = samples[n].score;
        const float middle = a + (b - a) / 2;
        return middle > a ? middle : b;
    }

    std::vector<Corner> hull_;
};

}  // namespace

std::span<const double> prices() {
    static const std::vector<double> all = [] {
        std::vector<double> list;
        for (double price = 1e-5; price < 10; price *= 1.25) list.push_back(price);
        return list;
    }();
    return all;
}

Curve make_curve(const Floats& scores, const Floats& contributions, bool per_neuron, ThreadPool& pool) {
    const int64_t n_ff = scores.rows, n_tokens = scores.columns, n_made = n_tokens - n_tokens / 4;
    const auto lambdas = prices();
    const auto n_thresholds = static_cast<size_t>(per_neuron ? n_ff : 1);
    double total = 0;
    for (int64_t j = 0; j < n_ff; ++j) {
        for (int64_t t = 0; t < n_made; ++t) total += static_cast<double>(contributions.row(j)[t]);
    }
    const double unit = std::max(total, 1e-30) / static_cast<double>(n_ff * n_made);

    std::vector<float> thresholds(n_thresholds * lambdas.size());
    if (per_neuron) {
        pool.for_each(n_ff, 16, [&](int64_t begin, int64_t end) {
            Thresholds finder;
            std::vector<Sample> samples(static_cast<size_t>(n_made));
            for (int64_t j = begin; j < end; ++j) {
                for (int64_t t = 0; t < n_made; ++t)
                    samples[static_cast<size_t>(t)] = {scores.row(j)[t], contributions.row(j)[t]};
                finder.find(samples, unit, lambdas, thresholds.data() + j, n_thresholds);
            }
        });
    } else {
        std::vector<Sample> samples;
        samples.reserve(static_cast<size_t>(n_ff * n_made));
        for (int64_t j = 0; j < n_ff; ++j) {
            for (int64_t t = 0; t < n_made; ++t) samples.push_back({scores.row(j)[t], contributions.row(j)[t]});
        }
        Thresholds().find(samples, unit, lambdas, thresholds.data(), 1);
    }

    Curve curve;
    curve.points.resize(lambdas.size());
    const int64_t first = n_made < n_tokens ? n_made : 0;  // too few tokens to spare any
    std::atomic<uint64_t> n_fired{0};
    pool.for_each(static_cast<int64_t>(lambdas.size()), 1, [&](int64_t i, int64_t) {
        CurvePoint& point = curve.points[static_cast<size_t>(i)];
        const auto begin = thresholds.begin() + i * static_cast<int64_t>(n_thresholds);
        point.thresholds.assign(begin, begin + static_cast<int64_t>(n_thresholds));
        uint64_t n_selected = 0, n_hit = 0, fired = 0;
        double kept = 0, all = 0;
        for (int64_t j = 0; j < n_ff; ++j) {
            const float threshold = point.thresholds[per_neuron ? static_cast<size_t>(j) : 0];
            for (int64_t t = first; t < n_tokens; ++t) {
                const bool selected = scores.row(j)[t] >= threshold;
                const auto worth = static_cast<double>(contributions.row(j)[t]);
                n_selected += selected;
                fired += worth > 0;
                n_hit += selected && worth > 0;
                all += worth;
                kept += selected ? worth : 0;
            }
        }
        point.share = static_cast<double>(n_selected) / static_cast<double>(n_ff * (n_tokens - first));
        point.lost = all > 0 ? 1 - kept / all : 0;
        point.recall = fired > 0 ? static_cast<double>(n_hit) / static_cast<double>(fired) : 1;
        if (i == 0) n_fired = fired;
    });
    curve.true_share = static_cast<double>(n_fired.load()) / static_cast<double>(n_ff * (n_tokens - first));
    return curve;
}

}  // namespace powerinfer::learn
