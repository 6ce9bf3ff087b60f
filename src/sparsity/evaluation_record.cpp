#include "sparsity/evaluation_record.h"

#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/hash.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufFile;
using formats::GgufType;
using formats::GgufValue;

constexpr uint32_t kVersion = 1;

std::string key(std::string_view name) {
    return fmt::format("powerinfer.evaluation.{}", name);
}

struct Figure {
    std::string_view name;
    double EvaluationRecord::*value;
    double least, most;
};
constexpr double kMost = 1e300;
constexpr std::array<Figure, 7> kFigures = {
    {{"perplexity", &EvaluationRecord::perplexity, 0, kMost},
     {"perplexity_off", &EvaluationRecord::perplexity_off, 0, kMost},
     {"kl", &EvaluationRecord::kl, -1, kMost},  // rounding may go below zero
     {"active_share", &EvaluationRecord::active_share, 0, 1},
     {"true_active_share", &EvaluationRecord::true_active_share, 0, 1},
     {"recall", &EvaluationRecord::recall, 0, 1},
     {"contribution_recall", &EvaluationRecord::contribution_recall, 0, 1}}};
constexpr Figure kRatio = {"max_perplexity_ratio", &EvaluationRecord::max_perplexity_ratio, 1, 1000};

GgufValue of_f64(double value) {
    return {.type = GgufType::f64, .data = value};
}

void read(const GgufFile& file, const Figure& figure, EvaluationRecord& record) {
    const double value = file.get_float(key(figure.name));
    if (!(value >= figure.least && value <= figure.most))
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected {} to {}", file.path(), key(figure.name),
             value, figure.least, figure.most);
    record.*figure.value = value;
}

}  // namespace

uint64_t evaluated_weights(const model::Model& model) {
    const model::ModelSpec& spec = model.spec;
    const auto activation = static_cast<uint32_t>(spec.activation);
    uint64_t hash = fnv1a(&activation, sizeof(activation));
    for (int i = 0; i < spec.n_layer; ++i) {
        const model::LayerTensors& t = model.tensors.layers[static_cast<size_t>(i)];
        for (const TensorView* view : {&t.ffn_gate, &t.ffn_up, &t.ffn_down, &t.ffn_down_t, &t.fc1, &t.fc2,
                                       &t.fc1_bias, &t.fc2_bias, &t.gate_signs})
            hash = sampled_hash(*view, hash);
        const float threshold = spec.predictor.threshold_of(i);
        hash = fnv1a(&threshold, sizeof(threshold), hash);
    }
    return hash == 0 ? 1 : hash;
}

std::vector<std::pair<std::string, GgufValue>> evaluation_keys(const EvaluationRecord& record) {
    std::vector<std::pair<std::string, GgufValue>> keys = {
        {key("version"), GgufValue::of_u32(kVersion)},
        {key("weights"), GgufValue::of_u64(record.weights)},
        {key("tokens"), GgufValue::of_u64(record.n_tokens)},
        {key("text"), GgufValue::of_string(record.text)},
        {key(kRatio.name), of_f64(record.*kRatio.value)}};
    for (const Figure& f : kFigures) keys.emplace_back(key(f.name), of_f64(record.*f.value));
    return keys;
}

void store_evaluation(const std::string& path, const EvaluationRecord& record) {
    std::vector<std::pair<std::string, GgufValue>> values = {
        {key("weights"), GgufValue::of_u64(0)}, {key("tokens"), GgufValue::of_u64(record.n_tokens)}};
    for (const Figure& f : kFigures) values.emplace_back(key(f.name), of_f64(record.*f.value));
    values.emplace_back(key("weights"), GgufValue::of_u64(record.weights));
    formats::rewrite_keys(path, values);
}

std::optional<EvaluationRecord> read_evaluation(const GgufFile& file) {
    if (!file.has(key("version"))) return std::nullopt;
    if (const uint64_t version = file.get_uint(key("version")); version != kVersion)
        fail(ErrorKind::unsupported, "'{}': its evaluation has version {}, expected {}", file.path(), version,
             kVersion);
    EvaluationRecord record;
    record.weights = file.get_uint(key("weights"));
    record.n_tokens = file.get_uint(key("tokens"));
    record.text = file.get_string(key("text"));
    read(file, kRatio, record);
    for (const Figure& f : kFigures) read(file, f, record);
    return record;
}

Trust trust_in_predictors(const model::Model& model) {
    if (!model.spec.has_predictors) return {false, "the file has no predictors"};
    const auto record = read_evaluation(*model.file);
    if (!record || record->weights == 0) return {false, "the file's predictors carry no recorded evaluation"};
    if (record->weights != evaluated_weights(model))
        return {false, "the recorded evaluation is of other weights or thresholds"};
    const double loss = 100 * (record->perplexity / record->perplexity_off - 1);
    const double allowed = 100 * (record->max_perplexity_ratio - 1);
    const std::string found =
        fmt::format("the file's predictors cost {:+.2f} % perplexity by its evaluation", loss);
    if (!(loss <= allowed)) return {false, fmt::format("{}, more than the {:.2f} % allowed", found, allowed)};
    return {true, fmt::format("{}, computing {:.1f} % of the neurons", found, 100 * record->active_share)};
}

}  // namespace powerinfer::sparsity
