// From logits to one token: bias, the chain of samplers that the options name, and the draw.
// Not for when to stop (stop.h) nor for running the model (generate.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "generate/candidates.h"
#include "generate/sampler_draw.h"
#include "generate/sampler_dry.h"
#include "generate/sampler_options.h"
#include "generate/sampler_penalties.h"

namespace powerinfer::generate {

/// What sampling has to know of the vocabulary.
struct SamplerVocab {
    int n_vocab = 0;  ///< logits per step
    int n_ctx = 0;    ///< tokens that fit the context: the window that -1 stands for
    TokenId newline = tokenizer::kNoToken;
    std::vector<TokenId> end_of_generation;  ///< forbidden by ignore_eos
    std::vector<TokenId> suppressed;         ///< always forbidden
    DryBreakers dry_breakers;
};

/// Reads the facts from a tokenizer. n_vocab may exceed the tokenizer's: models pad their output. Breakers
/// are looked up only when `options` use DRY.
SamplerVocab describe_vocab(const tokenizer::Tokenizer& tokenizer, const SamplerOptions& options, int n_vocab,
                            int n_ctx);

/// A result depends on the logits, the accepted tokens and the seed only. Copyable: a copy goes its own way
/// from the same state. After the constructor nothing is allocated.
class Sampler {
  public:
    /// Throws Error{bad_argument} for options that cannot be right, naming the option.
    Sampler(const SamplerOptions& options, SamplerVocab vocab);

    /// The next token. Does not remember it: accept() does. logits: [n_vocab]. Throws Error{internal} for
    /// NaN.
    TokenId sample(std::span<const float> logits);

    /// Adds a token of the prompt or of the answer to the history. 0 <= token < n_vocab.
    void accept(TokenId token);

    /// Forgets the accepted tokens, not how far the random numbers came nor what mirostat and adaptive sampling
    /// learned.
    void forget_history();

    /// The seed in use: that of the options, or the random one drawn for kRandomSeed.
    uint32_t seed() const { return seed_; }

  private:
    void apply(SamplerKind kind);
    size_t draw_one();

    SamplerOptions options_;
    std::vector<SamplerKind> chain_;
    std::vector<LogitBias> bias_;  ///< of the options, ignore_eos and suppressed tokens
    uint32_t seed_;
    Candidates candidates_;
    std::optional<Penalties> penalties_;
    std::optional<Dry> dry_;
    std::optional<Mirostat> mirostat_;
    std::optional<AdaptiveP> adaptive_;
    Generator draw_generator_, xtc_generator_;
};

}  // namespace powerinfer::generate
