#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "model/arch.h"

namespace powerinfer::model {
namespace {

using formats::GgufFile;
using formats::GgufTensor;

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 24;

/// Tensors that some writers add and whose content follows from the metadata.
bool is_redundant(std::string_view name) {
    return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn_rot_embd.weight");
}

int n_vocab_of(const GgufFile& file, const ModelSpec& spec) {
    if (const auto* tokens = file.find_strings("tokenizer.ggml.tokens"); tokens != nullptr && !tokens->empty())
        return static_cast<int>(tokens->size());
    if (const std::string key = arch_key(spec, "vocab_size"); file.has(key))
        return static_cast<int>(get_count(file, key, 1, kMaxWidth));
    const GgufTensor* embd = file.find_tensor("token_embd.weight");
    if (embd == nullptr)
        fail(ErrorKind::bad_file, "'{}': tensor 'token_embd.weight' is missing", file.path());
    return static_cast<int>(std::min(embd->view.ne[1], kMaxWidth));
}

ModelSpec read_spec(const GgufFile& file, const Arch& arch) {
    ModelSpec spec;
    spec.architecture = arch.name;
    spec.name = file.get_string("general.name", "");
    const auto count = [&](std::string_view suffix, int64_t high) {
        return static_cast<int>(get_count(file, arch_key(spec, suffix), 1, high));
    };
    spec.n_embd = count("embedding_length", kMaxWidth);
    spec.n_layer = count("block_count", kMaxLayers);
    spec.n_ff = count("feed_forward_length", kMaxWidth);
    spec.n_ctx_train = count("context_length", INT32_MAX);
    spec.n_head = count("attention.head_count", 65536);
    spec.n_head_kv =
        static_cast<int>(get_count(file, arch_key(spec, "attention.head_count_kv"), 1, spec.n_head, spec.n_head));
    if (spec.n_head % spec.n_head_kv != 0)
        fail(ErrorKind::bad_file, "'{}': {} query heads cannot share {} key/value heads, expected a divisor of {}",
             file.path(), spec.n_head, spec.n_head_kv, spec.n_head);
    const std::string key_length = arch_key(spec, "attention.key_length");
    const std::string value_length = arch_key(spec, "attention.value_length");
    if (!file.has(key_length) && spec.n_embd % spec.n_head != 0)
        fail(ErrorKind::bad_file, "'{}': width {} is not divisible by {} heads, and key '{}' is missing", file.path(),
             spec.n_embd, spec.n_head, key_length);
    spec.head_dim = static_cast<int>(get_count(file, key_length, 1, 4096, spec.n_embd / spec.n_head));
    const int64_t value_dim = get_count(file, value_length, 1, 4096, spec.head_dim);
    if (value_dim != spec.head_dim)
        fail(ErrorKind::unsupported, "'{}': keys have {} and values {} elements per head, expected the same number",
             file.path(), spec.head_dim, value_dim);
    spec.n_vocab = n_vocab_of(file, spec);
    arch.fill(file, spec);
    if (!(spec.norm_eps >= 0) || !(spec.norm_eps < 1))
        fail(ErrorKind::bad_file, "'{}': the norm epsilon is {}, expected a small positive number", file.path(),
             spec.norm_eps);
    spec.predictor = read_predictor_spec(file, spec.n_layer);
    return spec;
}

/// Binds tensors to slots and remembers which were used.
class Binder {
  public:
    Binder(const GgufFile& file, const ModelSpec& spec) : file_(file), spec_(spec) {}

    /// False when the tensor is not in the file.
    bool bind(const std::string& name, TensorView& slot, Dim ne0, Dim ne1, int64_t rank) {
        const GgufTensor* tensor = file_.find_tensor(name);
        if (tensor == nullptr) return false;
        const TensorView& view = tensor->view;
        const std::array<int64_t, 4> expected = {size(ne0, rank, view.ne[0]), size(ne1, rank, view.ne[1]), 1, 1};
        if (view.ne != expected)
            fail(ErrorKind::bad_file, "'{}': tensor '{}' has shape {}, expected {}", file_.path(), name,
                 shape_text(view.ne), shape_text(expected));
        const DType only = ne0 == Dim::sign_words ? DType::I32 : DType::F32;
        if ((ne1 == Dim::one || only == DType::I32) && view.type != only)
            fail(ErrorKind::unsupported, "'{}': tensor '{}' has type {}, expected {}", file_.path(), name,
                 info(view.type).name, info(only).name);
        slot = view;
        used_.insert(name);
        return true;
    }

    void require(bool bound, const std::string& name) const {
        if (!bound) fail(ErrorKind::bad_file, "'{}': tensor '{}' is missing", file_.path(), name);
    }

    void use(const std::string& name) { used_.insert(name); }

    void refuse_leftovers() const {
        for (const GgufTensor& t : file_.tensors()) {
            if (!used_.contains(t.name) && !is_redundant(t.name))
                fail(ErrorKind::unsupported, "'{}': tensor '{}' is not part of architecture '{}' with {} layers",
                     file_.path(), t.name, spec_.architecture, spec_.n_layer);
        }
    }

  private:
    int64_t size(Dim dim, int64_t rank, int64_t found) const {
        switch (dim) {
            case Dim::one: return 1;
            case Dim::n_embd: return spec_.n_embd;
            case Dim::n_embd_q: return spec_.n_embd_q();
            case Dim::n_embd_kv: return spec_.n_embd_kv();
            case Dim::n_ff: return spec_.n_ff;
            case Dim::n_vocab: return spec_.n_vocab;
            case Dim::rank: return rank > 0 ? rank : found;
            case Dim::sign_words: return (spec_.n_embd + 31) / 32;
        }
        return found;
    }
    const GgufFile& file_;
    const ModelSpec& spec_;
    std::set<std::string, std::less<>> used_;
};

void bind_layer(Binder& binder, const GgufFile& file, const Arch& arch, int layer, LayerTensors& tensors) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    for (const LayerRule& rule : arch.layer_rules) {
        const std::string full = prefix + std::string(rule.name);
        TensorView& slot = tensors.*rule.slot;
        // fc1 comes before fc2 in the table, so its second dimension fixes the rank of the layer.
        const int64_t rank = tensors.fc1 ? tensors.fc1.ne[1] : 0;
        const bool bound = binder.bind(full, slot, rule.ne0, rule.ne1, rank);
        if (rule.presence == Presence::required) binder.require(bound, full);
    }
    if (!tensors.ffn_down && !tensors.ffn_down_t)
        fail(ErrorKind::bad_file, "'{}': tensor '{}ffn_down.weight' (or '{}ffn_down_t.weight') is missing", file.path(),
             prefix, prefix);
    if (tensors.ffn_down && tensors.ffn_down_t)
        fail(ErrorKind::bad_file, "'{}': layer {} has both 'ffn_down' and 'ffn_down_t', expected one of them",
             file.path(), layer);
}

/// Whether the layer has a predictor of the file's kind, whole.
bool has_predictor(const GgufFile& file, const ModelSpec& spec, int layer, const LayerTensors& tensors) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    const bool must = file.magic() == formats::GgufMagic::pwri;
    const auto missing = [&](std::string_view name) {
        fail(ErrorKind::bad_file, "'{}': predictor tensor '{}{}' is missing", file.path(), prefix, name);
    };
    if (spec.predictor.kind == PredictorKind::sign) {
        if (tensors.fc1 || tensors.fc2 || tensors.fc1_bias)
            fail(ErrorKind::bad_file, "'{}': layer {} has a predictor of two matrices, but its kind is said to be sign",
                 file.path(), layer);
        if (!tensors.gate_signs && (must || tensors.fc2_bias)) missing("gate_signs");
        return static_cast<bool>(tensors.gate_signs);
    }
    if (tensors.gate_signs)
        fail(ErrorKind::bad_file, "'{}': tensor '{}gate_signs' belongs to predictors of kind sign, but theirs is mlp",
             file.path(), prefix);
    const bool any = must || tensors.fc1 || tensors.fc2 || tensors.fc1_bias || tensors.fc2_bias;
    if (any && !tensors.fc1) missing("fc1.weight");
    if (any && !tensors.fc2) missing("fc2.weight");
    return any;
}

void read_rope_factors(Binder& binder, const GgufFile& file, ModelSpec& spec) {
    const std::string name = "rope_freqs.weight";
    const GgufTensor* tensor = file.find_tensor(name);
    if (tensor == nullptr) return;
    const int64_t expected = spec.rope.n_dims / 2;
    if (tensor->view.type != DType::F32 || tensor->view.n_elements() != expected)
        fail(ErrorKind::bad_file, "'{}': tensor '{}' is {} {}, expected F32 {{{}}}", file.path(), name,
             info(tensor->view.type).name, shape_text(tensor->view.ne), expected);
    const auto* values = static_cast<const float*>(tensor->view.data);
    spec.rope.freq_factors.assign(values, values + expected);
    for (const float v : spec.rope.freq_factors) {
        if (!(v > 0) || !std::isfinite(v))
            fail(ErrorKind::bad_file, "'{}': tensor '{}' contains {}, expected positive divisors", file.path(), name, v);
    }
    binder.use(name);
}

}  // namespace

Model load(std::shared_ptr<const GgufFile> file, const LoadOptions& options, const LogSink& log) {
    const std::string architecture = file->get_string("general.architecture");
    const Arch* arch = find_arch(architecture);
    if (arch == nullptr)
        fail(ErrorKind::unsupported, "'{}': unknown model architecture: '{}', expected one of: {}", file->path(),
             architecture, known_architectures());
    Model model;
    model.spec = read_spec(*file, *arch);
    ModelSpec& spec = model.spec;

    Binder binder(*file, spec);
    for (const ModelRule& rule : arch->model_rules) {
        const std::string full(rule.name);
        const bool bound = binder.bind(full, model.tensors.*rule.slot, rule.ne0, rule.ne1, 0);
        if (rule.presence == Presence::required) binder.require(bound, full);
    }
    spec.tied_output = !model.tensors.output;
    if (spec.tied_output) model.tensors.output = model.tensors.token_embd;
    model.tensors.layers.resize(static_cast<size_t>(spec.n_layer));
    for (int i = 0; i < spec.n_layer; ++i)
        bind_layer(binder, *file, *arch, i, model.tensors.layers[static_cast<size_t>(i)]);
    for (int i = 0; i < spec.n_layer; ++i) {
        const bool has = has_predictor(*file, spec, i, model.tensors.layers[static_cast<size_t>(i)]);
        if (i == 0) spec.has_predictors = has;
        if (has != spec.has_predictors)
            fail(ErrorKind::bad_file, "'{}': layer {} {} a predictor, unlike layer 0", file->path(), i,
                 spec.has_predictors ? "lacks" : "has");
    }
    read_rope_factors(binder, *file, spec);
    binder.refuse_leftovers();

    if (options.activation) {
        spec.activation = *options.activation;
        spec.activation_is_stated = true;
    }
    if (options.threshold) {
        spec.predictor.threshold = *options.threshold;
        spec.predictor.thresholds.clear();
    }
    if (!spec.activation_is_stated)
        powerinfer::log(log, LogLevel::info, "'{}' does not state its FFN activation; taking {} as is usual for '{}'",
                        file->path(), name(spec.activation), spec.architecture);
    model.file = std::move(file);
    return model;
}

}  // namespace powerinfer::model
