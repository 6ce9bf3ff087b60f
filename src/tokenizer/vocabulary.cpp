#include "tokenizer/vocabulary.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace powerinfer::tokenizer {
namespace {

using formats::GgufFile;
using formats::GgufType;
using formats::GgufValue;

// Far above any published token; keeps one damaged entry from making every search slow.
constexpr size_t kMaxTokenBytes = 65535;

struct IdKey {
    const char* key;
    std::optional<TokenId> VocabularyData::*id;
};
constexpr std::array kIdKeys = {
    IdKey{"tokenizer.ggml.bos_token_id", &VocabularyData::bos},
    IdKey{"tokenizer.ggml.eos_token_id", &VocabularyData::eos},
    IdKey{"tokenizer.ggml.eot_token_id", &VocabularyData::eot},
    IdKey{"tokenizer.ggml.eom_token_id", &VocabularyData::eom},
    IdKey{"tokenizer.ggml.unknown_token_id", &VocabularyData::unk},
    IdKey{"tokenizer.ggml.seperator_token_id", &VocabularyData::sep},  // so spelled in the format
    IdKey{"tokenizer.ggml.padding_token_id", &VocabularyData::pad},
    IdKey{"tokenizer.ggml.cls_token_id", &VocabularyData::cls},
    IdKey{"tokenizer.ggml.mask_token_id", &VocabularyData::mask},
    IdKey{"tokenizer.ggml.fim_pre_token_id", &VocabularyData::fim_prefix},
    IdKey{"tokenizer.ggml.fim_suf_token_id", &VocabularyData::fim_suffix},
    IdKey{"tokenizer.ggml.fim_mid_token_id", &VocabularyData::fim_middle},
    IdKey{"tokenizer.ggml.fim_pad_token_id", &VocabularyData::fim_pad},
    IdKey{"tokenizer.ggml.fim_rep_token_id", &VocabularyData::fim_repo},
    IdKey{"tokenizer.ggml.fim_sep_token_id", &VocabularyData::fim_separator},
};
// Names of the infill keys in older files.
constexpr std::array kOldIdKeys = {
    IdKey{"tokenizer.ggml.prefix_token_id", &VocabularyData::fim_prefix},
    IdKey{"tokenizer.ggml.suffix_token_id", &VocabularyData::fim_suffix},
    IdKey{"tokenizer.ggml.middle_token_id", &VocabularyData::fim_middle},
};

struct FlagKey {
    const char* key;
    std::optional<bool> VocabularyData::*flag;
};
constexpr std::array kFlagKeys = {
    FlagKey{"tokenizer.ggml.add_bos_token", &VocabularyData::add_bos},
    FlagKey{"tokenizer.ggml.add_eos_token", &VocabularyData::add_eos},
    FlagKey{"tokenizer.ggml.add_space_prefix", &VocabularyData::add_space_prefix},
};

/// The array under `key` if its elements have one of the wanted stored types; null if the key is missing.
const GgufValue* find_array(const GgufFile& file, const char* key, std::initializer_list<GgufType> wanted,
                            const char* wanted_text) {
    const GgufValue* value = file.find(key);
    if (value == nullptr) return nullptr;
    if (value->type == GgufType::array)
        for (const GgufType type : wanted)
            if (value->element == type) return value;
    fail(ErrorKind::bad_file, "{}: key '{}' must be an array of {}, not {}{}.", file.path(), key, wanted_text,
         value->type == GgufType::array ? "an array of " : "",
         formats::name(value->type == GgufType::array ? value->element : value->type));
}

/// Any numeric array as T; values are checked by the caller.
template <class T>
std::vector<T> widened(const GgufValue& value) {
    return std::visit(
        [](const auto& held) -> std::vector<T> {
            if constexpr (requires {
                              static_cast<T>(held[0] + 0);
                              held.begin();
                          })
                return std::vector<T>(held.begin(), held.end());
            else
                return {};
        },
        value.data);
}

std::vector<float> read_scores(const GgufFile& file) {
    const GgufValue* value =
        find_array(file, "tokenizer.ggml.scores", {GgufType::f32, GgufType::f64, GgufType::i32}, "f32");
    std::vector<float> scores;
    if (value != nullptr)
        for (const double score : widened<double>(*value)) scores.push_back(static_cast<float>(score));
    return scores;
}

std::vector<TokenKind> read_kinds(const GgufFile& file) {
    constexpr const char* kKey = "tokenizer.ggml.token_type";
    const GgufValue* value = find_array(file, kKey, {GgufType::i32, GgufType::u32}, "i32");
    std::vector<TokenKind> kinds;
    if (value == nullptr) return kinds;
    for (const int64_t kind : widened<int64_t>(*value)) {
        if (kind < 0 || kind > 6)
            fail(ErrorKind::bad_file, "{}: key '{}' has the value {} at index {}; known types are 1 to 6.",
                 file.path(), kKey, kind, kinds.size());
        kinds.push_back(kind == 0 ? TokenKind::normal : static_cast<TokenKind>(kind));
    }
    return kinds;
}

/// Files of the first generation carry no types: the texts tell.
std::vector<TokenKind> guess_kinds(const VocabularyData& data) {
    std::vector<TokenKind> kinds(data.tokens.size(), TokenKind::normal);
    if (data.model != "llama") return kinds;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const std::string& text = data.tokens[i];
        if (parse_byte_token(text) >= 0) kinds[i] = TokenKind::byte;
        if (text == "<unk>") kinds[i] = TokenKind::unknown;
        if (text == "<s>" || text == "</s>") kinds[i] = TokenKind::control;
    }
    return kinds;
}

std::optional<TokenId> read_id(const GgufFile& file, const char* key, size_t n_vocab) {
    if (!file.has(key)) return std::nullopt;
    const uint64_t id = file.get_uint(key);
    // Some writers put "none" as the largest u32.
    if (id == std::numeric_limits<uint32_t>::max()) return std::nullopt;
    if (id >= n_vocab)
        fail(ErrorKind::bad_file, "{}: key '{}' is {}, but the vocabulary ends at id {}.", file.path(), key,
             id, n_vocab - 1);
    return static_cast<TokenId>(id);
}

}  // namespace

int parse_byte_token(const std::string& text) {
    if (text.size() != 6 || text.compare(0, 3, "<0x") != 0 || text[5] != '>') return -1;
    int value = 0;
    for (const char c : {text[3], text[4]}) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

VocabularyData read_vocabulary(const GgufFile& file, const LogSink& log_sink) {
    VocabularyData data;
    data.model = file.get_string("tokenizer.ggml.model");
    data.pre = file.get_string("tokenizer.ggml.pre", "");
    data.model_name = file.get_string("general.name", "");
    data.chat_template = file.get_string("tokenizer.chat_template", "");

    const auto* tokens = file.find_strings("tokenizer.ggml.tokens");
    if (tokens == nullptr)
        fail(ErrorKind::bad_file, "{}: key 'tokenizer.ggml.tokens' is missing.", file.path());
    data.tokens = *tokens;
    data.scores = read_scores(file);
    if (file.has("tokenizer.ggml.token_type")) {
        data.kinds = read_kinds(file);
    } else {
        data.kinds = guess_kinds(data);
        log(log_sink, LogLevel::info,
            "{}: no key 'tokenizer.ggml.token_type'; byte and control tokens are told by "
            "their texts.",
            file.path());
    }
    if (const auto* merges = file.find_strings("tokenizer.ggml.merges")) data.merges = *merges;

    for (const auto& [key, id] : kOldIdKeys) data.*id = read_id(file, key, data.tokens.size());
    for (const auto& [key, id] : kIdKeys)
        if (file.has(key)) data.*id = read_id(file, key, data.tokens.size());
    for (const auto& [key, flag] : kFlagKeys)
        if (file.has(key)) data.*flag = file.get_bool(key, false);
    if (const GgufValue* value =
            find_array(file, "tokenizer.ggml.suppress_tokens", {GgufType::i32, GgufType::u32}, "i32")) {
        for (const int64_t id : widened<int64_t>(*value)) {
            if (id < 0 || id >= static_cast<int64_t>(data.tokens.size()))
                fail(ErrorKind::bad_file,
                     "{}: key 'tokenizer.ggml.suppress_tokens' names the id {}, but the "
                     "vocabulary has {} tokens.",
                     file.path(), id, data.tokens.size());
            data.suppressed.push_back(static_cast<TokenId>(id));
        }
    }
    check_vocabulary(data, file.path());
    return data;
}

void check_vocabulary(const VocabularyData& data, const std::string& source) {
    const size_t n = data.tokens.size();
    if (n == 0)
        fail(ErrorKind::bad_file,
             "{}: key 'tokenizer.ggml.tokens' is empty; a vocabulary has at least one "
             "token.",
             source);
    if (n > static_cast<size_t>(std::numeric_limits<TokenId>::max()))
        fail(ErrorKind::bad_file, "{}: key 'tokenizer.ggml.tokens' has {} entries, more than ids can count.",
             source, n);
    const auto same_length = [&](const char* key, size_t length) {
        if (length != n)
            fail(ErrorKind::bad_file,
                 "{}: key '{}' has {} entries, but 'tokenizer.ggml.tokens' has {}; both must be "
                 "equal.",
                 source, key, length, n);
    };
    same_length("tokenizer.ggml.token_type", data.kinds.size());
    if (data.model == "llama" || !data.scores.empty())
        same_length("tokenizer.ggml.scores", data.scores.size());

    for (size_t i = 0; i < data.scores.size(); ++i)
        if (std::isnan(data.scores[i]))
            fail(ErrorKind::bad_file, "{}: key 'tokenizer.ggml.scores' is not a number at index {}.", source,
                 i);
    for (size_t i = 0; i < n; ++i) {
        if (data.tokens[i].size() > kMaxTokenBytes)
            fail(ErrorKind::bad_file,
                 "{}: token {} of 'tokenizer.ggml.tokens' is {} bytes long; at most {} make sense.", source,
                 i, data.tokens[i].size(), kMaxTokenBytes);
        if (data.kinds[i] == TokenKind::byte && parse_byte_token(data.tokens[i]) < 0)
            fail(ErrorKind::bad_file,
                 "{}: token {} is a byte token in 'tokenizer.ggml.token_type', but its text '{}' in "
                 "'tokenizer.ggml.tokens' is not of the form <0xHH>.",
                 source, i, data.tokens[i]);
    }
    for (const auto& [key, id] : kIdKeys) {
        const std::optional<TokenId>& value = data.*id;
        if (value && (*value < 0 || static_cast<size_t>(*value) >= n))
            fail(ErrorKind::bad_file, "{}: key '{}' is {}, but the vocabulary ends at id {}.", source, key,
                 *value, n - 1);
    }
}

void write_vocabulary(formats::GgufWriter& writer, const VocabularyData& data) {
    writer.set("tokenizer.ggml.model", GgufValue::of_string(data.model));
    if (!data.pre.empty()) writer.set("tokenizer.ggml.pre", GgufValue::of_string(data.pre));
    writer.set("tokenizer.ggml.tokens", GgufValue::of_strings(data.tokens));
    if (!data.scores.empty())
        writer.set("tokenizer.ggml.scores", GgufValue::of_f32s({data.scores.begin(), data.scores.end()}));
    std::vector<int64_t> kinds;
    for (const TokenKind kind : data.kinds) kinds.push_back(static_cast<int64_t>(kind));
    writer.set("tokenizer.ggml.token_type", GgufValue::of_i32s(std::move(kinds)));
    if (!data.merges.empty()) writer.set("tokenizer.ggml.merges", GgufValue::of_strings(data.merges));
    for (const auto& [key, id] : kIdKeys)
        if (data.*id) writer.set(key, GgufValue::of_u32(static_cast<uint32_t>(*(data.*id))));
    for (const auto& [key, flag] : kFlagKeys)
        if (data.*flag) writer.set(key, GgufValue::of_bool(*(data.*flag)));
    if (!data.suppressed.empty())
        writer.set("tokenizer.ggml.suppress_tokens",
                   GgufValue::of_i32s({data.suppressed.begin(), data.suppressed.end()}));
    if (!data.chat_template.empty())
        writer.set("tokenizer.chat_template", GgufValue::of_string(data.chat_template));
}

void pad_vocabulary(VocabularyData& data, size_t size) {
    for (size_t i = data.tokens.size(); i < size; ++i) {
        data.tokens.push_back("[PAD" + std::to_string(i) + "]");
        data.kinds.push_back(TokenKind::unused);
        if (!data.scores.empty()) data.scores.push_back(std::numeric_limits<float>::lowest());
    }
}

}  // namespace powerinfer::tokenizer
