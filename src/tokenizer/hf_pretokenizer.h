// Which named pre-tokenizer the `pre_tokenizer` object of a tokenizer.json is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::tokenizer {

/// The name of the row that cuts text as these stages do, or an empty text if there is none. Stages are
/// regular expressions; forms that are known to mean the same (possessive quantifiers, escaped characters,
/// two spellings of the contractions) are equal.
std::string recognise_pre_tokenizer(const std::vector<std::string>& stages, bool ignore_merges);

}  // namespace powerinfer::tokenizer
