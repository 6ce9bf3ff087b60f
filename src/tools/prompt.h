// From what the user gave to the tokens that a text starts with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// What the command line gives as texts or names as files, read before anything is loaded, so that a wrong name is
/// told at once.
struct Texts {
    std::string prompt;  ///< --prompt, --file (without its last line break), --binary-file or --random-prompt
    std::optional<std::string> system;
    std::string chat_template;  ///< a name or a whole template; empty = none given
};
Texts read_texts(const Arguments& a);

/// Escapes of a text from the command line, where that is on.
std::string command_line_text(const Arguments& a, const std::string& text);

/// The tokens of a text at the start of a sequence; never empty. Throws Error{bad_argument} where they do not leave room
/// in a context of so many tokens.
std::vector<int32_t> first_tokens(const tokenizer::Tokenizer& tokenizer, const std::string& text, int n_ctx);

/// Every token with its id and text, on stderr.
void print_tokens(const tokenizer::Tokenizer& tokenizer, const std::vector<int32_t>& tokens);

}  // namespace powerinfer::tools
