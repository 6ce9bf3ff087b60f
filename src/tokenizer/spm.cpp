// SentencePiece BPE: characters merge to the token of the highest score.
#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/symbols.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

/// Neighbouring characters that occur in some token. No merge crosses any other place, so text may be cut
/// there, and words are merged one by one instead of a whole book at once.
class JoinedCharacters {
  public:
    explicit JoinedCharacters(const VocabularyData& data) {
        for (size_t i = 0; i < data.tokens.size(); ++i) {
            if (data.kinds[i] != TokenKind::normal && data.kinds[i] != TokenKind::user_defined) continue;
            const std::string_view token = data.tokens[i];
            std::string_view previous;
            for (size_t at = 0; at < token.size(); at += previous.size()) {
                const std::string_view next = token.substr(at, std::max<size_t>(utf8_length(token, at), 1));
                if (!previous.empty()) pairs_.insert(key(previous, next));
                previous = next;
            }
        }
    }
    bool contains(std::string_view left, std::string_view right) const {
        return pairs_.count(key(left, right)) > 0;
    }

  private:
    /// The bytes of both, at most four each.
    static uint64_t key(std::string_view left, std::string_view right) {
        uint64_t value = 0;
        for (const char c : left) value = value << 8 | static_cast<uint8_t>(c);
        uint64_t other = 0;
        for (const char c : right) other = other << 8 | static_cast<uint8_t>(c);
        return value << 32 | other;
    }
    std::unordered_set<uint64_t> pairs_;
};

class SpmEncoder : public Encoder {
  public:
    SpmEncoder(const TokenIndex& index, bool add_space_prefix)
        : index_(index), joined_(index.data()), add_space_prefix_(add_space_prefix) {}

    void encode(std::string_view text, bool after_special, std::vector<TokenId>& ids) const override {
        if (text.empty()) return;
        Stretch stretch;
        if (add_space_prefix_ && after_special) stretch.add(kSpaceMark, index_.find_plain(kSpaceMark));
        for (size_t i = 0; i < text.size();) {
            const size_t length = std::max<size_t>(utf8_length(text, i), 1);
            const std::string_view character = text.substr(i, length);
            const std::string_view shown = character == " " ? kSpaceMark : character;
            if (!stretch.symbols.empty() && !joined_.contains(stretch.last(), shown)) finish(stretch, ids);
            // A mark in the text itself goes by bytes, so that it does not come back as a space.
            stretch.add(shown, character == kSpaceMark ? kNeverMerges : index_.find_plain(shown));
            i += length;
        }
        finish(stretch, ids);
    }

  private:
    struct Stretch {
        std::string text;  // spaces as marks
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> queue;

        void add(std::string_view shown, TokenId id) {
            symbols.push_back({text.size(), shown.size(), id, 0, 0});
            text += shown;
        }
        std::string_view last() const { return std::string_view(text).substr(symbols.back().begin); }
    };

    void finish(Stretch& stretch, std::vector<TokenId>& ids) const {
        if (stretch.symbols.size() > static_cast<size_t>(INT32_MAX))
            fail(ErrorKind::bad_argument,
                 "The text has a stretch of {} characters without a break; at most {} can be tokenised at "
                 "once.",
                 stretch.symbols.size(), INT32_MAX);
        link(stretch.symbols);
        const std::string_view text = stretch.text;
        const auto wanted = [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
            if (left.id == kNeverMerges || right.id == kNeverMerges) return std::nullopt;
            const TokenId id = index_.find_plain(text.substr(left.begin, left.size + right.size));
            if (id == kNoToken) return std::nullopt;
            return Merge{-static_cast<double>(index_.data().scores[id]), id};
        };
        merge_symbols(stretch.symbols, stretch.queue, wanted);
        append_ids(index_, text, stretch.symbols, ids);
        stretch.text.clear();
        stretch.symbols.clear();
    }

    const TokenIndex& index_;
    JoinedCharacters joined_;
    bool add_space_prefix_;
};

}  // namespace

std::unique_ptr<Encoder> make_spm_encoder(const TokenIndex& index, bool add_space_prefix) {
    return std::make_unique<SpmEncoder>(index, add_space_prefix);
}

}  // namespace powerinfer::tokenizer
