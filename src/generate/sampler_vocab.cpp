#include "generate/sampler.h"

namespace powerinfer::generate {

SamplerVocab describe_vocab(const tokenizer::Tokenizer& tokenizer, const SamplerOptions& options, int n_vocab,
                            int n_ctx) {
    SamplerVocab vocab;
    vocab.n_vocab = n_vocab;
    vocab.n_ctx = n_ctx;
    vocab.newline = tokenizer.special().newline;
    vocab.suppressed = tokenizer.suppressed();
    // Outputs beyond the vocabulary are padding: they stand for nothing.
    for (TokenId id = tokenizer.n_vocab(); id < n_vocab; ++id) vocab.suppressed.push_back(id);
    for (TokenId id = 0; id < tokenizer.n_vocab(); ++id)
        if (tokenizer.is_end_of_generation(id)) vocab.end_of_generation.push_back(id);
    if (options.dry_multiplier == 0 || options.dry_sequence_breakers.empty()) return vocab;

    std::vector<std::string> pieces;
    pieces.reserve(static_cast<size_t>(tokenizer.n_vocab()));
    for (TokenId id = 0; id < tokenizer.n_vocab(); ++id) pieces.push_back(tokenizer.piece(id, true));
    const auto encode = [&](std::string_view text) { return tokenizer.encode(text, {.add_special = false}); };
    vocab.dry_breakers = find_dry_breakers(options.dry_sequence_breakers, pieces, encode);
    return vocab;
}

}  // namespace powerinfer::generate
