// Vocabularies in the forms in which models are published: `tokenizer.json` (the `tokenizers` library),
// `tokenizer.model` (SentencePiece), and the `vocab.json` + `merges.txt` of older byte-level models.
// Only reading; the result is what a GGUF file wants to know.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/vocabulary.h"

namespace powerinfer::tokenizer {

/// The vocabulary of a model folder, everything filled in that a GGUF file holds. `tokenizer.model` is
/// preferred where it is a SentencePiece file, then `tokenizer.json`, then `vocab.json` with `merges.txt`;
/// added tokens, names of special tokens and the chat template come from the files beside it. The number of
/// tokens may be smaller than the model's vocab_size: see pad_vocabulary. Throws Error{bad_file | unsupported
/// | io} naming the file and what in it is wrong or not supported.
VocabularyData read_hf_vocabulary(const std::string& folder);

/// A `tokenizer.json`. BPE on bytes becomes "gpt2" with the name of its pre-tokenizer; BPE on characters with
/// U+2581 for spaces (a SentencePiece vocabulary in other clothes) becomes "llama" with scores that follow
/// the order of the merges. Unigram, WordPiece and unknown ways of cutting text are refused.
VocabularyData parse_tokenizer_json(std::string_view json, const std::string& label);

/// A SentencePiece model of type BPE.
VocabularyData parse_sentencepiece(std::span<const uint8_t> bytes, const std::string& label);

/// `vocab.json` (texts to ids) and `merges.txt` (a merge a line) of a GPT-2 style vocabulary.
VocabularyData parse_vocab_and_merges(std::string_view vocab_json, std::string_view merges_text,
                                      const std::string& label);

}  // namespace powerinfer::tokenizer
