// Adjustments of single logits: the user's bias, and the repetition, frequency and presence penalties.
// Not for repeated sequences: see sampler_dry.h.
#pragma once

#include <vector>

#include "generate/candidates.h"
#include "generate/sampler_options.h"

namespace powerinfer::generate {

/// x + delta, kept out of plus infinity and NaN whatever the user asked for.
float add_capped(float x, double delta);

/// Remembers the last n tokens and how often each occurs among them. Copyable.
class Penalties {
  public:
    /// last_n: the window, >= 1. exempt: a token whose logit stays as it is, or kNoToken.
    Penalties(int n_vocab, int last_n, float repeat, float frequency, float presence, TokenId exempt);

    void accept(TokenId token);
    void forget();
    void apply(Candidates& candidates);

  private:
    float penalized(float logit, int count) const;
    float repeat_, frequency_, presence_;
    TokenId exempt_;
    std::vector<TokenId> window_;  ///< a ring of the last n tokens
    size_t n_seen_ = 0;
    std::vector<int> counts_;  ///< per token: its occurrences in the window
};

}  // namespace powerinfer::generate
