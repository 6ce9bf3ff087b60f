// From the scores of a predictor and what neurons contribute to thresholds: the trade between neurons computed and
// contribution lost, neuron by neuron. Not for making scores, nor for choosing a point of the trade.
//
// The contribution of a neuron to a token is h^2 |down row|^2. For a price `lambda` every neuron gets the threshold that
// minimises (share of the layer's contribution that it loses) + lambda * (share of the layer's pairs of neuron and token
// that it computes). So those that contribute least are switched off first, and one price serves all neurons and layers.
#pragma once

#include <span>
#include <vector>

#include "learn/matmul.h"

namespace powerinfer::learn {

/// Prices from next to nothing to more than any contribution is worth, rising by a fixed factor.
std::span<const double> prices();

struct CurvePoint {
    std::vector<float> thresholds;  ///< [n_ff], or one for all neurons; scores at least this high are computed
    // On the tokens that the thresholds were not made from:
    double share = 0;   ///< of neurons computed
    double lost = 0;    ///< share of the contribution that is left out
    double recall = 0;  ///< share of the firing neurons that are computed
};

/// One point per price.
struct Curve {
    std::vector<CurvePoint> points;
    double true_share = 0;  ///< of neurons that fire
};

/// scores, contributions: [n_ff][n_tokens]; contributions are 0 exactly where a neuron did not fire. Thresholds are made
/// from all tokens but the last quarter, which the points are measured on. per_neuron false: one threshold for all.
Curve make_curve(const Floats& scores, const Floats& contributions, bool per_neuron, ThreadPool& pool);

}  // namespace powerinfer::learn
