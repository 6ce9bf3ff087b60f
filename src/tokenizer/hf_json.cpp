// Everything of the published formats that is JSON, and the only place in this room that knows the JSON
// library.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tokenizer/hf_parts.h"
#include "tokenizer/hf_pretokenizer.h"
#include "tokenizer/hf_tokenizer.h"
#include "tokenizer/pretokenizers.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

using Json = nlohmann::json;

constexpr int kMaxNesting = 8;

/// How far ids may lie beyond the number of entries: published files have gaps of a few thousand.
size_t id_limit(size_t n_entries) {
    return 2 * n_entries + 65536;
}

Json parse_json_object(std::string_view text, const std::string& label) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::exception& error) {
        fail(ErrorKind::bad_file, "{}: not valid JSON: {}.", label, error.what());
    }
    if (!json.is_object())
        fail(ErrorKind::bad_file, "{}: a JSON object is expected, not {}.", label, json.type_name());
    return json;
}

const Json* member(const Json& object, const char* name) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool bool_member(const Json& object, const char* name, bool otherwise, const std::string& label) {
    const Json* value = member(object, name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean())
        fail(ErrorKind::bad_file, "{}: '{}' must be true or false, not {}.", label, name, value->type_name());
    return value->get<bool>();
}

std::string string_member(const Json& object, const char* name, const std::string& otherwise,
                          const std::string& label) {
    const Json* value = member(object, name);
    if (value == nullptr) return otherwise;
    if (!value->is_string())
        fail(ErrorKind::bad_file, "{}: '{}' must be a text, not {}.", label, name, value->type_name());
    return value->get<std::string>();
}

TokenId id_of(const Json& value, size_t limit, const std::string& what, const std::string& label) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= limit)
        fail(ErrorKind::bad_file, "{}: the id of {} is {}; a whole number below {} would be right.", label,
             what, value.is_number() ? value.dump() : value.type_name(), limit);
    return static_cast<TokenId>(value.get<uint64_t>());
}

void add_tokens_of(VocabularyData& data, const Json& tokenizer_json, const std::string& label) {
    const Json* added = member(tokenizer_json, "added_tokens");
    if (added == nullptr) return;
    if (!added->is_array()) fail(ErrorKind::bad_file, "{}: 'added_tokens' must be an array.", label);
    const size_t limit = id_limit(data.tokens.size() + added->size());
    for (const Json& entry : *added) {
        const std::string text = string_member(entry, "content", "", label);
        const Json* id = member(entry, "id");
        if (id == nullptr || text.empty())
            fail(ErrorKind::bad_file, "{}: an entry of 'added_tokens' lacks 'id' or 'content'.", label);
        set_added_token(data, id_of(*id, limit, "added token '" + text + "'", label), text,
                        bool_member(entry, "special", false, label));
    }
}

void read_vocab(const Json& vocab, const std::string& label, VocabularyData& data) {
    if (!vocab.is_object() || vocab.empty())
        fail(ErrorKind::bad_file, "{}: 'vocab' must be an object of texts and ids that is not empty.", label);
    const size_t limit = id_limit(vocab.size());
    for (const auto& [text, value] : vocab.items()) {
        const auto id = static_cast<size_t>(id_of(value, limit, "token '" + text + "'", label));
        pad_vocabulary(data, id + 1);
        if (data.kinds[id] != TokenKind::unused)
            fail(ErrorKind::bad_file, "{}: tokens '{}' and '{}' share the id {}.", label, data.tokens[id],
                 text, id);
        data.tokens[id] = text;
        data.kinds[id] = TokenKind::normal;
    }
}

Merges read_merges(const Json* merges, const std::string& label) {
    Merges result;
    if (merges == nullptr || !merges->is_array())
        fail(ErrorKind::bad_file, "{}: 'merges' must be an array.", label);
    for (const Json& entry : *merges) {
        if (entry.is_string()) {
            const auto text = entry.get<std::string>();
            const size_t space = text.find(' ', 1);
            if (space == std::string::npos)
                fail(ErrorKind::bad_file, "{}: merge {} ('{}') is not two texts with a space between them.",
                     label, result.size(), text);
            result.emplace_back(text.substr(0, space), text.substr(space + 1));
        } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
            result.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
        } else {
            fail(ErrorKind::bad_file, "{}: merge {} is neither a text nor a pair of texts.", label,
                 result.size());
        }
    }
    return result;
}

std::string type_of(const Json& object, const std::string& label) {
    return string_member(object, "type", "", label);
}

/// The parts of a normalizer or pre-tokenizer in order, sequences unrolled.
void flatten(const Json* object, const char* members, const std::string& label, int depth,
             std::vector<const Json*>& parts) {
    if (object == nullptr) return;
    if (!object->is_object() || depth > kMaxNesting)
        fail(ErrorKind::bad_file, "{}: '{}' must be objects, nested at most {} deep.", label, members,
             kMaxNesting);
    if (type_of(*object, label) != "Sequence") {
        parts.push_back(object);
        return;
    }
    const Json* sequence = member(*object, members);
    if (sequence == nullptr || !sequence->is_array())
        fail(ErrorKind::bad_file, "{}: a Sequence must have the array '{}'.", label, members);
    for (const Json& part : *sequence) flatten(&part, members, label, depth + 1, parts);
}

/// One stage of cutting, as an expression; an empty text for one that only maps bytes.
std::string stage_of(const Json& part, const std::string& label) {
    const std::string type = type_of(part, label);
    if (type == "ByteLevel") {
        if (bool_member(part, "add_prefix_space", false, label))
            fail(ErrorKind::unsupported,
                 "{}: the ByteLevel pre-tokenizer adds a space in front of every text "
                 "(add_prefix_space), which GGUF files cannot say.",
                 label);
        return bool_member(part, "use_regex", true, label) ? std::string(kGpt2Pattern) : "";
    }
    if (type == "Digits")
        return bool_member(part, "individual_digits", false, label) ? R"(\p{N})" : R"(\p{N}+)";
    const std::string behavior = string_member(part, "behavior", "", label);
    if (type == "Punctuation" && behavior == "Contiguous") return std::string(kPunctuationPattern);
    const Json* pattern = member(part, "pattern");
    if (type == "Split" && pattern != nullptr) {
        const bool invert = bool_member(part, "invert", false, label);
        const std::string regex = string_member(*pattern, "Regex", "", label);
        // Removing all that lies between matches is isolating matches, where they cover the text, as ours do.
        if (!regex.empty() && ((behavior == "Isolated" && !invert) || (behavior == "Removed" && invert)))
            return regex;
    }
    fail(ErrorKind::unsupported, "{}: a part of 'pre_tokenizer' is not supported: {}.", label,
         part.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 300));
}

bool is_space_to_mark(const Json& part, const std::string& label) {
    const Json* pattern = member(part, "pattern");
    return type_of(part, label) == "Replace" && pattern != nullptr &&
           string_member(*pattern, "String", "", label) == " " &&
           string_member(part, "content", "", label) == kSpaceMark;
}

/// Finds out whether spaces become marks (a SentencePiece vocabulary), and whether one is put in front.
struct Marks {
    bool used = false, prefix = false;
};
Marks find_marks(const std::vector<const Json*>& normalizers, const std::vector<const Json*>& pre_tokenizers,
                 const std::string& label) {
    Marks marks;
    for (const Json* part : normalizers) {
        if (is_space_to_mark(*part, label)) marks.used = true;
        if (type_of(*part, label) == "Prepend" && string_member(*part, "prepend", "", label) == kSpaceMark)
            marks.prefix = true;
    }
    for (const Json* part : pre_tokenizers) {
        if (type_of(*part, label) != "Metaspace") continue;
        marks.used = true;
        const bool add_prefix = bool_member(*part, "add_prefix_space", true, label);
        marks.prefix =
            string_member(*part, "prepend_scheme", add_prefix ? "always" : "never", label) != "never";
    }
    return marks;
}

void refuse_other_normalizers(const std::vector<const Json*>& normalizers, bool marks,
                              const std::string& label) {
    for (const Json* part : normalizers) {
        const std::string type = type_of(*part, label);
        // Composed characters are what nearly all text consists of; GGUF files do not record the step.
        if (type == "NFC") continue;
        if (marks && (is_space_to_mark(*part, label) || type == "Prepend")) continue;
        fail(ErrorKind::unsupported, "{}: the normalizer '{}' changes text in a way that is not supported.",
             label, type);
    }
}

void become_byte_level(const Merges& merges, const std::vector<const Json*>& pre_tokenizers,
                       bool ignore_merges, const std::string& label, VocabularyData& data) {
    data.model = "gpt2";
    std::vector<std::string> stages;
    bool maps_bytes = false;
    for (const Json* part : pre_tokenizers) {
        std::string stage = stage_of(*part, label);
        maps_bytes = maps_bytes || type_of(*part, label) == "ByteLevel";
        if (!stage.empty()) stages.push_back(std::move(stage));
    }
    if (!maps_bytes)
        fail(ErrorKind::unsupported,
             "{}: neither a byte-level vocabulary (no ByteLevel pre-tokenizer) nor one with U+2581 "
             "for spaces.",
             label);
    data.pre = recognise_pre_tokenizer(stages, ignore_merges);
    if (data.pre.empty()) {
        std::string list;
        for (const std::string& stage : stages) list += (list.empty() ? "" : "  then  ") + stage;
        fail(ErrorKind::unsupported,
             "{}: no named pre-tokenizer cuts text like this one (ignore_merges {}): {}.", label,
             ignore_merges, list.substr(0, 1000));
    }
    for (const auto& [left, right] : merges) {
        if (left.empty() || left.find(' ') != std::string::npos || right.find(' ') != std::string::npos)
            fail(ErrorKind::bad_file,
                 "{}: the merge of '{}' and '{}' has a space or nothing in it, which a byte-level "
                 "vocabulary does not.",
                 label, left, right);
        data.merges.push_back(left + " " + right);
    }
}

/// What a post-processor puts around a text: sets add_bos, add_eos and, where nothing else names them, their
/// ids.
void read_post_processor(const Json* object, const std::string& label, int depth, VocabularyData& data) {
    if (object == nullptr || depth > kMaxNesting) return;
    const std::string type = type_of(*object, label);
    if (const Json* parts = member(*object, "processors");
        type == "Sequence" && parts != nullptr && parts->is_array())
        for (const Json& part : *parts) read_post_processor(&part, label, depth + 1, data);
    const Json* single = member(*object, "single");
    if (type != "TemplateProcessing" || single == nullptr || !single->is_array() || single->empty()) return;
    const auto id_at = [&](const Json& entry) -> std::optional<TokenId> {
        const Json* special = member(entry, "SpecialToken");
        if (special == nullptr) return std::nullopt;
        const auto found = std::ranges::find(data.tokens, string_member(*special, "id", "", label));
        if (found == data.tokens.end()) return std::nullopt;
        return static_cast<TokenId>(found - data.tokens.begin());
    };
    const std::optional<TokenId> first = id_at(single->front()), last = id_at(single->back());
    data.add_bos = first.has_value();
    data.add_eos = last.has_value();
    if (first) data.bos = first;
    if (last) data.eos = last;
}

/// `added_tokens_decoder` of tokenizer_config.json: {"id": {content, special}}.
void read_added_tokens_decoder(const Json& config, const std::string& label, VocabularyData& data) {
    const Json* decoder = member(config, "added_tokens_decoder");
    if (decoder == nullptr) return;
    if (!decoder->is_object())
        fail(ErrorKind::bad_file, "{}: 'added_tokens_decoder' must be an object.", label);
    const size_t limit = id_limit(data.tokens.size() + decoder->size());
    for (const auto& [key, entry] : decoder->items()) {
        uint64_t number = limit;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
        const bool whole = error == std::errc() && end == key.data() + key.size();
        const TokenId id = id_of(whole ? Json(number) : Json(key), limit, "an added token", label);
        const std::string text = string_member(entry, "content", "", label);
        if (text.empty()) fail(ErrorKind::bad_file, "{}: the added token {} has no 'content'.", label, key);
        set_added_token(data, id, text, bool_member(entry, "special", false, label));
    }
}

struct Role {
    const char* name;
    std::optional<TokenId> VocabularyData::*id;
};
constexpr Role kRoles[] = {{"bos", &VocabularyData::bos},  {"eos", &VocabularyData::eos},
                           {"unk", &VocabularyData::unk},  {"sep", &VocabularyData::sep},
                           {"pad", &VocabularyData::pad},  {"cls", &VocabularyData::cls},
                           {"mask", &VocabularyData::mask}};

/// "bos_token": "text" or {"content": "text"}. The token becomes a control token: it was named as one.
void read_roles(const Json& config, const std::string& label, VocabularyData& data) {
    for (const Role& role : kRoles) {
        const Json* value = member(config, (std::string(role.name) + "_token").c_str());
        if (value == nullptr) continue;
        const Json* content = value->is_object() ? member(*value, "content") : value;
        if (content == nullptr || !content->is_string())
            fail(ErrorKind::bad_file, "{}: '{}_token' must be a text or an object with 'content'.", label,
                 role.name);
        const auto found = std::ranges::find(data.tokens, content->get_ref<const std::string&>());
        if (found == data.tokens.end()) continue;  // some files name tokens that the vocabulary never got
        const auto id = static_cast<TokenId>(found - data.tokens.begin());
        data.*role.id = id;
        TokenKind& kind = data.kinds[id];
        if (kind == TokenKind::normal || kind == TokenKind::user_defined) kind = TokenKind::control;
    }
}

/// "bos_token_id": number or list of numbers in config.json, where the tokenizer's own files name none.
void read_role_ids(const Json& config, const std::string& label, VocabularyData& data) {
    for (const Role& role : kRoles) {
        if (data.*role.id) continue;
        const Json* value = member(config, (std::string(role.name) + "_token_id").c_str());
        if (value != nullptr && value->is_array()) value = value->empty() ? nullptr : &value->front();
        if (value == nullptr || (value->is_number_integer() && *value < 0)) continue;
        const auto id = static_cast<size_t>(id_of(*value, INT32_MAX, std::string(role.name), label));
        if (id < data.tokens.size())
            data.*role.id = static_cast<TokenId>(id);  // else a padding row of the model
    }
}

/// A template, or a list of {name, template} of which "default" is the one.
std::string chat_template_of(const Json& config, const std::string& label) {
    const Json* value = member(config, "chat_template");
    if (value == nullptr || !value->is_array()) return string_member(config, "chat_template", "", label);
    for (const Json& entry : *value)
        if (string_member(entry, "name", "", label) == "default")
            return string_member(entry, "template", "", label);
    return {};
}

}  // namespace

VocabularyData parse_tokenizer_json(std::string_view text, const std::string& label) {
    const Json json = parse_json_object(text, label);
    const Json* model = member(json, "model");
    if (model == nullptr || !model->is_object())
        fail(ErrorKind::bad_file, "{}: the object 'model' is missing.", label);
    // Files of early versions do not name the type of the model.
    const std::string type = string_member(*model, "type", member(*model, "merges") ? "BPE" : "", label);
    if (type != "BPE")
        fail(ErrorKind::unsupported, "{}: the vocabulary is of type '{}'; only BPE is supported.", label,
             type);
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (!string_member(*model, affix, "", label).empty())
            fail(ErrorKind::unsupported, "{}: vocabularies with '{}' are not supported.", label, affix);

    VocabularyData data;
    const Json* vocab = member(*model, "vocab");
    if (vocab == nullptr) fail(ErrorKind::bad_file, "{}: 'vocab' is missing.", label);
    read_vocab(*vocab, label, data);
    const Merges merges = read_merges(member(*model, "merges"), label);
    const bool ignore_merges = bool_member(*model, "ignore_merges", false, label);

    std::vector<const Json*> normalizers, pre_tokenizers;
    flatten(member(json, "normalizer"), "normalizers", label, 0, normalizers);
    flatten(member(json, "pre_tokenizer"), "pretokenizers", label, 0, pre_tokenizers);
    const Marks marks = find_marks(normalizers, pre_tokenizers, label);
    refuse_other_normalizers(normalizers, marks.used, label);
    if (marks.used) {
        if (ignore_merges)
            fail(ErrorKind::unsupported, "{}: 'ignore_merges' with U+2581 for spaces is not supported.",
                 label);
        become_spm(merges, label, data);
        data.add_space_prefix = marks.prefix;
    } else {
        become_byte_level(merges, pre_tokenizers, ignore_merges, label, data);
    }
    add_tokens_of(data, json, label);
    if (const std::string unk = string_member(*model, "unk_token", "", label); !unk.empty()) {
        const auto found = std::ranges::find(data.tokens, unk);
        if (found != data.tokens.end()) {
            data.unk = static_cast<TokenId>(found - data.tokens.begin());
            if (marks.used) data.kinds[*data.unk] = TokenKind::unknown;
        }
    }
    read_post_processor(member(json, "post_processor"), label, 0, data);
    check_vocabulary(data, label);
    return data;
}

VocabularyData parse_vocab_and_merges(std::string_view vocab_json, std::string_view merges_text,
                                      const std::string& label) {
    VocabularyData data;
    data.model = "gpt2";
    data.pre = "gpt-2";
    read_vocab(parse_json_object(vocab_json, label), label, data);
    while (!merges_text.empty()) {
        const size_t end = std::min(merges_text.find('\n'), merges_text.size());
        std::string_view line = merges_text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty() && !(data.merges.empty() && line.starts_with("#version")))
            data.merges.emplace_back(line);
        merges_text.remove_prefix(std::min(end + 1, merges_text.size()));
    }
    check_vocabulary(data, label);
    return data;
}

void add_tokens_of_tokenizer_json(std::string_view json, const std::string& label, VocabularyData& data) {
    add_tokens_of(data, parse_json_object(json, label), label);
}

void add_tokens_of_map(std::string_view text, const std::string& label, VocabularyData& data) {
    const Json json = parse_json_object(text, label);
    const size_t limit = id_limit(data.tokens.size() + json.size());
    for (const auto& [token, value] : json.items()) {
        const TokenId id = id_of(value, limit, "added token '" + token + "'", label);
        const auto index = static_cast<size_t>(id);
        if (index >= data.tokens.size() || data.tokens[index] != token)
            set_added_token(data, id, token, false);
    }
}

void apply_special_tokens_map(std::string_view json, const std::string& label, VocabularyData& data) {
    read_roles(parse_json_object(json, label), label, data);
}

void apply_tokenizer_config(std::string_view text, const std::string& label, VocabularyData& data) {
    const Json config = parse_json_object(text, label);
    read_added_tokens_decoder(config, label, data);
    read_roles(config, label, data);
    if (member(config, "add_bos_token")) data.add_bos = bool_member(config, "add_bos_token", false, label);
    if (member(config, "add_eos_token")) data.add_eos = bool_member(config, "add_eos_token", false, label);
    if (data.model == "llama" && member(config, "add_prefix_space"))
        data.add_space_prefix = bool_member(config, "add_prefix_space", true, label);
    data.chat_template = chat_template_of(config, label);
}

void apply_model_config(std::string_view json, const std::string& label, VocabularyData& data) {
    read_role_ids(parse_json_object(json, label), label, data);
}

}  // namespace powerinfer::tokenizer
