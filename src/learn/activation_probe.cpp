#include "learn/activation_probe.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "engine/engine.h"
#include "learn/scores.h"
#include "model/model.h"
#include "plan/plan.h"

namespace powerinfer::learn {
namespace {

using model::Activation;

constexpr Activation kCandidates[] = {Activation::silu, Activation::gelu, Activation::relu, Activation::relu_squared,
                                      Activation::drelu};

ActivationTrial try_one(const std::shared_ptr<const formats::GgufFile>& file, Activation activation,
                        std::span<const int32_t> ids, size_t window, int n_threads) {
    const auto m = std::make_shared<const model::Model>(model::load(file, {.activation = activation, .threshold = {}}));
    const int n_ctx = static_cast<int>(window);
    const plan::Plan plan = plan::solve(*m, {.n_ctx = n_ctx, .mode = sparsity::Mode::off});
    engine::Engine engine = engine::Engine::load(m, plan, {.n_threads = n_threads});
    double sum = 0;
    size_t n_scored = 0;
    for (size_t start = 0; start + window <= ids.size(); start += window) {
        engine.truncate(0, 0);
        std::vector<engine::BatchToken> batch;
        for (size_t i = 0; i < window; ++i)
            batch.push_back({ids[start + i], 0, i + 1 < window && i + 1 >= window / 2});
        engine.step(batch);
        for (size_t k = 0; k < engine.n_logits(); ++k)
            sum += negative_log_likelihood(engine.logits(k), ids[start + window / 2 + k]);
        n_scored += engine.n_logits();
    }
    ActivationTrial trial{activation, std::exp(sum / static_cast<double>(n_scored)), 0, {}};
    uint64_t positive = 0, computed = 0;
    for (const engine::LayerCounts& layer : engine.counts().layers) {
        trial.gates_below_zero_per_layer.push_back(1 - static_cast<double>(layer.positive) / static_cast<double>(layer.selected));
        positive += layer.positive;
        computed += layer.selected;
    }
    trial.gates_below_zero = 1 - static_cast<double>(positive) / static_cast<double>(computed);
    return trial;
}

}  // namespace

std::vector<ActivationTrial> probe_activations(std::shared_ptr<const formats::GgufFile> file, std::span<const int32_t> ids,
                                               int window, int n_threads, const Progress& progress) {
    if (window < 4 || ids.size() < static_cast<size_t>(window))
        fail(ErrorKind::bad_argument, "the text has {} tokens, expected at least one window of {}", ids.size(), std::max(window, 4));
    std::vector<ActivationTrial> trials;
    double share = 0;
    for (const Activation a : kCandidates) {
        report(progress, share, "trying activation " + std::string(model::name(a)));
        trials.push_back(try_one(file, a, ids, static_cast<size_t>(window), n_threads));
        share += 1.0 / std::size(kCandidates);
    }
    // A diverging candidate gives NaN or infinity: those go last.
    std::stable_sort(trials.begin(), trials.end(), [](const ActivationTrial& a, const ActivationTrial& b) {
        return std::isfinite(a.perplexity) && (!std::isfinite(b.perplexity) || a.perplexity < b.perplexity);
    });
    return trials;
}

}  // namespace powerinfer::learn
