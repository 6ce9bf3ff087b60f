// The keys of a file about its predictors: what they mean is drawn in spec.h.
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "model/arch.h"

namespace powerinfer::model {
namespace {

constexpr std::string_view kThreshold = "powerinfer.sparse_threshold";
constexpr std::string_view kThresholds = "powerinfer.predictor.thresholds";

/// The index of the file's word among `words`; the first where the file has no such key.
size_t choice(const formats::GgufFile& file, std::string_view key, std::initializer_list<std::string_view> words) {
    const std::string word = file.get_string(key, *words.begin());
    for (size_t i = 0; i < words.size(); ++i) {
        if (word == words.begin()[i]) return i;
    }
    fail(ErrorKind::unsupported, "'{}': key '{}' is '{}', expected one of: {}", file.path(), key, word,
         fmt::join(words, ", "));
}

/// NaN and infinity compare with nothing, or decide everything: no writer means them.
float finite(const formats::GgufFile& file, std::string_view key, double value) {
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow))
        fail(ErrorKind::bad_file, "'{}': key '{}' has the value {}, expected finite numbers", file.path(), key, value);
    return narrow;
}

}  // namespace

PredictorSpec read_predictor_spec(const formats::GgufFile& file, int n_layer) {
    PredictorSpec spec;
    spec.kind = choice(file, "powerinfer.predictor.kind", {"mlp", "sign"}) == 0 ? PredictorKind::mlp : PredictorKind::sign;
    const size_t input = choice(file, "powerinfer.predictor.input", {"residual", "normed", "layer_input"});
    if (input == 2)
        fail(ErrorKind::unsupported, "'{}': its predictors read the layer's input, which architecture '{}' does not offer",
             file.path(), file.get_string("general.architecture", "?"));
    spec.input = input == 0 ? PredictorInput::residual : PredictorInput::normed;
    spec.relu = file.get_bool("powerinfer.predictor.relu", true);
    const bool above = choice(file, "powerinfer.predictor.comparison", {">=", ">"}) == 1;
    const auto at_least = [&](float x) {
        return above ? std::nextafter(x, std::numeric_limits<float>::infinity()) : x;
    };
    spec.threshold = at_least(finite(file, kThreshold, file.get_float(kThreshold, 0.0)));
    if (const auto list = file.find_floats(kThresholds)) {
        if (list->size() != static_cast<size_t>(n_layer))
            fail(ErrorKind::bad_file, "'{}': key '{}' has {} values, expected one for each of the {} layers", file.path(),
                 kThresholds, list->size(), n_layer);
        for (const double t : *list) spec.thresholds.push_back(at_least(finite(file, kThresholds, t)));
    }
    return spec;
}

}  // namespace powerinfer::model
