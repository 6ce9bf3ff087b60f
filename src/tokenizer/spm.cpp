// SentencePiece BPE: characters merge to the token of the highest score.
#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/symbols.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

class SpmEncoder : public Encoder {
  public:
    SpmEncoder(const TokenIndex& index, bool add_space_prefix)
        : index_(index), add_space_prefix_(add_space_prefix) {}

    void encode(std::string_view text, bool after_special, std::vector<TokenId>& ids) const override {
        if (text.empty()) return;
        std::string marked;  // spaces as marks
        marked.reserve(text.size() + text.size() / 2);
        std::vector<Symbol> symbols;
        const auto add = [&](std::string_view shown, TokenId id) {
            symbols.push_back({marked.size(), shown.size(), id, 0, 0});
            marked += shown;
        };
        if (add_space_prefix_ && after_special) add(kSpaceMark, index_.find_plain(kSpaceMark));
        for (size_t i = 0; i < text.size();) {
            const size_t length = std::max<size_t>(utf8_length(text, i), 1);
            const std::string_view character = text.substr(i, length);
            const std::string_view shown = character == " " ? kSpaceMark : character;
            // A mark in the text itself goes by bytes, so that it does not come back as a space.
            add(shown, character == kSpaceMark ? kNeverMerges : index_.find_plain(shown));
            i += length;
        }
        if (symbols.size() > static_cast<size_t>(INT32_MAX))
            fail(ErrorKind::bad_argument, "The text has {} characters; at most {} can be tokenised at once.",
                 symbols.size(), INT32_MAX);
        link(symbols);
        const std::string_view all = marked;
        std::vector<MergeCandidate> queue;
        merge_symbols(symbols, queue, [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
            if (left.id == kNeverMerges || right.id == kNeverMerges) return std::nullopt;
            const TokenId id = index_.find_plain(all.substr(left.begin, left.size + right.size));
            if (id == kNoToken) return std::nullopt;
            return Merge{-static_cast<double>(index_.data().scores[id]), id};
        });
        append_ids(index_, all, symbols, ids);
    }

  private:
    const TokenIndex& index_;
    bool add_space_prefix_;
};

}  // namespace

std::unique_ptr<Encoder> make_spm_encoder(const TokenIndex& index, bool add_space_prefix) {
    return std::make_unique<SpmEncoder>(index, add_space_prefix);
}

}  // namespace powerinfer::tokenizer
