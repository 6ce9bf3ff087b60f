// The whole chain: parsing, validation, seeds, draws and distributions.
#include "generate/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "base/error.h"

namespace powerinfer::generate {
namespace {

using ::testing::HasSubstr;

template <class F>
std::string error_of(F&& f, ErrorKind kind = ErrorKind::bad_argument) {
    try {
        f();
    } catch (const Error& e) {
        EXPECT_EQ(e.kind(), kind);
        return e.what();
    }
    ADD_FAILURE() << "no error was thrown";
    return {};
}

SamplerVocab vocab_of(int n) {
    SamplerVocab vocab;
    vocab.n_vocab = n;
    vocab.n_ctx = 128;
    return vocab;
}

/// No filter at all, temperature 1.
SamplerOptions plain(uint32_t seed = 1) {
    SamplerOptions options;
    options.seed = seed;
    options.order.clear();
    return options;
}

std::vector<TokenId> run(Sampler sampler, const std::vector<float>& logits, int n) {
    std::vector<TokenId> ids;
    for (int i = 0; i < n; ++i) {
        ids.push_back(sampler.sample(logits));
        sampler.accept(ids.back());
    }
    return ids;
}

std::vector<float> logs(const std::vector<double>& p) {
    std::vector<float> out;
    for (const double x : p) out.push_back(static_cast<float>(std::log(x)));
    return out;
}

TEST(SamplerOrder, IsReadFromNamesAndLetters) {
    EXPECT_EQ(parse_sampler_names("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"),
              default_sampler_order());
    EXPECT_EQ(parse_sampler_letters("edskypmxt"), default_sampler_order());
    using enum SamplerKind;
    EXPECT_EQ(parse_sampler_names("Top-K;NUCLEUS;typ;temp;tfs_z"),
              (std::vector{top_k, top_p, typical_p, temperature, tail_free}));
    EXPECT_TRUE(parse_sampler_names("").empty());
    EXPECT_TRUE(parse_sampler_letters("").empty());
    EXPECT_THAT(error_of([] { parse_sampler_letters("zzz"); }), HasSubstr("letter 'z'"));
    EXPECT_THAT(error_of([] { parse_sampler_names("top_k;tpo_p"); }),
                HasSubstr("'tpo_p'; known are penalties, dry"));
    EXPECT_THAT(error_of([] { parse_sampler_letters("kk"); }), HasSubstr("'top_k' twice"));
    for (const SamplerKind kind : default_sampler_order())
        EXPECT_EQ(parse_sampler_names(name(kind)), std::vector{kind});
}

TEST(SamplerOptions, BiasIsReadFromText) {
    EXPECT_EQ(parse_logit_bias("15+1.5").id, 15);
    EXPECT_EQ(parse_logit_bias("15+1.5").bias, 1.5f);
    EXPECT_EQ(parse_logit_bias("15-2").bias, -2);
    EXPECT_EQ(parse_logit_bias("0-inf").bias, -INFINITY);
    for (const char* bad :
         {"", "5", "5+", "+1", "a+1", "5+x", "5+1x", "5+inf", "5--1", "-5+1", "5+nan", "99999999999+1"})
        EXPECT_THAT(error_of([&] { parse_logit_bias(bad); }), HasSubstr("must be TOKEN_ID+BIAS")) << bad;
}

TEST(SamplerOptions, WrongValuesAreNamed) {
    const auto message = [](auto change) {
        SamplerOptions options;
        change(options);
        return error_of([&] { Sampler sampler(options, vocab_of(10)); });
    };
    EXPECT_THAT(message([](auto& o) { o.temperature = NAN; }), HasSubstr("temperature is nan"));
    EXPECT_THAT(message([](auto& o) { o.top_p = -1; }), HasSubstr("top_p"));
    EXPECT_THAT(message([](auto& o) { o.repeat_penalty = 0; }), HasSubstr("repeat_penalty is 0"));
    EXPECT_THAT(message([](auto& o) { o.repeat_last_n = -2; }), HasSubstr("repeat_last_n is -2"));
    EXPECT_THAT(message([](auto& o) { o.mirostat = 3; }),
                HasSubstr("mirostat is 3; it must be 0 (off), 1 or 2"));
    EXPECT_THAT(message([](auto& o) {
                    o.logit_bias = {{10, 1}};
                }),
                HasSubstr("token 10; the vocabulary has tokens 0 to 9"));
    EXPECT_THAT(message([](auto& o) { o.logit_bias = {{1, INFINITY}}; }), HasSubstr("logit_bias is inf"));
    EXPECT_THAT(message([](auto& o) { o.order.push_back(SamplerKind::top_k); }), HasSubstr("twice"));
    EXPECT_THAT(message([](auto& o) { o.xtc_probability = 2; }), HasSubstr("xtc_probability"));
}

TEST(Sampler, ChainIsDescribed) {
    SamplerOptions options;
    EXPECT_EQ(describe_chain(options), "logit-bias -> top_k -> top_p -> min_p -> temperature -> dist");
    options.repeat_penalty = 1.1f;
    options.mirostat = 2;
    EXPECT_EQ(describe_chain(options), "logit-bias -> penalties -> temperature -> mirostat 2");
    options.mirostat = 0;
    options.order = parse_sampler_letters("ka");
    EXPECT_EQ(describe_chain(options), "logit-bias -> top_k -> adaptive_p");
}

TEST(Sampler, BadLogitsAreInternalErrors) {
    Sampler sampler(SamplerOptions(), vocab_of(3));
    const std::vector<std::vector<float>> cases = {
        {1, NAN, 2}, {1, INFINITY, 2}, {-INFINITY, -INFINITY, -INFINITY}, {1, 2}};
    for (const auto& logits : cases) error_of([&] { sampler.sample(logits); }, ErrorKind::internal);
    EXPECT_EQ(sampler.sample(std::vector<float>{-INFINITY, 2, -INFINITY}), 1);
}

TEST(Sampler, NeverRunsOutOfCandidates) {
    SamplerOptions options;
    options.min_p = 1;
    options.top_p = 0;
    options.top_k = 1;
    options.typical_p = 0;
    options.tail_free_z = 0;
    options.xtc_probability = 1;
    options.xtc_threshold = 0;
    options.top_n_sigma = 1e-9f;
    options.order = parse_sampler_letters("edskyfpmxt");
    std::vector<float> logits = {1, 5, 3, 2};
    EXPECT_EQ(Sampler(options, vocab_of(4)).sample(logits), 1);
    // Every order, and any one filter alone.
    for (const char* order : {"txmpfykxs", "fxyts", "x", "y", "f", "p", "m", "s", "xf", "ys"}) {
        std::string unique;
        for (const char* c = order; *c; ++c)
            if (unique.find(*c) == std::string::npos) unique += *c;
        options.order = parse_sampler_letters(unique);
        const TokenId id = Sampler(options, vocab_of(4)).sample(logits);
        EXPECT_TRUE(id >= 0 && id < 4) << order;
    }
    SamplerOptions forbidden = plain();
    for (TokenId t = 0; t < 4; ++t) forbidden.logit_bias.push_back({t, -INFINITY});
    EXPECT_THAT(error_of([&] { Sampler(forbidden, vocab_of(4)).sample(logits); }),
                HasSubstr("leave no token"));
}

TEST(Sampler, SeedsAreReproducible) {
    const std::vector<float> logits(50, 0.0f);
    const auto first = run(Sampler(plain(42), vocab_of(50)), logits, 20);
    EXPECT_EQ(run(Sampler(plain(42), vocab_of(50)), logits, 20), first);
    EXPECT_NE(run(Sampler(plain(43), vocab_of(50)), logits, 20), first);
    Sampler random(plain(kRandomSeed), vocab_of(50)), other(plain(kRandomSeed), vocab_of(50));
    EXPECT_NE(random.seed(), kRandomSeed);
    EXPECT_NE(random.seed(), other.seed());
    EXPECT_EQ(run(random, logits, 20), run(Sampler(plain(random.seed()), vocab_of(50)), logits, 20));
}

TEST(Sampler, CopiesContinueAlike) {
    const std::vector<float> logits = logs({0.1, 0.2, 0.3, 0.4});
    for (const int mirostat : {0, 1, 2}) {
        SamplerOptions options;
        options.seed = 5;
        options.mirostat = mirostat;
        options.repeat_penalty = 1.2f;
        options.dry_multiplier = 0.8f;
        Sampler sampler(options, vocab_of(4));
        run(sampler, logits, 10);
        for (int i = 0; i < 10; ++i) sampler.accept(sampler.sample(logits));
        EXPECT_EQ(run(sampler, logits, 30), run(sampler, logits, 30));
    }
}

TEST(Generator, MakesTheNumbersOfTheStandardLibrary) {
    // mt19937 seeded with 5489 gives 4123659995 as its 10,000th output: the standard says so.
    Generator generator(5489);
    for (int i = 0; i < 9999; ++i) generator.next_float();
    EXPECT_EQ(generator.next_float(), static_cast<float>(4123659995u) * 0x1p-32f);
    // Two outputs, the first one low: 3499211612 and 581869302 are the first two.
    EXPECT_EQ(Generator(5489).next_double(), (3499211612.0 + 581869302.0 * 0x1p32) * 0x1p-64);
}

TEST(Sampler, DrawFollowsTheRuleExactly) {
    const std::vector<double> p = {0.1, 0.2, 0.3, 0.4};
    Generator generator(9);
    const auto ids = run(Sampler(plain(9), vocab_of(4)), logs(p), 2000);
    for (const TokenId id : ids) {
        const double u = generator.next_double();
        const TokenId want = u <= 0.1 ? 0 : u <= 0.3 ? 1 : u <= 0.6 ? 2 : 3;
        ASSERT_EQ(id, want) << u;
    }
}

/// Draws many tokens and compares the frequencies with the given probabilities.
void expect_distribution(const SamplerOptions& options, const std::vector<float>& logits,
                         const std::vector<double>& want) {
    constexpr int kDraws = 40000;
    Sampler sampler(options, vocab_of(static_cast<int>(logits.size())));
    std::vector<int> counts(logits.size());
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(sampler.sample(logits))];
    for (size_t i = 0; i < counts.size(); ++i) {
        const double sigma = std::sqrt(want[i] * (1 - want[i]) / kDraws);
        EXPECT_NEAR(static_cast<double>(counts[i]) / kDraws, want[i], 5 * sigma + 1e-9) << "token " << i;
    }
}

TEST(Sampler, DistributionOfTheDefaultChain) {
    // top_p 0.95 keeps all but the last (0.5 + 0.3 + 0.15 = 0.95 is reached in float or not: keep clear of
    // it), min_p 0.05 keeps >= 0.025, temperature 0.8 raises to the power 1.25.
    const std::vector<double> p = {0.5, 0.3, 0.16, 0.03, 0.01};
    std::vector<double> want = {std::pow(0.5, 1.25), std::pow(0.3, 1.25), std::pow(0.16, 1.25), 0, 0};
    const double sum = want[0] + want[1] + want[2];
    for (double& x : want) x /= sum;
    SamplerOptions options;
    options.seed = 3;
    expect_distribution(options, logs(p), want);
}

TEST(Sampler, XtcHappensWithItsProbability) {
    SamplerOptions options;
    options.seed = 8;
    options.xtc_probability = 0.5f;
    options.xtc_threshold = 0.15f;
    options.order = {SamplerKind::xtc};
    // Half the time {0.6, 0.3} lose their first: then 0.3 and 0.1 are left as 3/4 and 1/4.
    expect_distribution(options, logs({0.6, 0.3, 0.1}),
                        {0.3, 0.5 * 0.3 + 0.5 * 0.75, 0.5 * 0.1 + 0.5 * 0.25});
}

TEST(Sampler, BiasAndSuppressionDecide) {
    SamplerOptions options;
    options.logit_bias = {{2, 100}};
    const std::vector<float> logits = {5, 4, 3, 2};
    for (int i = 0; i < 20; ++i) EXPECT_EQ(Sampler(options, vocab_of(4)).sample(logits), 2);
    SamplerVocab vocab = vocab_of(4);
    vocab.end_of_generation = {0};
    vocab.suppressed = {1};
    SamplerOptions greedy;
    greedy.temperature = 0;
    EXPECT_EQ(Sampler(greedy, vocab).sample(logits), 0);
    greedy.ignore_eos = true;
    EXPECT_EQ(Sampler(greedy, vocab).sample(logits), 2);
    greedy.logit_bias = {{3, 0.5f}, {3, 1.0f}};
    EXPECT_EQ(Sampler(greedy, vocab).sample(logits), 3) << "entries for one token add up";
}

TEST(Sampler, PenaltyWindows) {
    const std::vector<float> logits = {2, 1.9f, 0};
    const auto next = [&](int last_n) {
        SamplerOptions options;
        options.temperature = 0;
        options.repeat_penalty = 1.5f;
        options.repeat_last_n = last_n;
        Sampler sampler(options, vocab_of(3));
        sampler.accept(0);
        for (int i = 0; i < 100; ++i) sampler.accept(2);
        return sampler.sample(logits);
    };
    EXPECT_EQ(next(0), 0);
    EXPECT_EQ(next(64), 0);
    EXPECT_EQ(next(101), 1);
    EXPECT_EQ(next(-1), 1) << "-1 is the context";
    EXPECT_EQ(next(2000000000), 1) << "memory does not follow the option";
}

/// Mirostat in double, from the rule.
struct SlowMirostat {
    double mu, tau, eta;
    int version;
    TokenId next(const std::vector<double>& p_in, Generator& generator) {
        std::vector<std::pair<double, TokenId>> c;
        for (size_t i = 0; i < p_in.size(); ++i) c.push_back({p_in[i], static_cast<TokenId>(i)});
        std::stable_sort(c.begin(), c.end(), [](auto& a, auto& b) { return a.first > b.first; });
        size_t n = 0;
        if (version == 2) {
            while (n < c.size() && -std::log2(c[n].first) <= mu) ++n;
        } else {
            double tb = 0, tt = 0;
            for (int i = 0; i + 1 < std::min(100, static_cast<int>(c.size())); ++i) {
                const double t = std::log((i + 2.0) / (i + 1.0)), b = std::log(c[i].first / c[i + 1].first);
                tb += t * b;
                tt += t * t;
            }
            const double s = tb / tt, e = s - 1;
            n = static_cast<size_t>(
                std::pow(e * std::pow(2, mu) / (1 - std::pow(static_cast<double>(p_in.size()), -e)), 1 / s));
        }
        c.resize(std::clamp<size_t>(n, 1, c.size()));
        double sum = 0, reached = 0;
        for (auto& x : c) sum += x.first;
        size_t i = 0;
        if (c.size() > 1) {
            const double u = generator.next_double();
            for (; i + 1 < c.size(); ++i)
                if ((reached += c[i].first / sum) >= u) break;
        }
        mu -= eta * (-std::log2(c[i].first / sum) - tau);
        return c[i].second;
    }
};

TEST(Sampler, MirostatFollowsASlowReference) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal(0, 2);
    for (const int version : {1, 2}) {
        SamplerOptions options;
        options.seed = 77;
        options.mirostat = version;
        options.mirostat_tau = 3;
        options.temperature = 1;
        Sampler sampler(options, vocab_of(500));
        SlowMirostat slow{6, 3, 0.1f, version};
        Generator generator(77);
        double surprise = 0;
        for (int step = 0; step < 300; ++step) {
            std::vector<float> logits(500);
            for (float& x : logits) x = normal(random);
            std::vector<double> p;
            double sum = 0;
            for (const float x : logits) sum += p.emplace_back(std::exp(static_cast<double>(x)));
            for (double& x : p) x /= sum;
            const TokenId got = sampler.sample(logits);
            ASSERT_EQ(got, slow.next(p, generator)) << "version " << version << " step " << step;
            surprise -= std::log2(p[static_cast<size_t>(got)]) / 300;
        }
        if (version == 2) {
            EXPECT_NEAR(surprise, 3, 1.5);
        }
    }
}

TEST(Sampler, MirostatSurvivesDegenerateDistributions) {
    const std::vector<std::vector<float>> cases = {{1, -INFINITY, -INFINITY}, {0, 0, 0}, {80, 0, -80}};
    for (const int version : {1, 2})
        for (const auto& logits : cases) {
            SamplerOptions options;
            options.mirostat = version;
            const auto ids = run(Sampler(options, vocab_of(3)), logits, 200);
            for (const TokenId id : ids) EXPECT_TRUE(logits[static_cast<size_t>(id)] > -80);
        }
}

TEST(Sampler, AdaptivePFollowsItsRule) {
    SamplerOptions options;
    options.seed = 21;
    options.adaptive_target = 0.3f;
    options.adaptive_decay = 0.5f;
    options.order = {SamplerKind::adaptive_p};
    const std::vector<double> p = {0.5, 0.3, 0.15, 0.05};
    double ws = 0.3 / 0.5, tw = 1 / 0.5;
    Generator generator(21);
    const auto ids = run(Sampler(options, vocab_of(4)), logs(p), 500);
    std::map<TokenId, int> counts;
    for (const TokenId id : ids) {
        const double a = std::clamp(2 * 0.3 - ws / tw, 0.0, 1.0);
        std::vector<double> w;
        double sum = 0, reached = 0;
        for (const double x : p) {
            const double d = std::abs(x - a) / 0.3;
            sum += w.emplace_back(std::exp(5 - 10 * d * d / (1 + d)));
        }
        const double u = generator.next_double();
        size_t want = 0;
        for (; want < 3; ++want)
            if ((reached += w[want] / sum) >= u) break;
        ASSERT_EQ(id, static_cast<TokenId>(want));
        ws = p[want] + 0.5 * ws;
        tw = 1 + 0.5 * tw;
        ++counts[id];
    }
    EXPECT_GT(counts[1], counts[3]) << "tokens near the target are preferred";
}

TEST(Sampler, ALargeVocabularyTakesWellUnderAMillisecond) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> logits(150000);
    for (float& x : logits) x = normal(random);
    SamplerOptions options;
    options.seed = 1;
    options.repeat_penalty = 1.1f;
    Sampler sampler(options, vocab_of(150000));
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
        const auto start = std::chrono::steady_clock::now();
        sampler.accept(sampler.sample(logits));
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
        best = std::min(best, time.count());
    }
    RecordProperty("milliseconds", std::to_string(best));
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(best, 1.0);
#endif
    std::printf("one step over 150,000 tokens: %.3f ms\n", best);
}

}  // namespace
}  // namespace powerinfer::generate
