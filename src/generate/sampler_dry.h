// DRY: the longer the repetition that a token would continue, the more its logit is lowered.
// Not for single repeated tokens: see sampler_penalties.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generate/candidates.h"

namespace powerinfer::generate {

/// Token sequences that end the search for a repetition. Key: first token; values: the tokens that must
/// follow it, where an empty one makes the key a breaker by itself.
using DryBreakers = std::unordered_map<TokenId, std::vector<std::vector<TokenId>>>;

/// Finds all ways in which tokens can spell each breaker string, also inside or across token borders.
/// pieces: what each token stands for, by id. encode: text to tokens, without special tokens.
DryBreakers find_dry_breakers(std::span<const std::string> breakers, std::span<const std::string> pieces,
                              const std::function<std::vector<TokenId>(std::string_view)>& encode);

class Dry {
  public:
    /// last_n: the window in tokens, >= 1.
    Dry(int last_n, float multiplier, float base, int allowed_length, DryBreakers breakers, int n_vocab);

    void accept(TokenId token);
    void forget();
    void apply(Candidates& candidates);

  private:
    int repeat_limit(std::span<const TokenId> newest_first) const;
    bool is_breaker(TokenId token) const;

    float multiplier_, base_;
    int allowed_length_;
    int largest_exponent_;  ///< where base to this power still fits a float; -1: no bound needed
    DryBreakers breakers_;
    std::vector<TokenId> window_;  ///< a ring of the last n tokens
    size_t n_seen_ = 0;
    std::vector<TokenId> newest_first_;
    std::vector<int> common_;     ///< per place of newest_first_: tokens in common with its beginning
    std::vector<int> longest_;    ///< per token: longest repetition it would continue, or -1
    std::vector<TokenId> found_;  ///< tokens with an entry in longest_
};

}  // namespace powerinfer::generate
