#include "tokenizer/tokenizer.h"

#include "base/error.h"
#include "tokenizer/encoder.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

VocabularyData checked(VocabularyData data, const std::string& source) {
    check_vocabulary(data, source);
    if (data.model == "gemma4") data.pre = "gemma4";
    for (size_t i = 0; i < data.tokens.size(); ++i)  // a text of no bytes would match everywhere
        if (data.tokens[i].empty()) data.tokens[i] = fmt::format("[EMPTY_{}]", i);
    return data;
}

const PreTokenizerInfo& pre_tokenizer_of(const VocabularyData& data, const std::string& source,
                                         const LogSink& log_sink) {
    if (data.merges.empty())
        fail(ErrorKind::bad_file,
             "{}: 'tokenizer.ggml.model' is '{}', which needs the key 'tokenizer.ggml.merges'; it is "
             "missing or empty.",
             source, data.model);
    if (data.pre.empty())
        log(log_sink, LogLevel::warning,
            "{}: no key 'tokenizer.ggml.pre'; text is cut in the default way, which may not "
            "be the one of this model.",
            source);
    const PreTokenizerInfo* info = find_pre_tokenizer(data.pre.empty() ? "default" : data.pre);
    if (info == nullptr)
        fail(ErrorKind::unsupported,
             "{}: 'tokenizer.ggml.pre' is '{}', a pre-tokenizer that this version does not know.", source,
             data.pre);
    return *info;
}

}  // namespace

struct Tokenizer::Impl {
    VocabularyData data;
    TokenIndex index;
    Alphabet alphabet = Alphabet::characters;
    bool space_prefix = false;
    SpecialTokens special;
    std::vector<bool> ends;
    std::unique_ptr<SpecialMatcher> matcher;
    std::unique_ptr<Encoder> encoder;

    Impl(VocabularyData vocabulary, const std::string& source, const LogSink& log_sink)
        : data(checked(std::move(vocabulary), source)), index(data) {
        if (index.n_duplicates() > 0)
            log(log_sink, LogLevel::warning,
                "{}: {} texts occur more than once in 'tokenizer.ggml.tokens'; the first id "
                "of each is used.",
                source, index.n_duplicates());
        bool add_bos = false;
        if (data.model == "llama") {
            space_prefix = data.add_space_prefix.value_or(true);
            encoder = make_spm_encoder(index, space_prefix);
        } else if (data.model == "gpt2" || data.model == "gemma4") {
            const PreTokenizerInfo& pre = pre_tokenizer_of(data, source, log_sink);
            add_bos = pre.add_bos;
            alphabet = pre.alphabet;
            encoder = make_bpe_encoder(index, pre, source);
        } else {
            fail(ErrorKind::unsupported,
                 "{}: 'tokenizer.ggml.model' is '{}'; supported are 'llama' (SentencePiece BPE), "
                 "'gpt2' (byte-level BPE) and 'gemma4'.",
                 source, data.model);
        }
        special = find_special_tokens(data, index, add_bos, log_sink);
        if (special.unk != kNoToken) data.unk = special.unk;
        ends = find_end_tokens(data, index, special);
        matcher = std::make_unique<SpecialMatcher>(data, alphabet == Alphabet::characters);
        special.newline = newline();
    }

    bool known(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < data.tokens.size(); }

    TokenId newline() const {
        if (const TokenId byte = index.of_byte('\n'); byte != kNoToken) return byte;
        std::vector<TokenId> ids;
        encoder->encode("\n", false, ids);
        return ids.empty() ? kNoToken : ids.front();
    }

    void encode(std::string_view text, bool parse_special, std::vector<TokenId>& ids) const {
        size_t done = 0;
        bool after_special = true;
        const auto plain = [&](size_t end) {
            if (end > done) encoder->encode(text.substr(done, end - done), after_special, ids);
        };
        for (size_t i = 0; i < text.size();) {
            const SpecialMatcher::Match match = matcher->at(text, i, parse_special);
            if (match.id == kNoToken) {
                ++i;
                continue;
            }
            size_t end = i;
            if (matcher->strips_left(match.id))
                while (end > done && kWhiteSpace.find(text[end - 1]) != std::string_view::npos) --end;
            plain(end);
            ids.push_back(match.id);
            i += match.length;
            if (matcher->strips_right(match.id))
                while (i < text.size() && kWhiteSpace.find(text[i]) != std::string_view::npos) ++i;
            done = i;
            after_special = true;
        }
        plain(text.size());
    }
};

Tokenizer::Tokenizer(VocabularyData vocabulary, const std::string& source, const LogSink& log_sink)
    : impl_(std::make_unique<Impl>(std::move(vocabulary), source, log_sink)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::load(const formats::GgufFile& file, const LogSink& log_sink) {
    return Tokenizer(read_vocabulary(file, log_sink), file.path(), log_sink);
}

int Tokenizer::n_vocab() const {
    return static_cast<int>(impl_->data.tokens.size());
}
const SpecialTokens& Tokenizer::special() const {
    return impl_->special;
}
const std::vector<TokenId>& Tokenizer::suppressed() const {
    return impl_->data.suppressed;
}
const std::string& Tokenizer::chat_template() const {
    return impl_->data.chat_template;
}

TokenKind Tokenizer::kind(TokenId id) const {
    return impl_->known(id) ? impl_->data.kinds[id] : TokenKind::unused;
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
    return impl_->known(id) && impl_->ends[id];
}

const std::string& Tokenizer::text(TokenId id) const {
    static const std::string none;
    return impl_->known(id) ? impl_->data.tokens[id] : none;
}

std::optional<TokenId> Tokenizer::find(std::string_view stored_text) const {
    const TokenId id = impl_->index.find(stored_text);
    return id == kNoToken ? std::nullopt : std::optional(id);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
    const SpecialTokens& special = impl_->special;
    std::vector<TokenId> ids;
    impl_->encode(text, options.parse_special, ids);
    if (options.add_special && special.add_bos && (ids.empty() || ids.front() != special.bos))
        ids.insert(ids.begin(), special.bos);
    if (options.add_special && special.add_eos) ids.push_back(special.eos);
    return ids;
}

std::string Tokenizer::piece(TokenId id, bool show_special) const {
    if (!impl_->known(id)) return {};
    const std::string& text = impl_->data.tokens[id];
    switch (impl_->data.kinds[id]) {
        case TokenKind::normal:
            return impl_->alphabet == Alphabet::bytes ? from_byte_alphabet(text)
                                                      : replace_all(text, kSpaceMark, " ");
        case TokenKind::user_defined:
            return impl_->alphabet == Alphabet::characters ? replace_all(text, kSpaceMark, " ") : text;
        case TokenKind::byte:
            return {static_cast<char>(parse_byte_token(text))};
        case TokenKind::control:
        case TokenKind::unknown:
            return show_special ? text : std::string();
        case TokenKind::unused:
            break;
    }
    return {};
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool show_special) const {
    std::string out;
    bool after_special = true;
    for (const TokenId id : ids) {
        std::string text = piece(id, show_special);
        const TokenKind token_kind = kind(id);
        const bool plain = token_kind == TokenKind::normal || token_kind == TokenKind::byte;
        if (impl_->space_prefix && after_special && plain && text.starts_with(' ')) text.erase(0, 1);
        after_special = !plain;
        out += text;
    }
    return out;
}

}  // namespace powerinfer::tokenizer
