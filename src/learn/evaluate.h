// Measures what leaving neurons out costs: the modes `predict` or `exact` against `off`, over the same
// windows of a text. Not for showing the result: see evaluation_report.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/engine.h"
#include "model/model.h"
#include "plan/plan.h"
#include "sparsity/evaluation_record.h"
#include "sparsity/profile.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::learn {

/// Sums over the tokens of the text and some neurons; shares are quotients of them. What fires is told by the
/// gates of the same token on the same input, so that layers are judged one by one.
struct SelectionCounts {
    uint64_t neurons = 0;   ///< all
    uint64_t selected = 0;  ///< named by the predictor; without one (exact) those that fire
    uint64_t fired = 0;     ///< that do fire
    uint64_t hits = 0;      ///< selected and fired
    double contribution = 0,
           selected_contribution = 0;  ///< h^2 times |down row|^2, of all and of the selected

    void add(const SelectionCounts& other);
    double active_share() const;       ///< selected of all
    double true_active_share() const;  ///< fired of all
    double recall() const;             ///< hits of fired; 1 where none fired
    double precision() const;          ///< hits of selected; 1 where none was selected
    double contribution_recall() const;
};

struct Evaluation {
    sparsity::Mode mode = sparsity::Mode::off;
    std::string source;  ///< name of the text, for people
    int64_t n_tokens = 0, n_scored = 0;
    int n_ctx = 0;
    double perplexity = 0, perplexity_off = 0;
    double kl = 0,
           kl_error =
               0;  ///< mean Kullback-Leibler divergence from `off` per scored token, and its uncertainty
    double same_top = 0;  ///< share of scored tokens with the same most likely successor
    double prompt_speed = 0, prompt_speed_off = 0, decode_speed = 0, decode_speed_off = 0;  ///< tokens/s
    std::vector<SelectionCounts> layers;
    sparsity::ActivationProfile profile;  ///< of this text

    SelectionCounts total() const;
    /// What a model file keeps of it; the ratio up to which predictors are trusted is left as it is by
    /// default.
    sparsity::EvaluationRecord record(const model::Model& model) const;
};

struct EvaluateOptions {
    plan::Budget
        budget;  ///< n_ctx is the window; mode automatic = predict where there are predictors, else exact
    engine::EngineOptions engine;
    int64_t n_tokens = 0;  ///< most tokens of the text that are used; 0 = all
    int n_decode =
        32;  ///< tokens that are read one by one to measure the speed of decoding; 0 = not measured
};

/// `ids` begin with the start token where the model has one; windows and scored tokens are those of
/// `perplexity`. Start tokens are not counted among the layers' tokens. Throws Error{bad_argument} where the
/// text is too short or the model cannot leave neurons out.
Evaluation evaluate(std::shared_ptr<const model::Model> model, std::span<const int32_t> ids,
                    const tokenizer::SpecialTokens& special, const EvaluateOptions& options,
                    const Progress& progress = {});

}  // namespace powerinfer::learn
