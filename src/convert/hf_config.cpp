#include "convert/hf_config.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"

namespace powerinfer::convert {

using nlohmann::json;

struct HfConfig::Tree {
    json root;

    /// The value under the first of the names that is given, with that name; null otherwise.
    std::pair<std::string_view, const json*> find(Names names) const {
        for (const std::string_view key : names) {
            const auto it = root.find(std::string(key));
            if (it != root.end() && !it->is_null()) return {key, &*it};
        }
        return {{}, nullptr};
    }
};

namespace {

[[noreturn]] void wrong_kind(const std::string& path, std::string_view key, const json& value,
                             std::string_view wanted) {
    fail(ErrorKind::bad_file, "key '{}' of '{}' is {}; {} would be right", key, path,
         value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 60), wanted);
}

std::string joined(HfConfig::Names names) {
    return fmt::format("'{}'", fmt::join(names, "' or '"));
}

}  // namespace

HfConfig HfConfig::read(const std::string& folder) {
    if (!std::filesystem::is_directory(folder))
        fail(ErrorKind::io, "'{}' is not a folder; give the folder of a Hugging Face checkpoint", folder);
    const std::string path = (std::filesystem::path(folder) / "config.json").string();
    if (!std::filesystem::exists(path))
        fail(ErrorKind::io, "'{}' has no config.json; give the folder of a Hugging Face checkpoint", folder);
    const MappedFile file(path);
    return parse({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

HfConfig HfConfig::parse(std::string_view text, const std::string& path) {
    auto tree = std::make_shared<Tree>();
    try {
        tree->root = json::parse(text);
    } catch (const json::exception&) {
        fail(ErrorKind::bad_file, "'{}' is not valid JSON", path);
    }
    if (!tree->root.is_object()) fail(ErrorKind::bad_file, "'{}' is not a JSON object", path);
    HfConfig config;
    config.tree_ = std::move(tree);
    config.path_ = path;
    return config;
}

bool HfConfig::has(std::string_view key) const {
    return tree_->find({key}).second != nullptr;
}

std::optional<int64_t> HfConfig::find_integer(Names names) const {
    const auto [key, value] = tree_->find(names);
    if (!value) return std::nullopt;
    constexpr double kEnd = 2147483648.0;
    const double number = value->is_number() ? value->get<double>() : -1.0;
    if (!(number >= 0 && number < kEnd) || number != std::floor(number))
        wrong_kind(path_, key, *value, "a whole number from 0 to 2147483647");
    return static_cast<int64_t>(number);
}

std::optional<double> HfConfig::find_number(Names names) const {
    const auto [key, value] = tree_->find(names);
    if (!value) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>()))
        wrong_kind(path_, key, *value, "a number");
    return value->get<double>();
}

std::optional<bool> HfConfig::find_bool(Names names) const {
    const auto [key, value] = tree_->find(names);
    if (!value) return std::nullopt;
    if (!value->is_boolean()) wrong_kind(path_, key, *value, "true or false");
    return value->get<bool>();
}

std::optional<std::string> HfConfig::find_string(Names names) const {
    const auto [key, value] = tree_->find(names);
    if (!value) return std::nullopt;
    if (!value->is_string()) wrong_kind(path_, key, *value, "a text");
    return value->get<std::string>();
}

std::vector<std::string> HfConfig::strings(std::string_view key) const {
    const json* value = tree_->find({key}).second;
    if (!value) return {};
    std::vector<std::string> texts;
    if (!value->is_array()) wrong_kind(path_, key, *value, "a list of texts");
    for (const json& item : *value) {
        if (!item.is_string()) wrong_kind(path_, key, *value, "a list of texts");
        texts.push_back(item.get<std::string>());
    }
    return texts;
}

std::optional<HfConfig> HfConfig::find_object(Names names) const {
    const auto [key, value] = tree_->find(names);
    if (!value) return std::nullopt;
    if (!value->is_object()) wrong_kind(path_, key, *value, "an object");
    HfConfig config;
    config.tree_ = std::make_shared<Tree>(Tree{*value});
    config.path_ = path_ + ":" + std::string(key);
    return config;
}

int64_t HfConfig::count(Names names) const {
    const auto value = find_integer(names);
    if (!value) fail(ErrorKind::bad_file, "key {} is missing from '{}'", joined(names), path_);
    if (*value < 1)
        fail(ErrorKind::bad_file, "key {} of '{}' is 0; at least 1 would be right", joined(names), path_);
    return *value;
}

double HfConfig::number(Names names) const {
    const auto value = find_number(names);
    if (!value) fail(ErrorKind::bad_file, "key {} is missing from '{}'", joined(names), path_);
    return *value;
}

HfRope read_rope(const HfConfig& config) {
    HfRope rope;
    const auto theta = config.find_number({"rope_theta"});
    if (theta) {
        rope.theta = *theta;
        rope.theta_is_given = true;
    }
    const auto given = config.find_object({"rope_parameters", "rope_scaling"});
    if (given) {
        rope.type = given->find_string({"rope_type", "type"}).value_or("default");
        if (const auto inner = given->find_number({"rope_theta"})) {
            rope.theta = *inner;
            rope.theta_is_given = true;
        }
        rope.n_ctx_original = given->find_integer({"original_max_position_embeddings"});
        rope.attention_factor = given->find_number({"attention_factor"});
        rope.mscale = given->find_number({"mscale"});
        rope.mscale_all_dim = given->find_number({"mscale_all_dim"});
        rope.beta_fast = given->find_number({"beta_fast"});
        rope.beta_slow = given->find_number({"beta_slow"});
        rope.truncate = given->find_bool({"truncate"}).value_or(true);
        const auto factor = given->find_number({"factor"});
        if (rope.type != "default" && rope.type != "none" && !factor)
            fail(ErrorKind::bad_file, "key 'factor' is missing from '{}'", given->path());
        rope.factor = factor.value_or(1.0);
        if (rope.type == "llama3") {
            rope.low_freq_factor = given->number({"low_freq_factor"});
            rope.high_freq_factor = given->number({"high_freq_factor"});
            if (!rope.n_ctx_original)
                fail(ErrorKind::bad_file, "key 'original_max_position_embeddings' is missing from '{}'",
                     given->path());
        }
    }
    if (!(rope.theta > 0) || !(rope.factor > 0))
        fail(ErrorKind::bad_file, "'{}' has a RoPE base of {} and a factor of {}; both must be positive",
             config.path(), rope.theta, rope.factor);
    return rope;
}

}  // namespace powerinfer::convert
