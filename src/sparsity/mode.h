// Which neurons of a feed-forward are computed, as a choice by name.
#pragma once

#include <string_view>

namespace powerinfer::sparsity {

enum class Mode {
    off,        ///< everything: the dense reference
    exact,      ///< the gate decides; lossless for activations with exact zeros
    predict,    ///< a predictor names the candidates, the gate decides among them
    automatic,  ///< predict where the file vouches for its predictors, else exact, else off
};

std::string_view name(Mode mode);

/// "off", "exact", "predict", "auto"; throws Error{bad_argument} listing them.
Mode mode_from_name(std::string_view text);

/// The predictor threshold in force: the environment's LLAMA_SPARSE_PRED_THRESHOLD (its text, or null when it is not
/// set) over the file's value. Throws Error{bad_argument} when the text is not a finite number.
float resolve_threshold(float from_file, const char* from_environment);

}  // namespace powerinfer::sparsity
