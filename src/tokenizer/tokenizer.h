// Text to token ids and back, from the vocabulary stored in a model file.
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

namespace powerinfer::tokenizer {

using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

/// How a vocabulary entry behaves (values of `tokenizer.ggml.token_type`).
enum class TokenKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// Ids with a meaning; kNoToken where the vocabulary has none.
struct SpecialTokens {
    TokenId bos = kNoToken, eos = kNoToken, unk = kNoToken, eot = kNoToken, pad = kNoToken, newline = kNoToken;
    bool add_bos = false, add_eos = false;
};

struct EncodeOptions {
    bool add_special = true;     ///< BOS / EOS as the vocabulary wants them
    bool parse_special = false;  ///< recognise control tokens written in the text; user-defined ones always are
};

/// Immutable once loaded; encode and decode may be called from several threads at once.
class Tokenizer {
  public:
    /// Reads the `tokenizer.ggml.*` keys. Throws Error{bad_file | unsupported} naming the key. A missing
    /// `tokenizer.ggml.pre` is a warning through `log`, an unknown one an error.
    static Tokenizer load(const formats::GgufFile& file, const LogSink& log = {});
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

    /// The bytes that one token stands for, which may end inside a UTF-8 sequence. Control tokens give nothing unless
    /// `show_special`. SPM word starts give their leading space.
    std::string piece(TokenId id, bool show_special = false) const;

    /// The text of a sequence: pieces joined; the first space is dropped where encoding would have added it.
    std::string decode(std::span<const TokenId> ids, bool show_special = false) const;

    /// Ids of tokens that must never be generated (`tokenizer.ggml.suppress_tokens`).
    const std::vector<TokenId>& suppressed() const;

    struct Impl;

  private:
    explicit Tokenizer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace powerinfer::tokenizer
