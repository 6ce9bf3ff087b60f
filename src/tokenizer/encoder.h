// The two ways of turning a stretch of plain text into ids: score merges (SPM) and ranked merges (BPE).
// Special tokens have been cut out before; BOS and EOS come later: see tokenizer.cpp.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokenizer/pretokenizers.h"
#include "tokenizer/vocabulary.h"

namespace powerinfer::tokenizer {

/// Look-up by text. Views into the tokens of the VocabularyData it was made from, which must outlive it.
class TokenIndex {
  public:
    /// The lowest id wins where a text occurs twice; `n_duplicates` counts the others.
    explicit TokenIndex(const VocabularyData& data);

    TokenId find(std::string_view text) const;
    /// The id that plain text may become: control, unknown, byte and unused tokens are not text.
    TokenId find_plain(std::string_view text) const;
    /// The token `<0xHH>` of a byte, or kNoToken.
    TokenId of_byte(uint8_t byte) const { return byte_tokens_[byte]; }
    size_t longest() const { return longest_; }  ///< bytes
    size_t n_duplicates() const { return n_duplicates_; }
    const VocabularyData& data() const { return *data_; }

  private:
    const VocabularyData* data_;
    std::unordered_map<std::string_view, TokenId> ids_;
    std::array<TokenId, 256> byte_tokens_;
    size_t longest_ = 0, n_duplicates_ = 0;
};

class Encoder {
  public:
    virtual ~Encoder() = default;
    /// Appends the ids of `text`. `after_special`: the text stands at the start or behind a special token,
    /// where SPM puts a space in front.
    virtual void encode(std::string_view text, bool after_special, std::vector<TokenId>& ids) const = 0;
};

std::unique_ptr<Encoder> make_spm_encoder(const TokenIndex& index, bool add_space_prefix);

/// Throws Error{bad_file} naming `source` if a merge names a text that is no token.
std::unique_ptr<Encoder> make_bpe_encoder(const TokenIndex& index, const PreTokenizerInfo& pre,
                                          const std::string& source);

struct Symbol;

/// Appends the ids of merged symbols. A stretch without a token becomes its byte tokens, else the unknown
/// token (once for a run), else nothing; a space mark that stands for a space becomes the byte of the space.
void append_ids(const TokenIndex& index, std::string_view text, const std::vector<Symbol>& symbols,
                std::vector<TokenId>& ids);

}  // namespace powerinfer::tokenizer
