// Text to token ids and back. Where the vocabulary comes from: see vocabulary.h and hf_tokenizer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "formats/gguf.h"
#include "tokenizer/vocabulary.h"

namespace powerinfer::tokenizer {

/// Ids with a meaning; kNoToken where the vocabulary has none.
struct SpecialTokens {
    TokenId bos = kNoToken, eos = kNoToken, unk = kNoToken, eot = kNoToken, eom = kNoToken;
    TokenId pad = kNoToken, sep = kNoToken, newline = kNoToken;
    TokenId fim_prefix = kNoToken, fim_suffix = kNoToken, fim_middle = kNoToken;
    TokenId fim_pad = kNoToken, fim_repo = kNoToken, fim_separator = kNoToken;
    bool add_bos = false, add_eos = false;
};

struct EncodeOptions {
    bool add_special = true;  ///< BOS / EOS as the vocabulary wants them
    bool parse_special =
        false;  ///< recognise control tokens written in the text; user-defined ones always are
};

/// Immutable once made; encode and decode may be called from several threads at once.
///
/// decode(encode(text)) == text for any bytes where the vocabulary has a token for every byte, as published
/// ones do. (Phi-3 is the exception that its format demands: white space behind its special tokens vanishes.)
/// BOS is added by encode alone, once per call: a text that begins with the BOS text and is encoded with
/// `parse_special` gets no second one. Encoding two texts one after another is not encoding them joined;
/// continue a text with `add_special` off, and know that SPM vocabularies start each call with a word start.
class Tokenizer {
  public:
    /// Reads the `tokenizer.ggml.*` keys. Throws Error{bad_file | unsupported} naming the key. A missing
    /// `tokenizer.ggml.pre` is a warning through `log`, an unknown one an error.
    static Tokenizer load(const formats::GgufFile& file, const LogSink& log = {});
    /// From a vocabulary of any origin; `source` stands for the file in messages.
    explicit Tokenizer(VocabularyData vocabulary, const std::string& source = "The vocabulary",
                       const LogSink& log = {});
    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    int n_vocab() const;
    const SpecialTokens& special() const;
    TokenKind kind(TokenId id) const;
    /// True for every token that ends a generation (EOS, EOT and their like).
    bool is_end_of_generation(TokenId id) const;
    /// The entry as stored, e.g. "\u2581the" or "<0x0A>".
    const std::string& text(TokenId id) const;
    std::optional<TokenId> find(std::string_view stored_text) const;

    /// Any bytes are accepted; bytes that are not UTF-8 survive where the vocabulary has byte tokens.
    std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

    /// The bytes that one token stands for, which may end inside a UTF-8 sequence. Control tokens give
    /// nothing unless `show_special`. SPM word starts give their leading space. Empty for ids outside the
    /// vocabulary.
    std::string piece(TokenId id, bool show_special = false) const;

    /// The text of a sequence: pieces joined; a space is dropped where encoding would have added it: at the
    /// start and behind special tokens.
    std::string decode(std::span<const TokenId> ids, bool show_special = false) const;

    /// Ids of tokens that must never be generated (`tokenizer.ggml.suppress_tokens`).
    const std::vector<TokenId>& suppressed() const;

    /// The chat template of the file, empty where there is none.
    const std::string& chat_template() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace powerinfer::tokenizer
