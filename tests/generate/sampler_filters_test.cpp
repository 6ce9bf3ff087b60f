// Each filter against published numbers and against a slow version in double that follows the rule word by
// word.
#include "generate/sampler_filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace powerinfer::generate {
namespace {

using Probabilities = std::vector<float>;

Candidates from_probabilities(const Probabilities& p) {
    std::vector<float> logits;
    for (const float x : p) logits.push_back(std::log(x));
    Candidates candidates(static_cast<int>(p.size()));
    candidates.reset(logits);
    return candidates;
}

/// What is left, renormalised, by falling probability.
Probabilities result(Candidates& candidates) {
    candidates.sort();
    const auto p = candidates.softmax();
    return {p.begin(), p.end()};
}

void expect_near(const Probabilities& got, const Probabilities& want, float tolerance = 1e-5f) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "at " << i;
}

const Probabilities kSteps = {0.1f, 0.2f, 0.3f, 0.4f};

TEST(TopK, KeepsTheBest) {
    const std::vector<std::pair<int, Probabilities>> cases = {{1, {1}},
                                                              {3, {0.44444f, 0.33333f, 0.22222f}},
                                                              {4, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                              {0, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                              {-1, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                              {1000000000, {0.4f, 0.3f, 0.2f, 0.1f}}};
    for (const auto& [k, want] : cases) {
        Candidates candidates = from_probabilities(kSteps);
        keep_top_k(candidates, k);
        expect_near(result(candidates), want);
    }
}

TEST(TopP, KeepsTheShortestPrefixThatReachesP) {
    const std::vector<std::pair<float, Probabilities>> cases = {{0, {1}},
                                                                {0.7f, {0.571429f, 0.428571f}},
                                                                {0.8f, {0.44444f, 0.33333f, 0.22222f}},
                                                                {1, {0.4f, 0.3f, 0.2f, 0.1f}}};
    for (const auto& [p, want] : cases) {
        Candidates candidates = from_probabilities(kSteps);
        keep_top_p(candidates, p, 0);
        expect_near(result(candidates), want);
    }
}

TEST(MinP, KeepsWhatIsNearTheBest) {
    const std::vector<std::pair<float, Probabilities>> cases = {{0.00f, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                                {0.24f, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                                {0.26f, {0.44444f, 0.33333f, 0.22222f}},
                                                                {0.49f, {0.44444f, 0.33333f, 0.22222f}},
                                                                {0.51f, {0.571429f, 0.428571f}},
                                                                {0.74f, {0.571429f, 0.428571f}},
                                                                {0.76f, {1}},
                                                                {1.00f, {1}},
                                                                {1.05f, {1}}};
    for (const auto& [p, want] : cases) {
        Candidates candidates = from_probabilities(kSteps);
        keep_min_p(candidates, p, 0);
        expect_near(result(candidates), want);
    }
}

TEST(Typical, WorksWithoutMinKeep) {
    for (const size_t min_keep : {size_t{0}, size_t{1}}) {
        Candidates one = from_probabilities({0.97f, 0.01f, 0.01f, 0.01f});
        keep_typical(one, 0.5f, min_keep);
        expect_near(result(one), {1});
        Candidates three = from_probabilities({0.4f, 0.2f, 0.2f, 0.2f});
        keep_typical(three, 0.5f, min_keep);
        expect_near(result(three), {0.33333f, 0.33333f, 0.33333f});
    }
}

TEST(TailFree, CutsTheTail) {
    const Probabilities line = {0.1f, 0.15f, 0.2f, 0.25f, 0.3f};
    const std::vector<std::pair<float, Probabilities>> cases = {
        {0.25f, {1}}, {0.75f, {0.545454f, 0.454545f}}, {0.99f, {0.545454f, 0.454545f}}};
    for (const auto& [z, want] : cases) {
        Candidates candidates = from_probabilities(line);
        keep_tail_free(candidates, z, 1);
        expect_near(result(candidates), want);
    }
}

TEST(Xtc, DropsAllButTheLastLikelyOne) {
    const std::vector<std::pair<float, Probabilities>> cases = {{0.09f, {1}},
                                                                {0.19f, {0.66667f, 0.33333f}},
                                                                {0.29f, {0.5f, 0.33333f, 0.16667f}},
                                                                {0.39f, {0.4f, 0.3f, 0.2f, 0.1f}},
                                                                {0.51f, {0.4f, 0.3f, 0.2f, 0.1f}}};
    for (const auto& [threshold, want] : cases) {
        Candidates candidates = from_probabilities(kSteps);
        exclude_top_choices(candidates, threshold, 0);
        expect_near(result(candidates), want);
    }
    Candidates candidates = from_probabilities(kSteps);
    exclude_top_choices(candidates, 0.09f, 2);
    EXPECT_EQ(candidates.size(), 4u) << "min_keep forbids dropping three";
}

TEST(TopNSigma, ForbidsWhatIsFarBelowTheBest) {
    const std::vector<std::pair<float, Probabilities>> cases = {
        {1, {0.571429f, 0.428571f, 0, 0}}, {0, {0.4f, 0.3f, 0.2f, 0.1f}}, {3, {0.4f, 0.3f, 0.2f, 0.1f}}};
    for (const auto& [n, want] : cases) {
        Candidates candidates = from_probabilities(kSteps);
        forbid_below_n_sigma(candidates, n);
        expect_near(result(candidates), want);
    }
}

TEST(Temperature, DividesLogits) {
    Candidates same = from_probabilities(kSteps);
    apply_temperature(same, 1);
    expect_near(result(same), {0.4f, 0.3f, 0.2f, 0.1f});
    Candidates half = from_probabilities(kSteps);
    apply_temperature(half, 0.5f);  // squares the probabilities
    expect_near(result(half), {16 / 30.0f, 9 / 30.0f, 4 / 30.0f, 1 / 30.0f});
    for (const float cold : {0.0f, -1.0f, 1e-40f}) {
        Candidates greedy = from_probabilities(kSteps);
        apply_temperature(greedy, cold);
        expect_near(result(greedy), {1});
        EXPECT_EQ(greedy.items()[0].id, 3);
    }
    Candidates hot = from_probabilities(kSteps);
    apply_temperature(hot, 1e30f);
    expect_near(result(hot), {0.25f, 0.25f, 0.25f, 0.25f});
}

TEST(DynamicTemperature, FollowsTheEntropy) {
    // A flat distribution has the largest entropy: the highest temperature. Logits differ by ln 2 only
    // between tokens.
    for (const Probabilities& p :
         {Probabilities{0.25f, 0.25f, 0.25f, 0.25f}, kSteps, Probabilities{0.7f, 0.1f, 0.1f, 0.1f}}) {
        for (const float exponent : {0.5f, 1.0f, 2.0f}) {
            double h = 0;
            for (const float x : p) h -= x * std::log(x);
            const double t = 0.3 + (1.7 - 0.3) * std::pow(h / std::log(4.0), exponent);
            std::vector<double> want;
            double sum = 0;
            for (const float x : p) sum += want.emplace_back(std::pow(x, 1 / t));
            Candidates candidates = from_probabilities(p);
            apply_dynamic_temperature(candidates, 1, 0.7f, exponent);
            const auto got = candidates.softmax();
            for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], want[i] / sum, 1e-5);
        }
    }
}

TEST(Filters, EqualLogitsKeepTheSmallestId) {
    const std::vector<float> logits(5000, 1.5f);
    for (const int k : {1, 7, 4000}) {
        Candidates candidates(5000);
        candidates.reset(logits);
        keep_top_k(candidates, k);
        for (int i = 0; i < k; ++i) ASSERT_EQ(candidates.items()[static_cast<size_t>(i)].id, i);
    }
}

/// A filter in double: which tokens stay, given the probabilities of all.
using Slow = std::function<std::vector<int>(const std::vector<double>& p, const std::vector<float>& x)>;

std::vector<int> by_falling_p(const std::vector<double>& p) {
    std::vector<int> order(p.size());
    for (size_t i = 0; i < p.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return p[a] > p[b]; });
    return order;
}

TEST(Filters, AgreeWithSlowVersionsOnLargeVocabularies) {
    struct Case {
        const char* name;
        std::function<void(Candidates&)> fast;
        Slow slow;
    };
    const auto top_p = [](double limit) {
        return [limit](const std::vector<double>& p, const std::vector<float>&) {
            std::vector<int> kept;
            double sum = 0;
            for (const int i : by_falling_p(p)) {
                kept.push_back(i);
                sum += p[i];
                if (sum >= limit) break;
            }
            return kept;
        };
    };
    const auto typical = [](double limit) {
        return [limit](const std::vector<double>& p, const std::vector<float>&) {
            double h = 0;
            for (const double x : p) h -= x > 0 ? x * std::log(x) : 0;
            std::vector<int> order = by_falling_p(p), kept;
            std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
                return std::abs(-std::log(p[a]) - h) < std::abs(-std::log(p[b]) - h);
            });
            double sum = 0;
            for (const int i : order) {
                kept.push_back(i);
                sum += p[i];
                if (sum > limit) break;
            }
            return kept;
        };
    };
    const std::vector<Case> cases = {
        {"top_p 0.5", [](Candidates& c) { keep_top_p(c, 0.5f, 0); }, top_p(0.5)},
        {"top_p 0.95", [](Candidates& c) { keep_top_p(c, 0.95f, 0); }, top_p(0.95f)},
        {"typical 0.3", [](Candidates& c) { keep_typical(c, 0.3f, 0); }, typical(0.3f)},
        {"typical 0.9", [](Candidates& c) { keep_typical(c, 0.9f, 0); }, typical(0.9f)},
        {"min_p 0.02", [](Candidates& c) { keep_min_p(c, 0.02f, 0); },
         [](const std::vector<double>& p, const std::vector<float>&) {
             const double best = *std::max_element(p.begin(), p.end());
             std::vector<int> kept;
             for (size_t i = 0; i < p.size(); ++i)
                 if (p[i] >= 0.02f * best) kept.push_back(static_cast<int>(i));
             return kept;
         }},
        {"sigma 1.5",
         [](Candidates& c) {
             forbid_below_n_sigma(c, 1.5f);
             c.keep_if([](const Candidate& x) { return std::isfinite(x.logit); });
         },
         [](const std::vector<double>&, const std::vector<float>& x) {
             double mean = 0, variance = 0;
             for (const float v : x) mean += v / static_cast<double>(x.size());
             for (const float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
             const double bound = *std::max_element(x.begin(), x.end()) - 1.5 * std::sqrt(variance);
             std::vector<int> kept;
             for (size_t i = 0; i < x.size(); ++i)
                 if (x[i] >= bound) kept.push_back(static_cast<int>(i));
             return kept;
         }},
    };
    std::mt19937 random(7);
    for (const float spread : {0.5f, 2.0f, 5.0f}) {
        std::normal_distribution<float> normal(0, spread);
        std::vector<float> x(3000);
        for (float& v : x) v = normal(random);
        std::vector<double> p;
        double sum = 0;
        for (const float v : x) sum += p.emplace_back(std::exp(static_cast<double>(v)));
        for (double& v : p) v /= sum;
        for (const Case& c : cases) {
            Candidates candidates(3000);
            candidates.reset(x);
            c.fast(candidates);
            std::vector<int> got;
            for (const Candidate& k : candidates.items()) got.push_back(k.id);
            std::vector<int> want = c.slow(p, x);
            std::sort(got.begin(), got.end());
            std::sort(want.begin(), want.end());
            // Float and double may disagree about the one candidate that lies on the bound.
            std::vector<int> difference;
            std::set_symmetric_difference(got.begin(), got.end(), want.begin(), want.end(),
                                          std::back_inserter(difference));
            EXPECT_LE(difference.size(), 1u) << c.name << ", spread " << spread;
        }
    }
}

}  // namespace
}  // namespace powerinfer::generate
