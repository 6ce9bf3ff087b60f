// The best approximation of a layer's gate by two thin matrices, seen through the vectors it is applied to.
#pragma once

#include "learn/matmul.h"

namespace powerinfer::learn {

/// gate ~ second . first on vectors of the given covariance.
struct LowRank {
    Floats first;                   ///< [rank][n_embd], most important rows first
    Floats second;                  ///< [n_ff][rank], orthonormal columns
    std::vector<double> singular;   ///< [rank] of gate . covariance^(1/2)
    double total = 0;               ///< sum of the squares of all singular values, kept or not
};

/// C = (1 / n) sum of (x - mean)(x - mean)^T, plus a hundredth of its mean diagonal on the diagonal: directions that few
/// tokens show are not taken for certain. x: [n_tokens][n_embd].
Floats covariance(const Floats& x, Multiplier& multiply);

/// Subspace iteration, then Rayleigh-Ritz: exact up to rounding where rank is that of the gate, else within the gap of the
/// singular values to the power of the passes. gate: [n_ff][n_embd], C: [n_embd][n_embd]. The same seed gives the same.
LowRank low_rank(const Floats& gate, const Floats& covariance, int64_t rank, Multiplier& multiply);

}  // namespace powerinfer::learn
