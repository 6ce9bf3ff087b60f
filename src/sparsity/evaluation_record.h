// What was measured of a file's predictors, kept in the file, so that they are used without asking
// (`--sparsity auto`) where they are good enough. Not for measuring: see learn/evaluate.h.
//
//   powerinfer.evaluation.version      u32 = 1
//   powerinfer.evaluation.weights      u64     evaluated_weights() of the model that was measured; 0 = not
//   measured yet powerinfer.evaluation.tokens       u64     of the text, scored powerinfer.evaluation.text
//   string  what was read, for people powerinfer.evaluation.perplexity, .perplexity_off, .kl, .active_share,
//   .true_active_share, .recall, .contribution_recall               f64     as `powerinfer evaluate` prints
//   them powerinfer.evaluation.max_perplexity_ratio  f64  predictors are trusted up to this perplexity /
//   perplexity_off
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "model/model.h"

namespace powerinfer::sparsity {

struct EvaluationRecord {
    uint64_t weights = 0;
    uint64_t n_tokens = 0;
    std::string text;
    double perplexity = 0, perplexity_off = 0, kl = 0;
    double active_share = 0, true_active_share = 0, recall = 0, contribution_recall = 0;
    double max_perplexity_ratio = 1.01;
};

/// Changes with anything that changes what the evaluation found: type, shape and a sample of the bytes of
/// gates, ups, downs and predictors, thresholds, activation.
uint64_t evaluated_weights(const model::Model& model);

/// The keys of a record, for a file that is being written. A file is measured after it was written: give it
/// the keys of a record with its text and ratio alone, then store the figures; or copy it with the keys of
/// the whole.
std::vector<std::pair<std::string, formats::GgufValue>> evaluation_keys(const EvaluationRecord& record);
/// Stores the figures, all but text and ratio, in a file that has the keys, in place; `weights` last, so that
/// a stopped write leaves a file that was not measured.
void store_evaluation(const std::string& path, const EvaluationRecord& record);

/// Nothing where the file has none. Throws Error{bad_file} naming the key where a figure is missing or
/// impossible.
std::optional<EvaluationRecord> read_evaluation(const formats::GgufFile& file);

/// Whether the predictors of a model may be used without being asked for, and one clause why.
struct Trust {
    bool trusted = false;
    std::string reason;
};
Trust trust_in_predictors(const model::Model& model);

}  // namespace powerinfer::sparsity
