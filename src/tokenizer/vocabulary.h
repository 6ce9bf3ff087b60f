// The vocabulary of a model as data: what the `tokenizer.ggml.*` keys of a GGUF file hold, whichever file it
// came from. Not for turning text into ids: see tokenizer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "formats/gguf.h"

namespace powerinfer::tokenizer {

using TokenId = int32_t;
inline constexpr TokenId kNoToken = -1;

/// How a vocabulary entry behaves (values of `tokenizer.ggml.token_type`).
enum class TokenKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct VocabularyData {
    std::string model;  ///< "llama": score merges (SPM); "gpt2": byte-level BPE; "gemma4": BPE on characters
    std::string pre;    ///< name of the pre-tokenizer (BPE); empty where the file names none
    std::vector<std::string> tokens;
    std::vector<float> scores;  ///< SPM: one per token, higher merges first; otherwise empty or one per token
    std::vector<TokenKind> kinds;     ///< one per token
    std::vector<std::string> merges;  ///< BPE: "left right", most important first

    std::optional<TokenId> bos, eos, eot, eom, unk, sep, pad, cls, mask;
    std::optional<TokenId> fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_separator;
    std::optional<bool> add_bos, add_eos, add_space_prefix;
    std::vector<TokenId> suppressed;  ///< never to be generated
    std::string chat_template;        ///< empty where there is none
    std::string model_name;           ///< `general.name`: a few whitespace rules go by it
};

/// Reads the keys of a file and checks them: array types and lengths, ids inside the vocabulary, byte tokens
/// of the form
/// `<0xHH>`. Throws Error{bad_file | unsupported} naming the key, with what was found.
VocabularyData read_vocabulary(const formats::GgufFile& file, const LogSink& log = {});

/// Throws Error{bad_file} naming the key if the parts do not fit together. `source` stands for the file in
/// messages.
void check_vocabulary(const VocabularyData& data, const std::string& source);

/// Declares the keys in a file that is being written.
void write_vocabulary(formats::GgufWriter& writer, const VocabularyData& data);

/// Adds unused tokens `[PADn]` until there are `size`: models round their number of rows up. Precondition: as
/// many tokens as kinds.
void pad_vocabulary(VocabularyData& data, size_t size);

/// The byte that a token text `<0xHH>` names, or -1 for any other text.
int parse_byte_token(const std::string& text);

}  // namespace powerinfer::tokenizer
