// What the readers of published vocabularies share. Internal to them: users include hf_tokenizer.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace powerinfer::tokenizer {

using Merges = std::vector<std::pair<std::string, std::string>>;

/// Makes "llama" of a vocabulary whose merges work on characters: scores follow the order of the merges, so
/// that score merges do the same. Byte tokens are told by their texts.
void become_spm(const Merges& merges, const std::string& label, VocabularyData& data);

/// Sets text and kind of an entry, growing the vocabulary (gaps become unused tokens).
void set_added_token(VocabularyData& data, TokenId id, const std::string& text, bool special);

// Contents of the files beside a vocabulary, applied to it. All throw Error{bad_file} naming `label`.

/// The `added_tokens` of a tokenizer.json.
void add_tokens_of_tokenizer_json(std::string_view json, const std::string& label, VocabularyData& data);
/// added_tokens.json: {text: id}. Those that name a special token become control tokens later.
void add_tokens_of_map(std::string_view json, const std::string& label, VocabularyData& data);
/// special_tokens_map.json: which token plays which role.
void apply_special_tokens_map(std::string_view json, const std::string& label, VocabularyData& data);
/// tokenizer_config.json: added tokens, roles, BOS and EOS, chat template.
void apply_tokenizer_config(std::string_view json, const std::string& label, VocabularyData& data);
/// config.json: ids of roles that nothing else names.
void apply_model_config(std::string_view json, const std::string& label, VocabularyData& data);

}  // namespace powerinfer::tokenizer
