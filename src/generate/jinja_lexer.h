// Template source to tokens, with white space control done: trim_blocks and lstrip_blocks are on, as chat
// templates expect. Not for structure: see jinja_parser.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::generate::jinja {

enum class TokenType {
    text,         ///< literal output
    print_begin,  ///< {{
    print_end,    ///< }}
    block_begin,  ///< {%
    block_end,    ///< %}
    name,
    integer,
    floating,
    string,  ///< text holds the decoded value
    symbol,  ///< operators and brackets
    end,
};

struct Token {
    TokenType type;
    std::string text;
    int line;  ///< counted from 1
};

/// Throws Error{bad_argument} naming the line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace powerinfer::generate::jinja
