#include "tokenizer/hf_pretokenizer.h"

#include <algorithm>
#include <array>

#include "tokenizer/pretokenizers.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

/// `\x{4E00}` as the character itself.
std::string expand_code_points(std::string_view pattern) {
    std::string out;
    for (size_t i = 0; i < pattern.size();) {
        const size_t close = pattern.find('}', i);
        if (pattern.substr(i, 3) != "\\x{" || close == std::string_view::npos) {
            out += pattern[i++];
            continue;
        }
        char32_t code_point = 0;
        for (const char c : pattern.substr(i + 3, std::min<size_t>(close - i - 3, 6)))
            code_point = code_point * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        append_utf8(out, code_point & 0x1FFFFF);
        i = close + 1;
    }
    return out;
}

/// One spelling for expressions that match the same text.
std::string canonical(std::string_view pattern) {
    std::string text = expand_code_points(pattern);
    constexpr std::array<std::array<std::string_view, 2>, 8> kSpellings = {{
        {"'(?i:[sdmt]|ll|ve|re)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
        {"(?i:'s|'t|'re|'ve|'m|'d|'ll)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"},
        {"?+", "?"},
        {"++", "+"},
        {R"(\s*[\r\n]+)", R"(\s*[\r\n])"},  // the last newline of a run ends both
        {R"(\p{N}{1}|)", R"(\p{N}|)"},
        {R"((?<!\s)\s+\z)", R"(\s+$)"},
        {R"(\s+(?!\S)|\s+)", R"(\s+(?!\S))"},  // what is left over becomes a piece either way
    }};
    for (const auto& [from, to] : kSpellings) text = replace_all(text, from, to);
    return text;
}

}  // namespace

std::string recognise_pre_tokenizer(const std::vector<std::string>& stages, bool ignore_merges) {
    std::vector<std::string> wanted;
    for (const std::string& stage : stages) wanted.push_back(canonical(stage));
    // Falcon's file isolates numbers once more; the row does without: see there.
    const std::vector<std::string> falcon = {canonical(kPunctuationPattern), canonical(kGpt2Pattern),
                                             R"(\p{N}+)", "[0-9][0-9][0-9]"};
    if (wanted == falcon) wanted.erase(wanted.begin() + 2);
    for (const std::string_view name : pre_tokenizer_names()) {
        const PreTokenizerInfo& info = *find_pre_tokenizer(name);
        if (info.alphabet != Alphabet::bytes || info.ignore_merges != ignore_merges) continue;
        if (std::ranges::equal(wanted, info.stages,
                               [](const std::string& a, std::string_view b) { return a == canonical(b); }))
            return std::string(name);
    }
    return {};
}

}  // namespace powerinfer::tokenizer
