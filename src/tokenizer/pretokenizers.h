// The named ways in which BPE tokenizers cut text into pieces before merging (`tokenizer.ggml.pre`), and
// their application. Not for the merging: see bpe.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/regex.h"

namespace powerinfer::tokenizer {

/// What the symbols are that merging starts from.
enum class Alphabet {
    bytes,       ///< every byte as a printable character (GPT-2)
    characters,  ///< characters with spaces as U+2581, bytes as `<0xHH>` where a character has no token
};

/// One way of cutting: stages applied one after another, each to every piece that the one before it left.
/// A stage is a regular expression, or kThreesFromRight.
struct PreTokenizerInfo {
    std::string_view name;
    std::span<const std::string_view> stages;
    bool ignore_merges = false;  ///< a piece that is itself a token is taken whole
    bool add_bos = false;        ///< where the file does not say
    Alphabet alphabet = Alphabet::bytes;
    bool whole_newlines = false;  ///< a piece of newlines that is a token is taken whole
};

/// A stage that no regular expression does in linear time: runs of digits in threes, the first piece one to
/// three.
inline constexpr std::string_view kThreesFromRight = "<threes from the right>";

/// The pattern of GPT-2, which the `ByteLevel` pre-tokenizer of tokenizer.json files applies by itself.
extern const std::string_view kGpt2Pattern;

/// The pattern that the `Punctuation` pre-tokenizer of tokenizer.json files stands for.
extern const std::string_view kPunctuationPattern;

/// The row of a name, or null.
const PreTokenizerInfo* find_pre_tokenizer(std::string_view name);

/// All names, in the order of the table.
std::vector<std::string_view> pre_tokenizer_names();

/// A compiled row. Immutable; split() may be called from several threads at once.
class PreTokenizer {
  public:
    explicit PreTokenizer(const PreTokenizerInfo& info);

    /// Pieces that together are `text`, which may be any bytes: one that is not UTF-8 is treated as U+FFFD
    /// would be.
    std::vector<std::string_view> split(std::string_view text) const;

    const PreTokenizerInfo& info() const { return info_; }

  private:
    struct Stage {
        Regex regex;
        bool threes_from_right;
    };
    std::vector<Span> spans(std::string_view well_formed) const;
    PreTokenizerInfo info_;
    std::vector<Stage> stages_;
};

}  // namespace powerinfer::tokenizer
