// A layer's predictor ready for the kernels, and the scores it gives its neurons. Not for deciding whether to
// use it, nor for making one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "engine/matrix.h"
#include "kernels/ops.h"
#include "model/model.h"

namespace powerinfer::engine {

/// What model/spec.h draws, for one layer. Empty where the layer has none or the mode does not ask.
struct Predictor {
    model::PredictorKind kind = model::PredictorKind::mlp;
    model::PredictorInput input = model::PredictorInput::residual;
    bool relu = true;
    float threshold = 0;
    Matrix fc1, fc2;                  // mlp, with their biases
    const uint32_t* signs = nullptr;  // sign: [n_ff][words]
    int64_t words = 0;
    const float* sign_bias = nullptr;  // [n_ff] or null

    explicit operator bool() const { return fc1 || signs != nullptr; }
    bool selects(float score) const { return !(score < threshold); }  // NaN goes on, to be reported
    uint64_t n_bytes(int64_t n_ff) const;
};

/// Working memory: what all neurons of a layer share, for the tokens of one pass.
class PredictorInputs {
  public:
    /// max_rank: of all layers; 0 where none has a predictor of two matrices.
    PredictorInputs(int64_t n_embd, int64_t n_batch, int64_t max_rank);

    /// Reads the vectors: `residual` [n_tokens][n_embd], or the normed ones.
    void set(const Predictor& predictor, const float* residual, Activations& normed, const kernels::Ops& ops,
             ThreadPool& pool, int n_threads);

    /// out[t * out_stride + j] = score of neuron first + j for token first_token + t.
    void scores(const Predictor& predictor, int64_t first, int64_t n_neurons, int64_t first_token,
                int64_t n_tokens, float* out, int64_t out_stride) const;

  private:
    int64_t n_embd_;
    AlignedBuffer hidden_;  // f32 [n_batch][max_rank]
    Activations residual_, hidden_acts_;
    std::vector<uint32_t> signs_;  // [n_batch][words]
};

/// signs[i / 32] gets bit i % 32 set where x[i] < 0; [(n + 31) / 32] words.
void pack_signs(const float* x, int64_t n, uint32_t* signs);
/// Of n elements, those whose signs agree less those whose signs differ.
float sign_score(const uint32_t* a, const uint32_t* b, int64_t n);

}  // namespace powerinfer::engine
