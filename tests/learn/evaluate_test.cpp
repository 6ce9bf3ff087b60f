#include "learn/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "error_message.h"
#include "learn/evaluation_report.h"
#include "learn/learn_support.h"

namespace powerinfer::learn {
namespace {

using sparsity::Mode;
using test::some_ids;
using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

constexpr int kWindow = 20, kBos = 3;
const tokenizer::SpecialTokens kSpecial = {.bos = kBos, .add_bos = true};

EvaluateOptions options_for(Mode mode) {
    EvaluateOptions o;
    o.budget = {.n_ctx = kWindow, .kv_type = DType::F32, .mode = mode};
    o.engine.n_threads = 2;
    o.n_decode = 4;
    return o;
}

/// ln p of all tokens.
std::vector<double> log_softmax_of(const std::vector<double>& logits) {
    double sum = 0;
    for (const double x : logits) sum += std::exp(x);
    std::vector<double> out;
    for (const double x : logits) out.push_back(x - std::log(sum));
    return out;
}

// Everything again in double, from the definition: the predictor, every gate, both perplexities and the
// divergence.
TEST(Evaluate, EqualsASlowReference) {
    TemporaryFolder folder;
    TinyModel tiny({.predictors = true, .threshold = -0.2f, .seed = 5});
    const auto m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(50);
    const Evaluation e = evaluate(m, ids, kSpecial, options_for(Mode::predict));

    double nll = 0, nll_off = 0, kl = 0;
    int n_scored = 0;
    std::vector<SelectionCounts> expected(2);
    for (size_t begin = 0; begin + kWindow <= ids.size(); begin += kWindow) {
        std::vector<int32_t> window(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                    ids.begin() + static_cast<std::ptrdiff_t>(begin + kWindow));
        window[0] = kBos;
        std::vector<int> seen(2);
        const auto sparse = tiny.logits(window, [&](int layer, const std::vector<double>& residual) {
            const std::string p = "blk." + std::to_string(layer) + ".";
            const auto dot = [&](const std::string& name, int row, const std::vector<double>& x) {
                double sum = 0;
                for (size_t i = 0; i < x.size(); ++i)
                    sum += static_cast<double>(tiny.row(p + name, row)[i]) * x[i];
                return sum;
            };
            std::vector<double> hidden, normed;
            double squares = 0;
            for (const double v : residual) squares += v * v;
            for (size_t i = 0; i < residual.size(); ++i)
                normed.push_back(residual[i] / std::sqrt(squares / 32 + 1e-5) *
                                 static_cast<double>(tiny.row(p + "ffn_norm.weight", 0)[i]));
            for (int k = 0; k < tiny.shape.rank; ++k)
                hidden.push_back(std::max(0.0, dot("fc1.weight", k, residual)));
            std::set<int> active;
            SelectionCounts counts;
            for (int j = 0; j < tiny.shape.n_ff; ++j) {
                const bool selected = dot("fc2.weight", j, hidden) >= -0.2;
                const double gate = dot("ffn_gate.weight", j, normed),
                             h = std::max(0.0, gate) * dot("ffn_up.weight", j, normed);
                double norm = 0;
                for (int i = 0; i < 32; ++i)
                    norm += std::pow(static_cast<double>(tiny.row(p + "ffn_down_t.weight", j)[i]), 2);
                if (selected) active.insert(j);
                counts.selected += selected;
                counts.fired += gate > 0;
                counts.hits += selected && gate > 0;
                counts.contribution += h * h * norm;
                counts.selected_contribution += selected ? h * h * norm : 0;
            }
            counts.neurons = static_cast<uint64_t>(tiny.shape.n_ff);
            if (seen[static_cast<size_t>(layer)]++ > 0)
                expected[static_cast<size_t>(layer)].add(counts);  // the start token is left out
            return active;
        });
        const auto dense = tiny.logits(window);
        for (size_t t = kWindow / 2; t + 1 < kWindow; ++t) {
            const auto p = log_softmax_of(dense[t]), q = log_softmax_of(sparse[t]);
            const auto next = static_cast<size_t>(window[t + 1]);
            nll -= q[next];
            nll_off -= p[next];
            for (size_t i = 0; i < p.size(); ++i) kl += std::exp(p[i]) * (p[i] - q[i]);
            ++n_scored;
        }
    }
    EXPECT_EQ(e.n_tokens, 40);
    EXPECT_EQ(e.n_scored, n_scored);
    EXPECT_NEAR(e.perplexity, std::exp(nll / n_scored), 1e-3 * e.perplexity);
    EXPECT_NEAR(e.perplexity_off, std::exp(nll_off / n_scored), 1e-3 * e.perplexity_off);
    EXPECT_NEAR(e.kl, kl / n_scored, 1e-3);
    EXPECT_GT(e.kl, 0.01) << "the predictor is random";
    for (size_t i = 0; i < 2; ++i) {
        // A value within rounding of a threshold may fall to the other side.
        EXPECT_EQ(e.layers[i].neurons, expected[i].neurons);
        EXPECT_NEAR(e.layers[i].active_share(), expected[i].active_share(), 1e-3);
        EXPECT_NEAR(e.layers[i].true_active_share(), expected[i].true_active_share(), 1e-3);
        EXPECT_NEAR(e.layers[i].recall(), expected[i].recall(), 2e-3);
        EXPECT_NEAR(e.layers[i].precision(), expected[i].precision(), 2e-3);
        EXPECT_NEAR(e.layers[i].contribution_recall(), expected[i].contribution_recall(), 2e-3);
        EXPECT_GT(e.layers[i].recall(), 0.3);
        EXPECT_LT(e.layers[i].recall(), 0.99);
    }
    EXPECT_GT(e.decode_speed, 0);
    EXPECT_GT(e.prompt_speed_off, 0);
}

TEST(Evaluate, ExactLosesNothing) {
    TemporaryFolder folder;
    TinyModel tiny({.predictors = true});
    const auto m = tiny.write(folder / "m.gguf");
    const Evaluation e = evaluate(m, some_ids(60), kSpecial, options_for(Mode::exact));
    EXPECT_EQ(e.perplexity, e.perplexity_off);
    EXPECT_LT(e.kl, 1e-6);
    EXPECT_EQ(e.same_top, 1);
    EXPECT_EQ(e.total().recall(), 1);
    EXPECT_EQ(e.total().precision(), 1);
    EXPECT_EQ(e.total().contribution_recall(), 1);
    EXPECT_EQ(e.total().active_share(), e.total().true_active_share());
    EXPECT_EQ(e.profile.n_tokens, 57u);
    EXPECT_NEAR(e.profile.active_share(1), e.layers[1].true_active_share(), 1e-12);
}

TEST(Evaluate, ChoosesPredictWhereThereArePredictors) {
    TemporaryFolder folder;
    const auto with = TinyModel({.predictors = true}).write(folder / "a.gguf"),
               without = TinyModel(test::TinyShape{}).write(folder / "b.gguf"),
               silu = TinyModel({.activation = "silu"}).write(folder / "c.gguf");
    const auto ids = some_ids(60);
    EXPECT_EQ(evaluate(with, ids, {}, options_for(Mode::automatic)).mode, Mode::predict);
    EXPECT_EQ(evaluate(without, ids, {}, options_for(Mode::automatic)).mode, Mode::exact);
    const auto message = [&](const auto& m, Mode mode) {
        return test::message_of([&] { evaluate(m, ids, {}, options_for(mode)); });
    };
    EXPECT_THAT(message(silu, Mode::automatic), HasSubstr("needs an activation with exact zeros"));
    EXPECT_THAT(message(without, Mode::predict), HasSubstr("needs predictors"));
    EXPECT_THAT(message(with, Mode::off), HasSubstr("mode off leaves nothing out"));
    EXPECT_THAT(test::message_of([&] { evaluate(with, some_ids(30), {}, options_for(Mode::exact)); }),
                HasSubstr("needs at least 40"));
}

TEST(EvaluationReport, HasEveryFigure) {
    TemporaryFolder folder;
    const auto m = TinyModel({.predictors = true}).write(folder / "m.gguf");
    Evaluation e = evaluate(m, some_ids(60), {}, options_for(Mode::predict));
    e.source = "a \"text\" \xFF";
    const auto json = nlohmann::json::parse(json_of(e));
    EXPECT_EQ(json["mode"], "predict");
    EXPECT_EQ(json["perplexity"], e.perplexity);
    EXPECT_EQ(json["perplexity_off"], e.perplexity_off);
    EXPECT_EQ(json["kl"], e.kl);
    EXPECT_EQ(json["active_share"], e.total().active_share());
    EXPECT_EQ(json["true_active_share"], e.total().true_active_share());
    EXPECT_EQ(json["recall"], e.total().recall());
    EXPECT_EQ(json["contribution_recall"], e.total().contribution_recall());
    ASSERT_EQ(json["layers"].size(), 2u);
    EXPECT_EQ(json["layers"][1]["layer"], 1);
    EXPECT_EQ(json["layers"][1]["precision"], e.layers[1].precision());
    const sparsity::EvaluationRecord record = e.record(*m);
    EXPECT_EQ(record.weights, sparsity::evaluated_weights(*m));
    EXPECT_EQ(record.n_tokens, 27u);
    EXPECT_EQ(record.perplexity, e.perplexity);
    EXPECT_EQ(record.contribution_recall, e.total().contribution_recall());
    const std::string table = table_of(e);
    EXPECT_THAT(table, HasSubstr("predict against off, 60 tokens in windows of 20, 27 scored"));
    EXPECT_THAT(table, HasSubstr("\n  all "));
    const std::string svg = svg_of(e);
    size_t n_curves = 0;
    for (size_t at = 0; (at = svg.find("<polyline", at)) != std::string::npos; ++at) ++n_curves;
    EXPECT_EQ(n_curves, 2u + 2u) << "two layers, two kinds of recall";
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(EvaluationReport, DrawsWhatHardlyFires) {
    Evaluation e;
    e.profile.n_ff = 1;
    e.profile.layers = {{{0}, {}, {}, {}}};
    e.layers.resize(1);
    e.perplexity = e.perplexity_off = 2;
    const std::string svg = svg_of(e);
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_EQ(table_of(e).find("nan %"), std::string::npos);
}

}  // namespace
}  // namespace powerinfer::learn
