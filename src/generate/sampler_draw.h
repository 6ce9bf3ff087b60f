// The last step: one of the candidates is drawn. Holds the generator and the state of mirostat and
// adaptive-p. Not for filters: see sampler_filters.h.
#pragma once

#include <cstdint>
#include <random>

#include "generate/candidates.h"

namespace powerinfer::generate {

/// Numbers in [0, 1) from a 32-bit Mersenne twister, made the same way with every standard library, so that a
/// seed gives the same text everywhere (and the text that llama.cpp gives).
class Generator {
  public:
    explicit Generator(uint32_t seed) : engine_(seed) {}
    double next_double();  ///< 53 bits from two outputs
    float next_float();    ///< 24 bits from one output

  private:
    std::mt19937 engine_;
};

/// The plain draw. Takes a number from the generator even for a single candidate. Returns a place in items().
size_t draw(Candidates& candidates, Generator& generator);

/// Keeps the surprise of the text near tau (bits per token).
class Mirostat {
  public:
    /// version: 1 or 2.
    Mirostat(int version, int n_vocab, float tau, float eta);
    size_t draw(Candidates& candidates, Generator& generator);

  private:
    void keep_estimated_top(Candidates& candidates) const;
    void keep_unsurprising(Candidates& candidates) const;
    int version_, n_vocab_;
    float tau_, eta_;
    float mu_;  ///< the largest surprise allowed now, in bits
};

/// Prefers candidates whose probability is near a target that follows what was drawn before.
class AdaptiveP {
  public:
    AdaptiveP(float target, float decay);
    size_t draw(Candidates& candidates, Generator& generator);

  private:
    float target_, decay_;
    float weighted_sum_, total_weight_;  ///< decaying average of the probabilities of drawn tokens
};

}  // namespace powerinfer::generate
