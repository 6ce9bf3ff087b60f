// Tokens with a meaning: which they are, and finding them in text.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::tokenizer {

/// Ids by key, else by the kind of vocabulary, else by well-known texts. Tokens found by text become control
/// tokens in `data`, whose texts `index` holds. Warnings, such as "BOS is wanted but there is none", go to
/// `log`.
SpecialTokens find_special_tokens(VocabularyData& data, const TokenIndex& index, bool add_bos_by_default,
                                  const LogSink& log);

/// One flag per token: does it end a generation? Changes the kinds of a few tokens that look like ends but
/// are not.
std::vector<bool> find_end_tokens(VocabularyData& data, const TokenIndex& index,
                                  const SpecialTokens& special);

/// Finds control, user-defined and unknown tokens in text: the leftmost, and of those the longest, in one
/// pass.
class SpecialMatcher {
  public:
    /// `marks`: the vocabulary writes spaces as U+2581, in its user-defined tokens too.
    SpecialMatcher(const VocabularyData& data, bool marks);

    struct Match {
        TokenId id = kNoToken;
        size_t length = 0;  ///< bytes of text
    };
    /// The longest token that starts at `position`; kNoToken if none does. User-defined ones are always
    /// looked for, the others if `parse_special`.
    Match at(std::string_view text, size_t position, bool parse_special) const;

    /// True for a token that takes the white space behind (before) it along.
    bool strips_right(TokenId id) const { return !strip_right_.empty() && strip_right_[id]; }
    bool strips_left(TokenId id) const { return id == strip_left_; }

  private:
    struct Node {
        std::vector<std::pair<uint8_t, uint32_t>> children;  // sorted by byte
        TokenId id = kNoToken;
        bool user_defined = false;
    };
    const Node* child(const Node& node, char c) const;
    void add(std::string_view text, TokenId id, bool user_defined);

    std::vector<Node> nodes_;
    std::vector<bool> strip_right_;
    TokenId strip_left_ = kNoToken - 1;
};

}  // namespace powerinfer::tokenizer
