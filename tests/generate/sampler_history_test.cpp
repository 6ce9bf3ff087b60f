// Penalties and DRY against published numbers and slow references.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "generate/sampler_dry.h"
#include "generate/sampler_penalties.h"

namespace powerinfer::generate {
namespace {

Candidates from_logits(const std::vector<float>& logits) {
    Candidates candidates(static_cast<int>(logits.size()));
    candidates.reset(logits);
    return candidates;
}

std::vector<float> sorted_probabilities(Candidates& candidates) {
    candidates.sort();
    const auto p = candidates.softmax();
    return {p.begin(), p.end()};
}

TEST(Penalties, MatchHandComputedNumbers) {
    // Equal logits ln 0.2; frequency 5 and presence 5 drive the seen tokens to (almost) nothing.
    const std::vector<float> logits(5, std::log(0.2f));
    Penalties penalties(5, 10, 1, 5, 5, tokenizer::kNoToken);
    for (const TokenId t : {0, 1, 2, 0, 0}) penalties.accept(t);
    Candidates candidates = from_logits(logits);
    penalties.apply(candidates);
    const std::vector<float> want = {0.499977f, 0.499977f, 0.000023f, 0.000023f, 0};
    const std::vector<float> got = sorted_probabilities(candidates);
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
}

TEST(Penalties, AgreeWithASlowReferenceWhateverTheOrderOfCandidates) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        const int n_vocab = 12, last_n = 1 + round % 9;
        const float repeat = round % 3 == 0 ? 1.0f : 1.3f, frequency = 0.25f,
                    presence = round % 2 ? 0.5f : 0.0f;
        const TokenId exempt = round % 5 == 0 ? 4 : tokenizer::kNoToken;
        Penalties penalties(n_vocab, last_n, repeat, frequency, presence, exempt);
        std::vector<TokenId> history;
        for (int i = 0; i < round % 20; ++i) {
            history.push_back(static_cast<TokenId>(random() % n_vocab));
            penalties.accept(history.back());
        }
        std::vector<float> logits(n_vocab);
        for (float& x : logits) x = static_cast<float>(random() % 1000) / 100 - 5;
        std::vector<double> want(logits.begin(), logits.end());
        for (int t = 0; t < n_vocab; ++t) {
            int count = 0;
            const int n = static_cast<int>(history.size());
            for (int i = std::max(0, n - last_n); i < n; ++i) count += history[i] == t;
            if (count == 0 || t == exempt) continue;
            want[t] = want[t] > 0 ? want[t] / repeat : want[t] * repeat;
            want[t] -= count * static_cast<double>(frequency) + presence;
        }
        Candidates indexed = from_logits(logits);
        penalties.apply(indexed);
        Candidates shuffled = from_logits(logits);
        shuffled.sort();
        penalties.apply(shuffled);
        for (const Candidate& c : indexed.items()) EXPECT_NEAR(c.logit, want[c.id], 1e-5);
        for (const Candidate& c : shuffled.items()) EXPECT_NEAR(c.logit, want[c.id], 1e-5);
    }
}

TEST(Penalties, ExtremeValuesStayFinite) {
    Penalties penalties(2, 4, 1e-40f, -3e38f, -3e38f, tokenizer::kNoToken);
    for (int i = 0; i < 4; ++i) penalties.accept(0);
    Candidates candidates = from_logits({5, 1});
    penalties.apply(candidates);
    EXPECT_TRUE(std::isfinite(candidates.items()[0].logit));
    EXPECT_EQ(candidates.softmax()[0], 1);
}

struct DryCase {
    std::vector<float> p;
    std::vector<TokenId> text;
    std::vector<float> want;
    float multiplier, base;
    int allowed, last_n;
    DryBreakers breakers;
};

TEST(Dry, MatchesHandComputedNumbers) {
    const std::vector<DryCase> cases = {
        {{.25f, .25f, .25f, .25f}, {0, 1}, {.25f, .25f, .25f, .25f}, 1, 1.1f, 2, 4, {}},
        {{.25f, .25f, .25f, .25f},
         {0, 1, 2, 0, 1},
         {.296923f, .296923f, .296923f, .109232f},
         1,
         1.1f,
         2,
         5,
         {}},
        {{.25f, .25f, .25f, .25f}, {0, 1, 3, 0, 1}, {.25f, .25f, .25f, .25f}, 1, 1.1f, 2, 6, {{1, {{}}}}},
        {{.2f, .2f, .2f, .2f, .2f},
         {0, 1, 2, 0, 1},
         {.241818f, .241818f, .241818f, .241818f, .032727f},
         2,
         1.1f,
         2,
         5,
         {}},
        {{.2f, .2f, .2f, .2f, .2f}, {0, 1, 2, 3, 4, 0, 1}, {.2f, .2f, .2f, .2f, .2f}, 1, 1.1f, 4, 7, {}},
    };
    for (const DryCase& c : cases) {
        std::vector<float> logits;
        for (const float x : c.p) logits.push_back(std::log(x));
        Dry dry(c.last_n, c.multiplier, c.base, c.allowed, c.breakers, static_cast<int>(c.p.size()));
        for (const TokenId t : c.text) dry.accept(t);
        Candidates candidates = from_logits(logits);
        dry.apply(candidates);
        const std::vector<float> got = sorted_probabilities(candidates);
        for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], c.want[i], 1e-5);
    }
}

/// DRY as the rule says it, in cubic time.
std::map<TokenId, double> slow_dry(std::vector<TokenId> text, int last_n, double multiplier, double base,
                                   int allowed, const DryBreakers& breakers) {
    if (static_cast<int>(text.size()) > last_n) text.erase(text.begin(), text.end() - last_n);
    const int n = static_cast<int>(text.size());
    std::map<TokenId, double> penalty;
    if (n <= allowed) return penalty;
    int limit = n;
    for (int place = n - 1; place >= 0 && limit == n; --place) {
        const auto entry = breakers.find(text[place]);
        if (entry == breakers.end()) continue;
        int longest = -1;
        for (const auto& tail : entry->second) {
            const int end = place + 1 + static_cast<int>(tail.size());
            if (end <= n && std::equal(tail.begin(), tail.end(), text.begin() + place + 1))
                longest = std::max(longest, static_cast<int>(tail.size()));
        }
        if (longest >= 0) limit = n - 1 - place - longest;
    }
    if (limit < allowed) return penalty;
    std::map<TokenId, int> best;
    for (int next = 1; next < n; ++next) {  // text[next] followed text[..next)
        int common = 0;
        while (common < next && text[next - 1 - common] == text[n - 1 - common]) ++common;
        common = std::min(common, limit);
        if (common >= allowed && (!best.count(text[next]) || best[text[next]] < common))
            best[text[next]] = common;
    }
    for (const auto& [token, length] : best) {
        bool breaker = false;
        if (const auto entry = breakers.find(token); entry != breakers.end())
            for (const auto& tail : entry->second) breaker |= tail.empty();
        if (!breaker) penalty[token] = multiplier * std::pow(base, length - allowed);
    }
    return penalty;
}

TEST(Dry, AgreesWithASlowReference) {
    std::mt19937 random(11);
    const DryBreakers breakers = {{0, {{}}}, {1, {{2}, {2, 3}}}};
    int penalised = 0;
    for (int round = 0; round < 3000; ++round) {
        const int n_vocab = 3 + static_cast<int>(random() % 4), last_n = 1 + static_cast<int>(random() % 25);
        const int allowed = static_cast<int>(random() % 4);
        const DryBreakers used = round % 2 ? breakers : DryBreakers{};
        Dry dry(last_n, 0.8f, 1.75f, allowed, used, n_vocab);
        std::vector<TokenId> text;
        for (int i = static_cast<int>(random() % 30); i > 0; --i) {
            text.push_back(static_cast<TokenId>(random() % n_vocab));
            dry.accept(text.back());
        }
        const auto want = slow_dry(text, last_n, 0.8f, 1.75, allowed, used);
        penalised += !want.empty();
        for (const bool sorted : {false, true}) {
            Candidates candidates = from_logits(std::vector<float>(n_vocab, 3.0f));
            if (sorted) candidates.keep_if([](const Candidate& c) { return c.id != 2; });
            dry.apply(candidates);
            for (const Candidate& c : candidates.items()) {
                const double expected = 3.0 - (want.count(c.id) ? want.at(c.id) : 0.0);
                ASSERT_NEAR(c.logit, expected, 1e-4 * std::max(1.0, std::abs(expected))) << "round " << round;
            }
        }
    }
    EXPECT_GT(penalised, 1000) << "the reference has to find something";
}

TEST(Dry, AVeryLongRepetitionStaysFinite) {
    Dry dry(4096, 1, 4, 1, {}, 3);
    for (int i = 0; i < 4096; ++i) dry.accept(1);
    Candidates candidates = from_logits({0, 0, 0});
    dry.apply(candidates);
    EXPECT_LT(candidates.items()[1].logit, -1e30f);
    EXPECT_EQ(candidates.softmax()[1], 0);
    EXPECT_FLOAT_EQ(candidates.softmax()[0], 0.5f);
}

TEST(Dry, BreakersAreFoundInsideAndAcrossTokens) {
    const std::vector<std::string> pieces = {"a", "b", "c", "xab", "abc", "abcd", "bc", "zabcz"};
    const auto encode = [&](std::string_view text) {  // one token per letter
        std::vector<TokenId> ids;
        for (const char c : text) ids.push_back(c - 'a');
        return ids;
    };
    const std::vector<std::string> breakers = {"abc"};
    const DryBreakers found = find_dry_breakers(breakers, pieces, encode);
    const DryBreakers want = {{0, {{1, 2}}}, {3, {{2}}}, {4, {{}}}, {5, {{}}}, {7, {{}}}};
    EXPECT_EQ(found, want);
}

}  // namespace
}  // namespace powerinfer::generate
