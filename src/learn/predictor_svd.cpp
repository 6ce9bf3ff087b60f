// `svd` and `sign`: predictors made from the weights, with thresholds from recorded tokens.
#include <algorithm>

#include "engine/predictor.h"
#include "learn/ffn_samples.h"
#include "learn/low_rank.h"
#include "learn/predictor_maker.h"

namespace powerinfer::learn {
namespace {

/// The gate as it meets the un-normed residual: the norm's weights go into it, the norm's scale only moves all logits of a
/// token together.
void fold_norm(const model::Model& model, int layer, Floats& gate) {
    const auto* weight = static_cast<const float*>(model.tensors.layers[static_cast<size_t>(layer)].ffn_norm.data);
    for (int64_t j = 0; j < gate.rows; ++j) {
        for (int64_t i = 0; i < gate.columns; ++i) gate.row(j)[i] *= weight[i];
    }
}

/// The first `n` rows, then their negatives where `mirrored`.
Floats some_rows(const Floats& a, int64_t n, bool mirrored) {
    Floats out(mirrored ? 2 * n : n, a.columns);
    for (int64_t r = 0; r < out.rows; ++r) {
        for (int64_t c = 0; c < a.columns; ++c) out.row(r)[c] = r < n ? a.row(r)[c] : -a.row(r - n)[c];
    }
    return out;
}

Floats some_columns(const Floats& a, int64_t n, bool mirrored) {
    Floats out(a.rows, mirrored ? 2 * n : n);
    for (int64_t r = 0; r < out.rows; ++r) {
        for (int64_t c = 0; c < out.columns; ++c) out.row(r)[c] = c < n ? a.row(r)[c] : -a.row(r)[c - n];
    }
    return out;
}

}  // namespace

std::vector<Candidate> svd_candidates(const model::Model& model, int layer, const Floats& x, const Floats& contributions,
                                      const MakerOptions& options, Multiplier& multiply) {
    const model::PredictorSpec spec = spec_of(options);
    Floats gate = gate_rows(model, layer);
    if (options.original_form) fold_norm(model, layer, gate);
    const std::vector<int64_t> ranks = ranks_to_try(options, model.spec.n_embd);
    const LowRank factors = low_rank(gate, covariance(x, multiply), ranks.back(), multiply);
    std::vector<Candidate> candidates;
    for (const int64_t rank : ranks) {
        const int64_t n = std::min(rank, factors.first.rows);
        Candidate c;
        // Without the ReLU's help z = relu(z) - relu(-z), so the original's form holds a linear predictor at twice the rank.
        c.predictor.fc1 = encoded(some_rows(factors.first, n, options.original_form), options.type);
        c.predictor.fc2 = encoded(some_columns(factors.second, n, options.original_form), options.type);
        c.curve = make_curve(scores_of(c.predictor, spec, x, multiply), contributions, !options.original_form, multiply.pool());
        candidates.push_back(std::move(c));
    }
    return candidates;
}

std::vector<Candidate> sign_candidates(const model::Model& model, int layer, const Floats& x, const Floats& contributions,
                                       Multiplier& multiply) {
    const Floats gate = gate_rows(model, layer);
    const int64_t words = (gate.columns + 31) / 32;
    Candidate c;
    c.predictor.signs.resize(static_cast<size_t>(gate.rows * words));
    for (int64_t j = 0; j < gate.rows; ++j) engine::pack_signs(gate.row(j), gate.columns, c.predictor.signs.data() + j * words);
    MakerOptions options;
    options.maker = Maker::sign;
    c.curve = make_curve(scores_of(c.predictor, spec_of(options), x, multiply), contributions, true, multiply.pool());
    std::vector<Candidate> candidates;
    candidates.push_back(std::move(c));
    return candidates;
}

}  // namespace powerinfer::learn
