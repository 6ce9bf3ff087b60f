#include "model/arch.h"

#include <cmath>

#include "base/error.h"

namespace powerinfer::model {
namespace {

constexpr const Arch* kArchs[] = {&kArchLlama, &kArchBamboo};

float get_positive(const formats::GgufFile& file, const std::string& key, double otherwise) {
    const double value = file.get_float(key, otherwise);
    if (!(value > 0) || !std::isfinite(value))
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected a positive number", file.path(), key, value);
    return static_cast<float>(value);
}

float get_finite(const formats::GgufFile& file, const std::string& key, double otherwise) {
    const double value = file.get_float(key, otherwise);
    if (!std::isfinite(value))
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected a finite number", file.path(), key, value);
    return static_cast<float>(value);
}

}  // namespace

const Arch* find_arch(std::string_view name) {
    for (const Arch* arch : kArchs) {
        if (arch->name == name) return arch;
    }
    return nullptr;
}

std::string known_architectures() {
    std::string list;
    for (const Arch* arch : kArchs) list += (list.empty() ? "" : ", ") + std::string(arch->name);
    return list;
}

std::string arch_key(const ModelSpec& spec, std::string_view suffix) {
    return spec.architecture + "." + std::string(suffix);
}

int64_t get_count(const formats::GgufFile& file, const std::string& key, int64_t low, int64_t high) {
    const formats::GgufValue* value = file.find(key);
    int64_t n = 0;
    if (value != nullptr && value->type == formats::GgufType::array) {
        const auto list = file.find_ints(key);
        if (!list || list->empty())
            fail(ErrorKind::bad_file, "'{}': key '{}' is an empty array, expected a number", file.path(), key);
        for (const int64_t v : *list) {
            if (v != list->front())
                fail(ErrorKind::unsupported, "'{}': key '{}' differs between layers ({} and {}), expected one value",
                     file.path(), key, list->front(), v);
        }
        n = list->front();
    } else {
        const uint64_t u = file.get_uint(key);
        n = u > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(u);
    }
    if (n < low || n > high)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected {} to {}", file.path(), key, n, low, high);
    return n;
}

int64_t get_count(const formats::GgufFile& file, const std::string& key, int64_t low, int64_t high,
                  int64_t otherwise) {
    return file.has(key) ? get_count(file, key, low, high) : otherwise;
}

void fill_rope(const formats::GgufFile& file, ModelSpec& spec, RopeLayout layout) {
    Rope& rope = spec.rope;
    rope.layout = layout;
    rope.n_dims = static_cast<int>(
        get_count(file, arch_key(spec, "rope.dimension_count"), 2, spec.head_dim, spec.head_dim));
    if (rope.n_dims % 2 != 0)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected an even number", file.path(),
             arch_key(spec, "rope.dimension_count"), rope.n_dims);
    rope.freq_base = get_positive(file, arch_key(spec, "rope.freq_base"), 10000.0);

    const std::string type_key = arch_key(spec, "rope.scaling.type");
    const std::string type = file.get_string(type_key, "linear");
    const float old_factor = get_finite(file, arch_key(spec, "rope.scale_linear"), 1.0);
    rope.factor = get_finite(file, arch_key(spec, "rope.scaling.factor"), old_factor);
    if (rope.factor == 0) rope.factor = 1;  // writers put 0 for "not scaled"
    if (rope.factor < 0)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected a positive number", file.path(),
             arch_key(spec, "rope.scaling.factor"), rope.factor);
    if (type == "none" || (type == "linear" && rope.factor == 1)) {
        rope.scaling = RopeScaling::none;
        rope.factor = 1;
    } else if (type == "linear") {
        rope.scaling = RopeScaling::linear;
    } else if (type == "yarn") {
        rope.scaling = RopeScaling::yarn;
    } else {
        fail(ErrorKind::unsupported, "'{}': key '{}' is '{}': expected none, linear or yarn", file.path(), type_key, type);
    }
    rope.n_ctx_original = static_cast<int>(
        get_count(file, arch_key(spec, "rope.scaling.original_context_length"), 1, INT32_MAX, spec.n_ctx_train));
    rope.yarn_ext_factor = get_finite(file, arch_key(spec, "rope.scaling.yarn_ext_factor"), 1.0);
    rope.yarn_attn_factor = get_finite(file, arch_key(spec, "rope.scaling.attn_factor"),
                                       get_finite(file, arch_key(spec, "rope.scaling.yarn_attn_factor"), 1.0));
    rope.yarn_beta_fast = get_positive(file, arch_key(spec, "rope.scaling.yarn_beta_fast"), 32.0);
    rope.yarn_beta_slow = get_positive(file, arch_key(spec, "rope.scaling.yarn_beta_slow"), 1.0);
}

void fill_activation(const formats::GgufFile& file, ModelSpec& spec, Activation custom) {
    constexpr std::string_view key = "powerinfer.activation";
    spec.activation = custom;
    spec.activation_is_stated = file.has(key);
    if (spec.activation_is_stated)
        spec.activation = activation_from_name(file.get_string(key), "'" + file.path() + "': key '" + std::string(key) + "'");
}

}  // namespace powerinfer::model
