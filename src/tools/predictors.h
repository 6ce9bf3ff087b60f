// What the commands `predictor` and `complete` share.
#pragma once

#include <memory>

#include "learn/predictor_maker.h"
#include "tools/arguments.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::tools {

/// The file named by --file, cut into what is learnt from (--tokens from its start) and what follows it, on which
/// perplexity is measured.
struct LearningText {
    std::vector<int32_t> ids, check_ids;
    learn::Text text, check;
};
LearningText learning_text(const Arguments& a, const std::string& words, const model::ModelSpec& spec,
                           const tokenizer::Tokenizer& tokenizer);

/// Made as the options say. Recordings go to --keep, or to a folder beside the output that is removed afterwards.
sparsity::PredictorSet made_predictors(const Arguments& a, learn::Maker maker, std::shared_ptr<const model::Model> model,
                                       const LearningText& text, const LogSink& log, const Progress& progress);

learn::Maker maker_from_name(const std::string& word);

}  // namespace powerinfer::tools
