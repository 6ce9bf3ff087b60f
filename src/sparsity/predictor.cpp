#include "sparsity/predictor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "model/arch.h"
#include "sparsity/profile.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufFile;
using formats::GgufTensor;
using formats::GgufValue;
using model::PredictorInput;
using model::PredictorKind;

constexpr std::string_view kArchitecture = "powerinfer.predictor";
constexpr uint32_t kVersion = 1;
constexpr int64_t kMaxLayers = 4096, kMaxWidth = 1 << 24;

std::string key(std::string_view name) {
    return fmt::format("powerinfer.predictor.{}", name);
}

TensorView view_of(const void* data, DType type, int64_t ne0, int64_t ne1) {
    TensorView v;
    v.data = data;
    v.type = type;
    v.ne = {ne0, ne1, 1, 1};
    return v;
}

int read_size(const GgufFile& file, std::string_view name, int64_t most) {
    const uint64_t n = file.get_uint(key(name));
    if (n < 1 || n > static_cast<uint64_t>(most))
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected 1 to {}", file.path(), key(name), n, most);
    return static_cast<int>(n);
}

/// Reads the tensors of one layer and remembers how many were used.
class LayerReader {
  public:
    LayerReader(const GgufFile& file, const PredictorSet& set, int layer) : file_(file), set_(set), layer_(layer) {}

    LayerPredictor read() {
        LayerPredictor p;
        if (set_.spec.kind == PredictorKind::sign) {
            const TensorView v = find("gate_signs", true, set_.sign_words(), set_.n_ff);
            require_type(v, DType::I32, "gate_signs");
            p.signs.resize(v.n_bytes() / sizeof(uint32_t));
            std::memcpy(p.signs.data(), v.data, v.n_bytes());
        } else {
            p.fc1 = matrix("fc1.weight", set_.n_embd, 0);
            p.fc2 = matrix("fc2.weight", p.fc1.n_out, set_.n_ff);
            p.fc1_bias = floats("fc1.bias", p.fc1.n_out);
        }
        p.fc2_bias = floats("fc2.bias", set_.n_ff);
        return p;
    }

    size_t n_used() const { return n_used_; }

  private:
    std::string name(std::string_view part) const { return fmt::format("blk.{}.{}", layer_, part); }

    TensorView find(std::string_view part, bool required, int64_t ne0, int64_t ne1) {
        const GgufTensor* tensor = file_.find_tensor(name(part));
        if (!tensor && !required) return {};
        if (!tensor) fail(ErrorKind::bad_file, "'{}': tensor '{}' is missing", file_.path(), name(part));
        const TensorView& v = tensor->view;
        const std::array<int64_t, 4> expected = {ne0, ne1 > 0 ? ne1 : std::max<int64_t>(v.ne[1], 1), 1, 1};
        if (v.ne != expected)
            fail(ErrorKind::bad_file, "'{}': tensor '{}' has shape {}, expected {}", file_.path(), name(part),
                 shape_text(v.ne), shape_text(expected));
        ++n_used_;
        return v;
    }
    void require_type(const TensorView& v, DType type, std::string_view part) const {
        if (v.type != type)
            fail(ErrorKind::unsupported, "'{}': tensor '{}' has type {}, expected {}", file_.path(), name(part),
                 info(v.type).name, info(type).name);
    }
    PredictorMatrix matrix(std::string_view part, int64_t n_in, int64_t n_out) {
        const TensorView v = find(part, true, n_in, n_out);
        const auto* bytes = static_cast<const uint8_t*>(v.data);
        return {v.type, v.ne[0], v.ne[1], {bytes, bytes + v.n_bytes()}};
    }
    std::vector<float> floats(std::string_view part, int64_t n) {
        const TensorView v = find(part, false, n, 1);
        if (!v) return {};
        require_type(v, DType::F32, part);
        const auto* values = static_cast<const float*>(v.data);
        std::vector<float> out(values, values + n);
        for (const float x : out) {
            if (!std::isfinite(x))
                fail(ErrorKind::bad_file, "'{}': tensor '{}' holds {}, expected finite numbers", file_.path(), name(part), x);
        }
        return out;
    }

    const GgufFile& file_;
    const PredictorSet& set_;
    int layer_;
    size_t n_used_ = 0;
};

}  // namespace

TensorView PredictorMatrix::view() const {
    return data.empty() ? TensorView{} : view_of(data.data(), type, n_in, n_out);
}

uint64_t LayerPredictor::n_bytes() const {
    return fc1.data.size() + fc2.data.size() + (fc1_bias.size() + fc2_bias.size()) * sizeof(float) +
           signs.size() * sizeof(uint32_t);
}

bool PredictorSet::original_can_run() const {
    return spec.kind == PredictorKind::mlp && spec.input == PredictorInput::residual && spec.relu &&
           std::all_of(layers.begin(), layers.end(),
                       [](const LayerPredictor& p) { return p.fc1_bias.empty() && p.fc2_bias.empty(); });
}

void PredictorSet::check_fits(const model::Model& model, const std::string& label) const {
    const model::ModelSpec& s = model.spec;
    if (n_layer() != s.n_layer || n_embd != s.n_embd || n_ff != s.n_ff)
        fail(ErrorKind::bad_argument,
             "'{}' has predictors of {} layers of {} neurons and vectors of {}, but the model has {} layers of {} and {}",
             label, n_layer(), n_ff, n_embd, s.n_layer, s.n_ff, s.n_embd);
    if (fingerprint != 0 && fingerprint != fingerprint_of(model))
        fail(ErrorKind::bad_argument, "the predictors of '{}' were made for another model of the same shape", label);
    if (numbering != numbering_of(*model.file))
        fail(ErrorKind::bad_argument,
             "'{}' numbers the neurons otherwise than the model file does: they were moved in one of the two", label);
}

std::vector<std::pair<std::string, GgufValue>> predictor_keys(const PredictorSet& set) {
    const model::PredictorSpec& spec = set.spec;
    std::vector<std::pair<std::string, GgufValue>> keys;
    float lowest = spec.threshold_of(0);
    for (int i = 1; i < set.n_layer(); ++i) lowest = std::min(lowest, spec.threshold_of(i));
    keys.emplace_back("powerinfer.sparse_threshold", GgufValue::of_f32(lowest));
    keys.emplace_back(key("kind"), GgufValue::of_string(std::string(model::name(spec.kind))));
    keys.emplace_back(key("input"), GgufValue::of_string(std::string(model::name(spec.input))));
    if (spec.kind == PredictorKind::mlp) keys.emplace_back(key("relu"), GgufValue::of_bool(spec.relu));
    if (!spec.thresholds.empty())
        keys.emplace_back(key("thresholds"), GgufValue::of_f32s({spec.thresholds.begin(), spec.thresholds.end()}));
    if (!set.maker.empty()) keys.emplace_back(key("maker"), GgufValue::of_string(set.maker));
    return keys;
}

std::vector<NamedTensor> predictor_tensors(const PredictorSet& set, int layer) {
    const LayerPredictor& p = set.layers[static_cast<size_t>(layer)];
    std::vector<NamedTensor> out;
    const auto add = [&](std::string_view part, const TensorView& view) {
        if (view) out.push_back({fmt::format("blk.{}.{}", layer, part), view});
    };
    const auto floats = [](const std::vector<float>& v) {
        return v.empty() ? TensorView{} : view_of(v.data(), DType::F32, static_cast<int64_t>(v.size()), 1);
    };
    add("fc1.weight", p.fc1.view());
    add("fc1.bias", floats(p.fc1_bias));
    add("fc2.weight", p.fc2.view());
    if (!p.signs.empty()) add("gate_signs", view_of(p.signs.data(), DType::I32, set.sign_words(), set.n_ff));
    add("fc2.bias", floats(p.fc2_bias));
    return out;
}

void write_predictors(const std::string& path, const PredictorSet& set) {
    formats::GgufWriter out(path, formats::GgufMagic::gguf);
    const auto u32 = [&](std::string_view name, int n) {
        out.set(key(name), GgufValue::of_u32(static_cast<uint32_t>(n)));
    };
    out.set("general.architecture", GgufValue::of_string(std::string(kArchitecture)));
    out.set(key("version"), GgufValue::of_u32(kVersion));
    out.set(key("fingerprint"), GgufValue::of_u64(set.fingerprint));
    out.set(key("numbering"), GgufValue::of_u64(set.numbering));
    u32("n_layer", set.n_layer());
    u32("n_embd", set.n_embd);
    u32("n_ff", set.n_ff);
    for (auto& [name, value] : predictor_keys(set)) out.set(name, value);
    std::vector<NamedTensor> tensors;
    for (int i = 0; i < set.n_layer(); ++i) {
        for (NamedTensor& t : predictor_tensors(set, i)) tensors.push_back(std::move(t));
    }
    for (const NamedTensor& t : tensors) out.add_tensor(t.name, t.view.type, t.view.ne);
    out.begin_data();
    for (const NamedTensor& t : tensors) out.write(t.view.data, t.view.n_bytes());
    out.finish();
}

PredictorSet read_predictors(const std::string& path) {
    const GgufFile file = GgufFile::open(path);
    if (const std::string found = file.get_string("general.architecture", ""); found != kArchitecture)
        fail(ErrorKind::bad_file, "'{}' is not a file of predictors: its architecture is '{}', expected '{}'", path, found,
             kArchitecture);
    if (const uint64_t version = file.get_uint(key("version")); version != kVersion)
        fail(ErrorKind::unsupported, "'{}' has version {} of the predictor format, expected {}", path, version, kVersion);
    PredictorSet set;
    const int n_layer = read_size(file, "n_layer", kMaxLayers);
    set.n_embd = read_size(file, "n_embd", kMaxWidth);
    set.n_ff = read_size(file, "n_ff", kMaxWidth);
    set.fingerprint = file.get_uint(key("fingerprint"), 0);
    set.numbering = file.get_uint(key("numbering"), 0);
    set.maker = file.get_string(key("maker"), "");
    set.spec = model::read_predictor_spec(file, n_layer);
    size_t n_used = 0;
    for (int i = 0; i < n_layer; ++i) {
        LayerReader reader(file, set, i);
        set.layers.push_back(reader.read());
        n_used += reader.n_used();
    }
    if (n_used != file.tensors().size())
        fail(ErrorKind::bad_file, "'{}' holds {} tensors, of which predictors of {} layers use {}", path,
             file.tensors().size(), n_layer, n_used);
    return set;
}

std::shared_ptr<const model::Model> with_predictors(const model::Model& model, const PredictorSet& set) {
    auto changed = std::make_shared<model::Model>(model);
    changed->spec.predictor = set.spec;
    changed->spec.has_predictors = true;
    for (int i = 0; i < set.n_layer(); ++i) {
        model::LayerTensors& t = changed->tensors.layers[static_cast<size_t>(i)];
        t.fc1 = t.fc2 = t.fc1_bias = t.fc2_bias = t.gate_signs = {};
        for (const NamedTensor& n : predictor_tensors(set, i)) {
            const std::string_view part = std::string_view(n.name).substr(n.name.find('.', 4) + 1);
            TensorView& slot = part == "fc1.weight"   ? t.fc1
                               : part == "fc2.weight" ? t.fc2
                               : part == "fc1.bias"   ? t.fc1_bias
                               : part == "fc2.bias"   ? t.fc2_bias
                                                      : t.gate_signs;
            slot = n.view;
        }
    }
    return changed;
}

}  // namespace powerinfer::sparsity
