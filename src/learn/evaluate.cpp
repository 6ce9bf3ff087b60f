#include "learn/evaluate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "learn/profiler.h"
#include "learn/scores.h"
#include "learn/text_run.h"
#include "learn/windows.h"

namespace powerinfer::learn {
namespace {

using sparsity::Mode;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double quotient(uint64_t part, uint64_t whole) {
    return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

Mode mode_to_test(const model::ModelSpec& spec, Mode asked) {
    if (asked == Mode::off)
        fail(ErrorKind::bad_argument,
             "mode off leaves nothing out; --sparsity exact or predict can be compared with it");
    if (asked != Mode::automatic) return asked;
    return spec.has_predictors ? Mode::predict : Mode::exact;
}

/// Judges every layer of a pass, and counts what fires.
class Judge {
  public:
    Judge(const model::Model& model, Evaluation& result)
        : activation_(model.spec.activation), result_(result) {
        result_.layers.resize(static_cast<size_t>(model.spec.n_layer));
        result_.profile = sparsity::empty_profile(model);
        for (int i = 0; i < model.spec.n_layer; ++i) norms_.push_back(down_norms(model, i));
    }

    /// The first `skip` tokens of the pass do not count.
    void see(const engine::ObservedFeedForward& f, int64_t skip) {
        const auto layer = static_cast<size_t>(f.layer);
        sparsity::LayerProfile& profile = result_.profile.layers[layer];
        SelectionCounts counts;
        for (int64_t i = skip * f.n_ff; i < f.n_tokens * f.n_ff; ++i) {
            const auto j = static_cast<size_t>(i % f.n_ff);
            const bool fired = fires(f, activation_, i);
            const bool selected = f.selected ? f.selected[i] != 0 : fired;
            const auto h = static_cast<double>(f.h[i]);
            const double contribution = h * h * norms_[layer][j];
            counts.selected += selected;
            counts.fired += fired;
            counts.hits += selected && fired;
            counts.contribution += contribution;
            if (selected) counts.selected_contribution += contribution;
            profile.fires[j] += fired;
            profile.sum[j] += h;
            profile.sum_of_squares[j] += h * h;
            profile.contribution[j] += contribution;
        }
        counts.neurons = static_cast<uint64_t>((f.n_tokens - skip) * f.n_ff);
        result_.layers[layer].add(counts);
        if (f.layer == 0) result_.profile.n_tokens += static_cast<uint64_t>(f.n_tokens - skip);
    }

  private:
    model::Activation activation_;
    Evaluation& result_;
    std::vector<std::vector<double>> norms_;  // [layer][n_ff]
};

/// Seconds that a window takes, without those of `score`.
double timed_window(engine::Engine& engine, std::span<const int32_t> input, int first,
                    FunctionRef<void(int, std::span<const float>)> score) {
    double scoring = 0;
    const Clock::time_point start = Clock::now();
    run_window(engine, input, first, [&](int position, std::span<const float> logits) {
        const Clock::time_point begin = Clock::now();
        score(position, logits);
        scoring += seconds_since(begin);
    });
    return seconds_since(start) - scoring;
}

/// Tokens per second when the tokens after a short start are read one at a time.
double decode_speed(engine::Engine& engine, std::span<const int32_t> ids, int n) {
    constexpr size_t kStart = 8;  // also warms the caches up
    const size_t end = std::min(ids.size(), kStart + static_cast<size_t>(n));
    if (n <= 0 || end <= kStart) return 0;
    engine.truncate(0, 0);
    Clock::time_point start = Clock::now();
    for (size_t i = 0; i < end; ++i) {
        if (i == kStart) start = Clock::now();
        const engine::BatchToken token{ids[i], 0, true};
        engine.step({&token, 1});
    }
    return static_cast<double>(end - kStart) / std::max(seconds_since(start), 1e-9);
}

}  // namespace

void SelectionCounts::add(const SelectionCounts& o) {
    neurons += o.neurons;
    selected += o.selected;
    fired += o.fired;
    hits += o.hits;
    contribution += o.contribution;
    selected_contribution += o.selected_contribution;
}
double SelectionCounts::active_share() const {
    return neurons == 0 ? 0 : quotient(selected, neurons);
}
double SelectionCounts::true_active_share() const {
    return neurons == 0 ? 0 : quotient(fired, neurons);
}
double SelectionCounts::recall() const {
    return quotient(hits, fired);
}
double SelectionCounts::precision() const {
    return quotient(hits, selected);
}
double SelectionCounts::contribution_recall() const {
    return contribution > 0 ? selected_contribution / contribution : 1;
}

SelectionCounts Evaluation::total() const {
    SelectionCounts sum;
    for (const SelectionCounts& layer : layers) sum.add(layer);
    return sum;
}

sparsity::EvaluationRecord Evaluation::record(const model::Model& model) const {
    const SelectionCounts all = total();
    sparsity::EvaluationRecord r;
    r.weights = sparsity::evaluated_weights(model);
    r.n_tokens = static_cast<uint64_t>(n_scored);
    r.text = source;
    r.perplexity = perplexity;
    r.perplexity_off = perplexity_off;
    r.kl = kl;
    r.active_share = all.active_share();
    r.true_active_share = all.true_active_share();
    r.recall = all.recall();
    r.contribution_recall = all.contribution_recall();
    return r;
}

Evaluation evaluate(std::shared_ptr<const model::Model> model, std::span<const int32_t> ids,
                    const tokenizer::SpecialTokens& special, const EvaluateOptions& options,
                    const Progress& progress) {
    Evaluation result;
    result.mode = mode_to_test(model->spec, options.budget.mode);
    if (options.n_tokens > 0) ids = ids.first(std::min(ids.size(), static_cast<size_t>(options.n_tokens)));
    plan::Budget budget = options.budget;
    const Windows windows = cut_windows(static_cast<int64_t>(ids.size()), budget.n_ctx, 0, -1);
    budget.n_batch = budget.n_ctx;  // a window is one pass, so that its first row is its first token
    budget.repack_bytes /= 2;       // two engines live side by side
    budget.mode = Mode::off;
    engine::Engine off = engine::Engine::load(model, plan::solve(*model, budget), options.engine);
    budget.mode = result.mode;
    engine::Engine tested = engine::Engine::load(model, plan::solve(*model, budget), options.engine);

    const auto n_vocab = static_cast<size_t>(model->spec.n_vocab);
    const int64_t skip = special.add_bos ? 1 : 0;
    Judge judge(*model, result);
    Comparison comparison;
    RunningMean nll_off;
    std::vector<float> base;  // ln p of `off`, [scored tokens of a window][n_vocab]
    double off_seconds = 0, tested_seconds = 0;
    for (int w = 0; w < windows.n_windows; ++w) {
        report(progress, static_cast<double>(w) / windows.n_windows,
               fmt::format("window {} of {}", w + 1, windows.n_windows));
        const std::vector<int32_t> input = window_input(ids, windows, w, special);
        const std::span<const int32_t> text =
            ids.subspan(static_cast<size_t>(w) * static_cast<size_t>(windows.step));
        const auto rows = static_cast<size_t>(windows.n_ctx - 1 - windows.first);
        base.resize(rows * n_vocab);
        size_t row = 0;
        off_seconds +=
            timed_window(off, input, windows.first, [&](int position, std::span<const float> logits) {
                nll_off.add(negative_log_likelihood(logits, text[static_cast<size_t>(position) + 1]));
                log_softmax(logits, std::span(base).subspan(row++ * n_vocab, n_vocab));
            });
        // Once by itself for the time, once more being looked at: the logits are the same bits.
        row = 0;
        tested_seconds +=
            timed_window(tested, input, windows.first, [&](int position, std::span<const float> logits) {
                comparison.add(logits, std::span<const float>(base).subspan(row++ * n_vocab, n_vocab),
                               text[static_cast<size_t>(position) + 1]);
            });
        tested.observe([&](const engine::ObservedFeedForward& f) { judge.see(f, skip); });
        run_window(tested, input, windows.n_ctx, [](int, std::span<const float>) {});
        tested.observe({});
    }
    result.n_ctx = windows.n_ctx;
    result.n_tokens = static_cast<int64_t>(windows.n_windows) * windows.n_ctx;
    result.n_scored = comparison.nll().n;
    result.perplexity = std::exp(comparison.nll().mean());
    result.perplexity_off = std::exp(nll_off.mean());
    result.kl = comparison.divergence().mean();
    result.kl_error = comparison.divergence().error();
    result.same_top = comparison.same_top().mean();
    result.prompt_speed_off = static_cast<double>(result.n_tokens) / std::max(off_seconds, 1e-9);
    result.prompt_speed = static_cast<double>(result.n_tokens) / std::max(tested_seconds, 1e-9);
    const std::span<const int32_t> first = ids.first(static_cast<size_t>(windows.n_ctx));
    result.decode_speed_off = decode_speed(off, first, options.n_decode);
    result.decode_speed = decode_speed(tested, first, options.n_decode);
    return result;
}

}  // namespace powerinfer::learn
