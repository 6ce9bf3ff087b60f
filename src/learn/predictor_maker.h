// Makes the predictors of a whole model: candidates per layer and rank, then one choice over all layers.
// Not for writing model files (convert/) nor for judging the result (evaluate.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "learn/calibration.h"
#include "learn/text_run.h"
#include "model/model.h"
#include "sparsity/predictor.h"

namespace powerinfer::learn {

enum class Maker { svd, train, sign };
std::string_view name(Maker maker);

/// What the whole model shall reach; over all layers, each with a say of its own.
struct Target {
    enum class Kind {
        perplexity,  ///< at most this much worse than with everything computed, relative: 0.005
        recall,      ///< at least this share of the contribution is kept
        share,       ///< at most this share of neurons is computed
    };
    Kind kind = Kind::perplexity;
    double value = 0.005;
};
/// "ppl:0.5%", "ppl:0.005", "recall:0.98", "share:15%"; throws Error{bad_argument} showing these forms.
Target target_from_text(std::string_view text);
std::string text_of(const Target& target);

struct MakerOptions {
    Maker maker = Maker::svd;
    Target target;
    std::string folder;               ///< recordings and stages of training are kept here and gone on with
    int64_t n_most_rank = 0;          ///< 0 = an eighth of n_embd, at least 128 and at most 1024
    bool fixed_rank = false;          ///< every layer gets n_most_rank
    DType type = DType::Q8_0;         ///< of the matrices
    bool original_form = false;       ///< what the original engine can run: residual, ReLU, no biases (svd: twice the rank)
    int n_epochs = 4;                 ///< train: most passes over the text
    int n_threads = 0;
    LogSink log;
    Progress progress;
};

/// One predictor a layer could get: its thresholds are still to be chosen.
struct Candidate {
    sparsity::LayerPredictor predictor;
    Curve curve;
};

/// `text` is recorded and learnt from; `check` is what perplexity is measured on where that is the target. Stage times
/// are logged. Throws Error{bad_argument} where the model is not sparse-capable or a text is too short.
sparsity::PredictorSet make_predictors(std::shared_ptr<const model::Model> model, const Text& text, const Text& check,
                                       const MakerOptions& options);

/// The scores [n_ff][x.rows] of a predictor for recorded inputs, thresholds apart. Slow and obvious.
Floats scores_of(const sparsity::LayerPredictor& predictor, const model::PredictorSpec& spec, const Floats& x,
                 Multiplier& multiply);

// The makers, one layer each.
std::vector<Candidate> svd_candidates(const model::Model& model, int layer, const Floats& x, const Floats& contributions,
                                      const MakerOptions& options, Multiplier& multiply);
std::vector<Candidate> sign_candidates(const model::Model& model, int layer, const Floats& x, const Floats& contributions,
                                       Multiplier& multiply);
std::vector<Candidate> trained_candidates(const model::Model& model, int layer, const MakerOptions& options,
                                          Multiplier& multiply);

/// What the makers' predictors read and how they are used, thresholds apart.
model::PredictorSpec spec_of(const MakerOptions& options);
/// Ranks to try, rising: a quarter, a half, three quarters and all of the most, in multiples of 32.
std::vector<int64_t> ranks_to_try(const MakerOptions& options, int64_t n_embd);
sparsity::PredictorMatrix encoded(const Floats& rows, DType type);
Floats decoded(const sparsity::PredictorMatrix& matrix);

}  // namespace powerinfer::learn
