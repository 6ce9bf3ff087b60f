// Small vocabularies for tests, and random text.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace powerinfer::test {

using tokenizer::TokenKind;
using tokenizer::VocabularyData;

inline void add_token(VocabularyData& data, const std::string& text, TokenKind kind = TokenKind::normal,
                      float score = 0) {
    data.tokens.push_back(text);
    data.kinds.push_back(kind);
    if (data.model == "llama") data.scores.push_back(score);
}

/// 0 <unk>, 1 <s>, 2 </s>, 3..258 bytes, then the given texts (`_` for U+2581), the first with the highest
/// score, and the single characters that they consist of.
inline VocabularyData spm_vocabulary(const std::vector<std::string>& texts = {
                                         "_t", "he", "in", "_the", "er", "_a", "aa", "aaaa", "__", "____",
                                         "_s", "_king", "ki", "king", "ing", "ng"}) {
    VocabularyData data;
    data.model = "llama";
    add_token(data, "<unk>", TokenKind::unknown);
    add_token(data, "<s>", TokenKind::control);
    add_token(data, "</s>", TokenKind::control);
    for (int byte = 0; byte < 256; ++byte) add_token(data, fmt::format("<0x{:02X}>", byte), TokenKind::byte);
    float score = 0;
    for (const std::string& text : texts)
        add_token(data, tokenizer::replace_all(text, "_", tokenizer::kSpaceMark), TokenKind::normal, --score);
    add_token(data, std::string(tokenizer::kSpaceMark), TokenKind::normal, -100);
    for (char c = 'a'; c <= 'z'; ++c) add_token(data, std::string(1, c), TokenKind::normal, -100);
    data.bos = 1;
    data.eos = 2;
    data.unk = 0;
    return data;
}

/// 0..255 bytes in the byte-level alphabet, then what the merges make, then <|end|>-like control tokens.
inline VocabularyData bpe_vocabulary(const std::vector<std::string>& merges = {
                                         "t h", "th e", "\u0120 the", "i n", "in g", "a a", "aa aa",
                                         "\u0120 \u0120", "\u0120 a", "e r", "1 2", "12 3"}) {
    VocabularyData data;
    data.model = "gpt2";
    data.pre = "gpt-2";
    for (const std::string& text : tokenizer::byte_alphabet()) add_token(data, text);
    for (const std::string& merge : merges) add_token(data, tokenizer::replace_all(merge, " ", ""));
    data.merges = merges;
    add_token(data, "<|endoftext|>", TokenKind::control);
    add_token(data, "<|user|>", TokenKind::user_defined);
    data.eos = static_cast<tokenizer::TokenId>(data.tokens.size()) - 2;
    return data;
}

/// Text of characters from all planes with a lean towards those that the small vocabularies know.
inline std::string random_text(std::mt19937& random, size_t n_characters) {
    std::string text;
    for (size_t i = 0; i < n_characters; ++i) {
        switch (random() % 8) {
            case 0:
                tokenizer::append_utf8(text, static_cast<char32_t>(0x80 + random() % 0x700));
                break;
            case 1:
                tokenizer::append_utf8(text, static_cast<char32_t>(0xE000 + random() % 0x2000));
                break;
            case 2:
                tokenizer::append_utf8(text, static_cast<char32_t>(0x10000 + random() % 0x100000));
                break;
            case 3:
                text += "  \n\t\r"[random() % 5];
                break;
            default:
                text += "the king aasin1230"[random() % 18];
        }
    }
    return text;
}

inline std::string random_bytes(std::mt19937& random, size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(random());
    return text;
}

}  // namespace powerinfer::test
