// UTF-8 as tokenizers need it: where characters end, and the printable stand-ins for bytes that GPT-2
// introduced. Not for case or normal forms.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace powerinfer::tokenizer {

/// The word-start mark of SentencePiece vocabularies, which stands for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

/// Bytes of the well-formed character at `position`, or 0 if none starts there (overlong forms, surrogates
/// and values above U+10FFFF are not well formed). Precondition: position < text.size().
size_t utf8_length(std::string_view text, size_t position);

/// Code point of the well-formed character of `length` bytes at `position`.
char32_t utf8_code_point(std::string_view text, size_t position, size_t length);

void append_utf8(std::string& out, char32_t code_point);

/// Byte-level alphabet: the bytes that print as Latin-1 (33-126, 161-172, 174-255) stand for themselves, the
/// other 68 for U+0100 and up, in order.
const std::array<std::string, 256>& byte_alphabet();

/// The byte that a code point of that alphabet stands for, or -1.
int byte_of(char32_t code_point);

/// Text in the byte-level alphabet.
std::string to_byte_alphabet(std::string_view bytes);

/// Inverse of to_byte_alphabet; characters outside the alphabet are kept as they are.
std::string from_byte_alphabet(std::string_view text);

/// Every `from` replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace powerinfer::tokenizer
