#include "tokenizer/hf_parts.h"

#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {

void set_added_token(VocabularyData& data, TokenId id, const std::string& text, bool special) {
    const auto index = static_cast<size_t>(id);
    pad_vocabulary(data, index + 1);
    data.tokens[index] = text;
    TokenKind& kind = data.kinds[index];
    if (kind == TokenKind::unknown || kind == TokenKind::byte) return;
    if (special)
        kind = TokenKind::control;
    else if (kind != TokenKind::control)
        kind = TokenKind::user_defined;
}

void become_spm(const Merges& merges, const std::string& label, VocabularyData& data) {
    data.model = "llama";
    data.pre = "default";
    std::unordered_map<std::string_view, size_t> ids;
    for (size_t i = 0; i < data.tokens.size(); ++i) ids.emplace(data.tokens[i], i);
    data.scores.assign(data.tokens.size(), std::numeric_limits<float>::lowest());
    std::vector<bool> made(data.tokens.size(), false);
    float rank = 0;
    for (const auto& [left, right] : merges) {
        const auto found = ids.find(left + right);
        if (found == ids.end())
            fail(ErrorKind::bad_file, "{}: the merge of '{}' and '{}' makes a text that is not in 'vocab'.",
                 label, left, right);
        if (made[found->second]) continue;
        made[found->second] = true;
        data.scores[found->second] = -rank++;
    }
    for (size_t i = 0; i < data.tokens.size(); ++i) {
        const std::string& text = data.tokens[i];
        if (made[i] || data.kinds[i] != TokenKind::normal) continue;
        if (parse_byte_token(text) >= 0)
            data.kinds[i] = TokenKind::byte;
        else if (text.empty() || utf8_length(text, 0) != text.size())
            data.kinds[i] =
                TokenKind::unused;  // several characters that no merge makes: score merges must not either
    }
}

}  // namespace powerinfer::tokenizer
