// What the commands that learn from a text share: the text as tokens in windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "learn/text_run.h"
#include "tokenizer/tokenizer.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// The first --tokens tokens of the file named by --file, without a start token. Throws Error{bad_argument}
/// where no file was named or it is empty.
std::vector<int32_t> tokens_to_learn(const Arguments& a, const tokenizer::Tokenizer& tokenizer,
                                     const std::string& text);

/// The file named by --file, read before a model is loaded. Throws Error{bad_argument} where there is none.
std::string text_to_learn(const Arguments& a);

/// Its name without the folders, for files that may be given away.
std::string text_name(const Arguments& a);

/// These tokens in windows of --ctx-size; the tokens must live on.
learn::Text windows_to_learn(const Arguments& a, const std::vector<int32_t>& ids,
                             const model::ModelSpec& spec, const tokenizer::Tokenizer& tokenizer);

}  // namespace powerinfer::tools
