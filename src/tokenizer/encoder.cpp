#include "tokenizer/encoder.h"

#include <algorithm>

#include "tokenizer/symbols.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {

TokenIndex::TokenIndex(const VocabularyData& data) : data_(&data) {
    byte_tokens_.fill(kNoToken);
    ids_.reserve(data.tokens.size());
    for (size_t i = 0; i < data.tokens.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (!ids_.emplace(data.tokens[i], id).second) ++n_duplicates_;
        longest_ = std::max(longest_, data.tokens[i].size());
        if (data.kinds[i] != TokenKind::byte) continue;
        TokenId& byte_token = byte_tokens_[static_cast<size_t>(parse_byte_token(data.tokens[i]))];
        if (byte_token == kNoToken) byte_token = id;
    }
}

TokenId TokenIndex::find(std::string_view text) const {
    if (text.size() > longest_) return kNoToken;
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
}

TokenId TokenIndex::find_plain(std::string_view text) const {
    const TokenId id = find(text);
    if (id == kNoToken) return kNoToken;
    const TokenKind kind = data_->kinds[id];
    return kind == TokenKind::normal || kind == TokenKind::user_defined ? id : kNoToken;
}

void append_ids(const TokenIndex& index, std::string_view text, const std::vector<Symbol>& symbols,
                std::vector<TokenId>& ids) {
    const std::optional<TokenId> unk = index.data().unk;
    for (int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbols[i].next) {
        const Symbol& symbol = symbols[i];
        if (symbol.id >= 0) {
            ids.push_back(symbol.id);
            continue;
        }
        std::string_view shown = text.substr(symbol.begin, symbol.size);
        if (shown == kSpaceMark && symbol.id != kNeverMerges) shown = " ";
        const bool has_bytes = std::ranges::all_of(
            shown, [&](char c) { return index.of_byte(static_cast<uint8_t>(c)) != kNoToken; });
        if (has_bytes)
            for (const char c : shown) ids.push_back(index.of_byte(static_cast<uint8_t>(c)));
        else if (unk && (ids.empty() || ids.back() != *unk))
            ids.push_back(*unk);
    }
}

}  // namespace powerinfer::tokenizer
