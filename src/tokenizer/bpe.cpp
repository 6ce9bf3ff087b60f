// Byte-pair encoding: pieces of text merge by the rank of the pair.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/symbols.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

/// Pair of ids to rank and result: one flat table with linear probing, at most half full.
class MergeTable {
  public:
    explicit MergeTable(size_t n_merges) : rows_(std::bit_ceil(n_merges * 2 + 2)) {}

    void add(TokenId left, TokenId right, uint32_t rank, TokenId result) {
        Row& row = rows_[slot(key(left, right))];
        if (row.key == kEmpty) row = {key(left, right), rank, result};
    }
    std::optional<Merge> find(TokenId left, TokenId right) const {
        if (left < 0 || right < 0) return std::nullopt;
        const Row& row = rows_[slot(key(left, right))];
        if (row.key == kEmpty) return std::nullopt;
        return Merge{static_cast<double>(row.rank), row.result};
    }

  private:
    static constexpr uint64_t kEmpty = ~uint64_t{0};
    struct Row {
        uint64_t key = kEmpty;
        uint32_t rank = 0;
        TokenId result = kNoToken;
    };
    static uint64_t key(TokenId left, TokenId right) {
        return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    }
    size_t slot(uint64_t k) const {
        uint64_t hash = k * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        for (size_t i = hash & (rows_.size() - 1);; i = (i + 1) & (rows_.size() - 1))
            if (rows_[i].key == k || rows_[i].key == kEmpty) return i;
    }
    std::vector<Row> rows_;
};

class BpeEncoder : public Encoder {
  public:
    BpeEncoder(const TokenIndex& index, const PreTokenizerInfo& pre, const std::string& source)
        : index_(index), pre_(pre), merges_(index.data().merges.size()) {
        for (size_t byte = 0; byte < 256; ++byte) byte_ids_[byte] = index.find_plain(byte_alphabet()[byte]);
        const std::vector<std::string>& merges = index.data().merges;
        for (size_t rank = 0; rank < merges.size(); ++rank) add_merge(merges[rank], rank, source);
    }

    void encode(std::string_view text, bool, std::vector<TokenId>& ids) const override {
        Scratch scratch;
        if (pre_.info().alphabet == Alphabet::bytes) {
            for (const std::string_view piece : pre_.split(text)) encode_bytes(piece, scratch, ids);
            return;
        }
        for (const std::string_view piece : pre_.split(text)) {
            if (const TokenId id = newlines(piece); id != kNoToken)
                ids.push_back(id);
            else
                encode_characters(piece, scratch, ids);
        }
    }

  private:
    struct Scratch {
        std::vector<Symbol> symbols;
        std::vector<MergeCandidate> queue;
        std::string text;
    };

    void add_merge(const std::string& merge, size_t rank, const std::string& source) {
        const size_t space = merge.find(' ', 1);
        if (space == std::string::npos)
            fail(ErrorKind::bad_file,
                 "{}: entry {} of 'tokenizer.ggml.merges', '{}', is not two texts with a space "
                 "between them.",
                 source, rank, merge);
        const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
        const TokenId left_id = known(left, merge, rank, source),
                      right_id = known(right, merge, rank, source);
        merges_.add(left_id, right_id, static_cast<uint32_t>(rank), known(left + right, merge, rank, source));
    }

    TokenId known(const std::string& text, const std::string& merge, size_t rank,
                  const std::string& source) const {
        const TokenId id = index_.find(text);
        if (id == kNoToken)
            fail(ErrorKind::bad_file,
                 "{}: entry {} of 'tokenizer.ggml.merges', '{}', needs the token '{}', which is not "
                 "among the {} of 'tokenizer.ggml.tokens'.",
                 source, rank, merge, text, index_.data().tokens.size());
        return id;
    }

    void encode_bytes(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
        if (pre_.info().ignore_merges) {
            if (const TokenId id = index_.find_plain(to_byte_alphabet(piece)); id != kNoToken) {
                ids.push_back(id);
                return;
            }
        }
        scratch.symbols.clear();
        for (size_t i = 0; i < piece.size(); ++i)
            scratch.symbols.push_back({i, 1, byte_ids_[static_cast<uint8_t>(piece[i])], 0, 0});
        merge(piece, scratch, ids);
    }

    void encode_characters(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
        scratch.symbols.clear();
        scratch.text.clear();
        for (size_t i = 0; i < piece.size();) {
            const size_t length = std::max<size_t>(utf8_length(piece, i), 1);
            const std::string_view character = piece.substr(i, length);
            const std::string_view shown = character == " " ? kSpaceMark : character;
            // A mark in the text itself goes by bytes, so that it does not come back as a space.
            const TokenId id = character == kSpaceMark ? kNeverMerges : index_.find_plain(shown);
            scratch.symbols.push_back({scratch.text.size(), shown.size(), id, 0, 0});
            scratch.text += shown;
            i += length;
        }
        merge(scratch.text, scratch, ids);
    }

    TokenId newlines(std::string_view piece) const {
        const bool wanted =
            pre_.info().whole_newlines && piece.find_first_not_of('\n') == std::string_view::npos;
        return wanted ? index_.find_plain(piece) : kNoToken;
    }

    void merge(std::string_view text, Scratch& scratch, std::vector<TokenId>& ids) const {
        std::vector<Symbol>& symbols = scratch.symbols;
        if (symbols.empty()) return;
        if (symbols.size() > static_cast<size_t>(INT32_MAX))
            fail(ErrorKind::bad_argument,
                 "The text has a stretch of {} bytes without a break; at most {} can be "
                 "tokenised at once.",
                 symbols.size(), INT32_MAX);
        link(symbols);
        merge_symbols(symbols, scratch.queue, [&](const Symbol& left, const Symbol& right) {
            return merges_.find(left.id, right.id);
        });
        append_ids(index_, text, symbols, ids);
    }

    const TokenIndex& index_;
    PreTokenizer pre_;
    MergeTable merges_;
    std::array<TokenId, 256> byte_ids_;
};

}  // namespace

std::unique_ptr<Encoder> make_bpe_encoder(const TokenIndex& index, const PreTokenizerInfo& pre,
                                          const std::string& source) {
    return std::make_unique<BpeEncoder>(index, pre, source);
}

}  // namespace powerinfer::tokenizer
