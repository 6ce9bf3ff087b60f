#include "learn/predictor_maker.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "engine/predictor.h"
#include "learn/ffn_samples.h"
#include "learn/profiler.h"
#include "learn/recording.h"
#include "quant/format.h"
#include "sparsity/profile.h"

namespace powerinfer::learn {
namespace {

using model::PredictorInput;
using model::PredictorKind;
using sparsity::LayerPredictor;
using sparsity::PredictorMatrix;
using sparsity::PredictorSet;

constexpr int64_t kLeastTokens = 512;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Bytes of a predictor in units of the gate's, both in the predictor's type.
double relative_cost(const Candidate& c, const model::ModelSpec& spec, DType type) {
    return static_cast<double>(c.predictor.n_bytes()) /
           (static_cast<double>(spec.n_ff) * static_cast<double>(row_bytes(type, spec.n_embd / 32 * 32)));
}

/// The whole model at one price: which candidate every layer takes, and what follows.
struct Choice {
    std::vector<size_t> candidates;
    double share = 0, lost = 0, recall = 0, true_share = 0;  ///< means of the layers
};

class Chooser {
  public:
    Chooser(std::shared_ptr<const model::Model> model, const Text& check, const MakerOptions& options,
            std::vector<std::vector<Candidate>> layers)
        : model_(std::move(model)), check_(check), options_(options), layers_(std::move(layers)) {}

    PredictorSet choose() {
        const auto n = prices().size();
        size_t at = 0;
        if (options_.target.kind == Target::Kind::share) {
            while (at + 1 < n && choice(at).share > options_.target.value) ++at;
        } else if (options_.target.kind == Target::Kind::recall) {
            while (at + 1 < n && 1 - choice(at + 1).lost >= options_.target.value) ++at;
        } else {
            at = highest_within_perplexity();
        }
        const Choice c = choice(at);
        for (size_t i = 0; i < layers_.size(); ++i) {
            const Candidate& chosen = layers_[i][c.candidates[i]];
            const CurvePoint& point = chosen.curve.points[at];
            powerinfer::log(options_.log, LogLevel::info,
                            "layer {:3}: rank {:4}, computes {:5.1f} % (fires {:5.1f} %), keeps {:.2f} % of the contribution",
                            i, chosen.predictor.fc1.n_out, 100 * point.share, 100 * chosen.curve.true_share,
                            100 * (1 - point.lost));
        }
        powerinfer::log(options_.log, LogLevel::info,
                        "all layers: computes {:.1f} % (fires {:.1f} %), recall {:.3f}, keeps {:.2f} % of the contribution",
                        100 * c.share, 100 * c.true_share, c.recall, 100 * (1 - c.lost));
        return set_at(at);
    }

  private:
    Choice choice(size_t price) const {
        Choice c;
        const auto n = static_cast<double>(layers_.size());
        for (const std::vector<Candidate>& candidates : layers_) {
            size_t best = 0;
            double least = 0;
            for (size_t k = 0; k < candidates.size(); ++k) {
                const CurvePoint& p = candidates[k].curve.points[price];
                const double cost = p.lost + prices()[price] * (p.share + relative_cost(candidates[k], model_->spec, options_.type));
                if (k == 0 || cost < least) {
                    best = k;
                    least = cost;
                }
            }
            const CurvePoint& p = candidates[best].curve.points[price];
            c.candidates.push_back(best);
            c.share += p.share / n;
            c.lost += p.lost / n;
            c.recall += p.recall / n;
            c.true_share += candidates[best].curve.true_share / n;
        }
        return c;
    }

    PredictorSet set_at(size_t price) const {
        const Choice c = choice(price);
        PredictorSet set;
        set.spec = spec_of(options_);
        set.maker = name(options_.maker);
        set.fingerprint = sparsity::fingerprint_of(*model_);
        set.numbering = sparsity::numbering_of(*model_->file);
        set.n_embd = model_->spec.n_embd;
        set.n_ff = model_->spec.n_ff;
        for (size_t i = 0; i < layers_.size(); ++i) {
            const Candidate& chosen = layers_[i][c.candidates[i]];
            const std::vector<float>& thresholds = chosen.curve.points[price].thresholds;
            LayerPredictor p = chosen.predictor;
            if (options_.original_form) {
                // One threshold shall serve as many layers as can be: scaling the logits moves it to 1 or -1.
                const float size = std::max(std::fabs(thresholds[0]), 1e-20f);
                Floats rows = decoded(p.fc2);
                for (float& v : rows.values) v /= size;
                p.fc2 = encoded(rows, p.fc2.type);
                set.spec.thresholds.push_back(thresholds[0] / size);
            } else {
                p.fc2_bias.resize(thresholds.size());
                for (size_t j = 0; j < thresholds.size(); ++j)
                    p.fc2_bias[j] = (chosen.predictor.fc2_bias.empty() ? 0.0f : chosen.predictor.fc2_bias[j]) - thresholds[j];
            }
            set.layers.push_back(std::move(p));
        }
        return set;
    }

    size_t highest_within_perplexity() const {
        const double off = perplexity(model_, sparsity::Mode::off);
        size_t low = 0, high = prices().size();  // low is taken to be good, high is not
        while (low + 1 < high) {
            const size_t middle = low + (high - low) / 2;
            const PredictorSet set = set_at(middle);
            const double p = perplexity(sparsity::with_predictors(*model_, set), sparsity::Mode::predict);
            powerinfer::log(options_.log, LogLevel::info, "price {:.2e}: computes {:5.1f} %, perplexity {:.3f} ({:+.2f} %)",
                            prices()[middle], 100 * choice(middle).share, p, 100 * (p / off - 1));
            (p <= off * (1 + options_.target.value) ? low : high) = middle;
        }
        return low;
    }

    double perplexity(std::shared_ptr<const model::Model> model, sparsity::Mode mode) const {
        const int64_t skip = check_.bos ? 1 : 0;
        const int n = check_.window + static_cast<int>(skip);
        engine::Engine engine =
            engine::Engine::load(model, plan::solve(*model, {.n_ctx = n, .n_batch = n, .kv_type = DType::F32, .mode = mode}),
                                 {.n_threads = options_.n_threads});
        double sum = 0;
        int64_t n_scored = 0;
        std::vector<engine::BatchToken> batch;
        for (int64_t w = 0; w < check_.n_windows(); ++w) {
            report(options_.progress, static_cast<double>(w) / static_cast<double>(check_.n_windows()), "measuring perplexity");
            const int64_t begin = check_.window_begin(w), size = check_.window_size(w);
            batch.clear();
            if (check_.bos) batch.push_back({*check_.bos, 0, false});
            for (int64_t i = 0; i < size; ++i)
                batch.push_back({check_.ids[static_cast<size_t>(begin + i)], 0, i + 1 < size && i >= size / 4});
            engine.truncate(0, 0);
            engine.step(batch);
            for (size_t k = 0; k < engine.n_logits(); ++k) {
                const std::span<const float> logits = engine.logits(k);
                const auto next = static_cast<size_t>(check_.ids[static_cast<size_t>(begin + size / 4) + k + 1]);
                const auto top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
                double all = 0;
                for (const float l : logits) all += std::exp(static_cast<double>(l) - top);
                sum += std::log(all) + top - static_cast<double>(logits[next]);
                ++n_scored;
            }
        }
        return std::exp(sum / static_cast<double>(std::max<int64_t>(n_scored, 1)));
    }

    std::shared_ptr<const model::Model> model_;
    const Text& check_;
    const MakerOptions& options_;
    std::vector<std::vector<Candidate>> layers_;
};

void check_options(const model::Model& model, const Text& text, const Text& check, const MakerOptions& options) {
    if (!model::is_sparse_capable(model.spec.activation))
        fail(ErrorKind::bad_argument,
             "predictors need an activation with exact zeros (relu, relu_squared, drelu), but the model's is {}",
             model::name(model.spec.activation));
    if (text.n_tokens() < kLeastTokens)
        fail(ErrorKind::bad_argument, "the text has {} tokens to learn from, expected at least {}", text.n_tokens(), kLeastTokens);
    if (options.target.kind == Target::Kind::perplexity && check.n_tokens() < kLeastTokens)
        fail(ErrorKind::bad_argument,
             "the text leaves {} tokens to measure perplexity on, expected at least {}: a longer text or fewer --tokens",
             check.n_tokens(), kLeastTokens);
    if (options.original_form && options.maker == Maker::sign)
        fail(ErrorKind::bad_argument, "the original engine cannot run predictors of kind sign");
    if (options.n_most_rank != 0 && (options.n_most_rank < 1 || options.n_most_rank > model.spec.n_embd))
        fail(ErrorKind::bad_argument, "the rank is {}, expected 1 to {}", options.n_most_rank, model.spec.n_embd);
    if (!quant::find_format(options.type) || !quant::format(options.type).encode)
        fail(ErrorKind::bad_argument, "predictors cannot be stored as {}", info(options.type).name);
}

}  // namespace

std::string_view name(Maker maker) {
    return maker == Maker::svd ? "svd" : maker == Maker::train ? "train" : "sign";
}

Target target_from_text(std::string_view text) {
    const size_t colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    std::string_view number = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    const bool percent = number.ends_with('%');
    if (percent) number.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (percent) value /= 100;
    const bool known = kind == "ppl" || kind == "recall" || kind == "share";
    if (!known || error != std::errc() || end != number.data() + number.size() || !(value > 0) || !(value <= 1))
        fail(ErrorKind::bad_argument, "the target is '{}', expected something like ppl:0.5%, recall:0.98 or share:0.15", text);
    return {kind == "ppl" ? Target::Kind::perplexity : kind == "recall" ? Target::Kind::recall : Target::Kind::share, value};
}

std::string text_of(const Target& target) {
    if (target.kind == Target::Kind::perplexity) return fmt::format("ppl:{:g}%", 100 * target.value);
    return fmt::format("{}:{:g}", target.kind == Target::Kind::recall ? "recall" : "share", target.value);
}

model::PredictorSpec spec_of(const MakerOptions& options) {
    model::PredictorSpec spec;
    spec.kind = options.maker == Maker::sign ? PredictorKind::sign : PredictorKind::mlp;
    spec.input = options.original_form ? PredictorInput::residual : PredictorInput::normed;
    spec.relu = options.maker == Maker::train || options.original_form;
    return spec;
}

std::vector<int64_t> ranks_to_try(const MakerOptions& options, int64_t n_embd) {
    const auto whole = [&](int64_t r) { return std::min((r + 31) / 32 * 32, n_embd); };
    const int64_t most = options.n_most_rank > 0 ? options.n_most_rank
                                                 : std::min(whole(std::clamp<int64_t>(n_embd / 8, 128, 1024)), n_embd);
    std::vector<int64_t> ranks;
    if (!options.fixed_rank) {
        for (const int64_t quarters : {1, 2, 3}) ranks.push_back(whole(most * quarters / 4));
    }
    ranks.push_back(most);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    while (ranks.size() > 1 && ranks[ranks.size() - 2] >= most) ranks.erase(ranks.end() - 2);
    return ranks;
}

PredictorMatrix encoded(const Floats& rows, DType type) {
    if (rows.columns % info(type).block != 0) type = DType::F16;
    PredictorMatrix m{type, rows.columns, rows.rows, std::vector<uint8_t>(static_cast<size_t>(rows.rows) * row_bytes(type, rows.columns))};
    quant::format(type).encode(rows.values.data(), m.data.data(), rows.rows * rows.columns, nullptr);
    return m;
}

Floats decoded(const PredictorMatrix& m) {
    Floats rows(m.n_out, m.n_in);
    quant::format(m.type).decode(m.data.data(), rows.values.data(), m.n_out * m.n_in);
    return rows;
}

Floats scores_of(const LayerPredictor& p, const model::PredictorSpec& spec, const Floats& x, Multiplier& multiply) {
    Floats scores;
    if (spec.kind == PredictorKind::sign) {
        const int64_t words = (x.columns + 31) / 32, n_ff = static_cast<int64_t>(p.signs.size()) / words;
        std::vector<uint32_t> signs(static_cast<size_t>(x.rows * words));
        for (int64_t t = 0; t < x.rows; ++t) engine::pack_signs(x.row(t), x.columns, signs.data() + t * words);
        scores = Floats(n_ff, x.rows);
        multiply.pool().for_each(n_ff, 8, [&](int64_t begin, int64_t end) {
            for (int64_t j = begin; j < end; ++j) {
                for (int64_t t = 0; t < x.rows; ++t)
                    scores.row(j)[t] = engine::sign_score(p.signs.data() + j * words, signs.data() + t * words, x.columns);
            }
        });
        return scores;
    }
    Floats hidden;
    multiply.rows_by_rows(x, decoded(p.fc1), hidden);
    for (int64_t t = 0; t < hidden.rows; ++t) {
        for (int64_t k = 0; k < hidden.columns; ++k) {
            float& v = hidden.row(t)[k];
            if (!p.fc1_bias.empty()) v += p.fc1_bias[static_cast<size_t>(k)];
            if (spec.relu && v < 0) v = 0;
        }
    }
    multiply.rows_by_rows(decoded(p.fc2), hidden, scores);
    if (!p.fc2_bias.empty()) {
        for (int64_t j = 0; j < scores.rows; ++j) {
            for (int64_t t = 0; t < scores.columns; ++t) scores.row(j)[t] += p.fc2_bias[static_cast<size_t>(j)];
        }
    }
    return scores;
}

PredictorSet make_predictors(std::shared_ptr<const model::Model> model, const Text& text, const Text& check,
                             const MakerOptions& options) {
    check_options(*model, text, check, options);
    const auto start = std::chrono::steady_clock::now();
    record_text(options.folder, model, text, {}, options.n_threads, options.progress);
    powerinfer::log(options.log, LogLevel::info, "recorded {} tokens in {:.1f} s", text.n_tokens(), seconds_since(start));

    Multiplier multiply(options.n_threads);
    const auto making = std::chrono::steady_clock::now();
    const model::PredictorSpec spec = spec_of(options);
    std::vector<std::vector<Candidate>> layers;
    for (int i = 0; i < model->spec.n_layer; ++i) {
        report(options.progress, static_cast<double>(i) / model->spec.n_layer, fmt::format("predictor of layer {}", i));
        if (options.maker == Maker::train) {
            layers.push_back(trained_candidates(*model, i, options, multiply));
        } else {
            const LayerRecording recording = LayerRecording::open(options.folder, i);
            const Floats x = predictor_input(*model, recording, i, 0, recording.n_tokens(), spec.input);
            const Floats worth = contributions(down_norms(*model, i), recording, 0, recording.n_tokens(), multiply);
            layers.push_back(options.maker == Maker::svd ? svd_candidates(*model, i, x, worth, options, multiply)
                                                         : sign_candidates(*model, i, x, worth, multiply));
            recording.release();
        }
        if (i == 0)
            powerinfer::log(options.log, LogLevel::info, "the first layer took {:.1f} s, so all {} will take about {:.1f} min",
                            seconds_since(making), model->spec.n_layer, seconds_since(making) * model->spec.n_layer / 60);
    }
    powerinfer::log(options.log, LogLevel::info, "made predictors of {} layers in {:.1f} s", model->spec.n_layer, seconds_since(making));

    const auto choosing = std::chrono::steady_clock::now();
    PredictorSet set = Chooser(std::move(model), check, options, std::move(layers)).choose();
    powerinfer::log(options.log, LogLevel::info, "chose ranks and thresholds for {} in {:.1f} s", text_of(options.target),
                    seconds_since(choosing));
    return set;
}

}  // namespace powerinfer::learn
