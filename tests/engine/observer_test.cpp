#include "engine/observer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"
#include "error_message.h"
#include "tiny_model.h"

namespace powerinfer::engine {
namespace {

using sparsity::Mode;
using test::TinyModel;
using test::TinyShape;

constexpr int kTokens = 21;

std::vector<BatchToken> some_tokens() {
    std::vector<BatchToken> out;
    for (int i = 0; i < kTokens; ++i) out.push_back({(i * 37 + 11 + i * i) % 50, 0, true});
    return out;
}

Engine load(const std::shared_ptr<const model::Model>& m, Mode mode) {
    return Engine::load(m, plan::solve(*m, {.n_ctx = 64, .n_batch = 8, .kv_type = DType::F32, .mode = mode}),
                        {.n_threads = 2});
}

std::vector<float> logits_of(Engine& engine, std::span<const BatchToken> tokens, size_t step) {
    std::vector<float> all;
    engine.truncate(0, 0);
    for (size_t i = 0; i < tokens.size(); i += step) {
        engine.step(tokens.subspan(i, std::min(step, tokens.size() - i)));
        for (size_t k = 0; k < engine.n_logits(); ++k)
            all.insert(all.end(), engine.logits(k).begin(), engine.logits(k).end());
    }
    return all;
}

TEST(Observer, BeingLookedAtChangesNoBitAndNoCount) {
    for (const bool predictors : {false, true}) {
        for (const char* activation : {"relu", "relu_squared", "drelu", "silu"}) {
            for (const DType type : {DType::Q8_0}) {
                test::TemporaryFolder folder;
                TinyModel tiny(
                    {.n_ff = 160, .rank = 32, .activation = activation, .predictors = predictors, .biases = true});
                const auto m = tiny.write(folder / "m.gguf", type);
                for (const Mode mode : {Mode::off, Mode::exact, Mode::predict}) {
                    if (mode == Mode::predict && !predictors) continue;
                    if (mode != Mode::off && !model::is_sparse_capable(m->spec.activation)) continue;
                    Engine plain = load(m, mode), observed = load(m, mode);
                    int n_calls = 0;
                    observed.observe([&](const ObservedFeedForward& f) {
                        EXPECT_EQ(f.selected != nullptr, mode == Mode::predict);
                        ++n_calls;
                    });
                    for (const size_t step : {1, 3, 64})
                        EXPECT_EQ(logits_of(plain, some_tokens(), step),
                                  logits_of(observed, some_tokens(), step))
                            << activation << " " << sparsity::name(mode) << " in steps of " << step;
                    EXPECT_EQ(n_calls, 2 * (21 + 7 + 3));
                    for (size_t i = 0; i < 2; ++i) {
                        const LayerCounts &a = plain.counts().layers[i], &b = observed.counts().layers[i];
                        EXPECT_EQ(a.neurons, b.neurons);
                        EXPECT_EQ(a.selected, b.selected);
                        EXPECT_EQ(a.positive, b.positive);
                        EXPECT_EQ(a.fired, b.fired);
                    }
                    observed.observe({});
                    logits_of(observed, some_tokens(), 64);
                    EXPECT_EQ(n_calls, 2 * (21 + 7 + 3)) << "an observer that has gone is not called";
                }
            }
        }
    }
}

TEST(Observer, ShowsWhatASlowReferenceComputes) {
    for (const char* activation : {"relu", "drelu", "relu_squared"}) {
        test::TemporaryFolder folder;
        TinyModel tiny({.activation = activation, .predictors = true, .threshold = 0.1f});
        const auto m = tiny.write(folder / "m.gguf");
        std::vector<int32_t> ids;
        for (const BatchToken& t : some_tokens()) ids.push_back(t.id);
        // The reference: residuals come from the callback of the reference network, the rest is computed here
        // in double.
        std::vector<std::vector<std::vector<double>>> residuals(2);
        tiny.logits(ids, [&](int layer, const std::vector<double>& residual) {
            residuals[static_cast<size_t>(layer)].push_back(residual);
            std::set<int> all;
            for (int j = 0; j < tiny.shape.n_ff; ++j) all.insert(j);
            return all;
        });
        const auto dot = [&](const std::string& name, int row, auto&& x) {
            double sum = 0;
            for (int i = 0; i < tiny.tensors.at(name).n_in; ++i)
                sum += static_cast<double>(tiny.row(name, row)[i]) * x(i);
            return sum;
        };
        std::vector<int64_t> seen(2);
        Engine engine = load(m, Mode::off);
        engine.observe([&](const ObservedFeedForward& f) {
            const std::string p = "blk." + std::to_string(f.layer) + ".";
            int64_t& first = seen[static_cast<size_t>(f.layer)];
            for (int64_t t = 0; t < f.n_tokens; ++t) {
                const std::vector<double>& r =
                    residuals[static_cast<size_t>(f.layer)][static_cast<size_t>(first + t)];
                double squares = 0;
                for (const double v : r) squares += v * v;
                const double scale = 1 / std::sqrt(squares / static_cast<double>(f.n_embd) + 1e-5);
                const auto normed = [&](int i) {
                    return r[static_cast<size_t>(i)] * scale *
                           static_cast<double>(tiny.row(p + "ffn_norm.weight", 0)[i]);
                };
                for (int i = 0; i < f.n_embd; ++i) {
                    EXPECT_NEAR(static_cast<double>(f.residual[t * f.n_embd + i]), r[static_cast<size_t>(i)],
                                1e-4);
                    EXPECT_NEAR(static_cast<double>(f.normed[t * f.n_embd + i]), normed(i), 1e-4);
                }
                for (int j = 0; j < f.n_ff; ++j) {
                    const double gate = dot(p + "ffn_gate.weight", j, normed),
                                 up = dot(p + "ffn_up.weight", j, normed);
                    double h = std::max(gate, 0.0) *
                               (m->spec.activation == model::Activation::drelu ? std::max(up, 0.0) : up);
                    if (m->spec.activation == model::Activation::relu_squared) h *= std::max(gate, 0.0);
                    EXPECT_NEAR(static_cast<double>(f.gate[t * f.n_ff + j]), gate, 1e-4);
                    EXPECT_NEAR(static_cast<double>(f.up[t * f.n_ff + j]), up, 1e-4);
                    EXPECT_NEAR(static_cast<double>(f.h[t * f.n_ff + j]), h, 1e-3);
                }
            }
            first += f.n_tokens;
        });
        engine.step(some_tokens());
        EXPECT_EQ(seen, (std::vector<int64_t>{kTokens, kTokens}));
    }
}

TEST(Observer, ShowsWhomThePredictorSelects) {
    test::TemporaryFolder folder;
    TinyModel tiny({.predictors = true, .threshold = 0.1f});
    const auto m = tiny.write(folder / "m.gguf");
    Engine engine = load(m, Mode::predict);
    uint64_t n_selected = 0, n_checked = 0;
    engine.observe([&](const ObservedFeedForward& f) {
        const std::string p = "blk." + std::to_string(f.layer) + ".";
        for (int64_t t = 0; t < f.n_tokens; ++t) {
            std::vector<double> hidden;
            for (int k = 0; k < tiny.shape.rank; ++k) {
                double sum = 0;
                for (int i = 0; i < f.n_embd; ++i)
                    sum += static_cast<double>(tiny.row(p + "fc1.weight", k)[i]) *
                           static_cast<double>(f.residual[t * f.n_embd + i]);
                hidden.push_back(std::max(sum, 0.0));
            }
            for (int j = 0; j < f.n_ff; ++j) {
                double logit = 0;
                for (size_t k = 0; k < hidden.size(); ++k)
                    logit += static_cast<double>(tiny.row(p + "fc2.weight", j)[k]) * hidden[k];
                n_selected += f.selected[t * f.n_ff + j];
                if (std::fabs(logit - 0.1) < 1e-4) continue;
                EXPECT_EQ(f.selected[t * f.n_ff + j] != 0, logit > 0.1);
                ++n_checked;
            }
        }
    });
    engine.step(some_tokens());
    EXPECT_GT(n_checked, 2u * kTokens * 90u);
    EXPECT_EQ(n_selected, engine.counts().layers[0].selected + engine.counts().layers[1].selected);
}

TEST(Observer, WhatItThrowsLeavesTheStep) {
    test::TemporaryFolder folder;
    const auto m = TinyModel(TinyShape{}).write(folder / "m.gguf");
    Engine engine = load(m, Mode::off);
    engine.observe([](const ObservedFeedForward&) { fail(ErrorKind::cancelled, "enough"); });
    EXPECT_EQ(test::message_of([&] { engine.step(some_tokens()); }), "enough");
    EXPECT_EQ(engine.n_past(0), 0);
    engine.observe({});
    engine.step(some_tokens());
    EXPECT_EQ(engine.n_past(0), kTokens);
}

}  // namespace
}  // namespace powerinfer::engine
