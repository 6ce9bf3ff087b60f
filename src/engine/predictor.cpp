#include "engine/predictor.h"

#include <algorithm>
#include <bit>

namespace powerinfer::engine {

using model::PredictorInput;
using model::PredictorKind;

uint64_t Predictor::n_bytes(int64_t n_ff) const {
    if (kind == PredictorKind::sign) return static_cast<uint64_t>(words * n_ff) * sizeof(uint32_t);
    return static_cast<uint64_t>(fc1.n_out) * fc1.row_stride + static_cast<uint64_t>(fc2.n_out) * fc2.row_stride;
}

void pack_signs(const float* x, int64_t n, uint32_t* signs) {
    std::fill(signs, signs + (n + 31) / 32, 0u);
    for (int64_t i = 0; i < n; ++i) signs[i / 32] |= static_cast<uint32_t>(x[i] < 0) << i % 32;
}

float sign_score(const uint32_t* a, const uint32_t* b, int64_t n) {
    int n_different = 0;
    for (int64_t w = 0; w < (n + 31) / 32; ++w) n_different += std::popcount(a[w] ^ b[w]);
    return static_cast<float>(n - 2 * n_different);
}

PredictorInputs::PredictorInputs(int64_t n_embd, int64_t n_batch, int64_t max_rank)
    : n_embd_(n_embd),
      hidden_(static_cast<size_t>(n_batch * max_rank) * sizeof(float)),
      residual_(max_rank > 0 ? n_embd : 0, n_batch),
      hidden_acts_(max_rank, n_batch),
      signs_(static_cast<size_t>(n_batch * ((n_embd + 31) / 32))) {}

void PredictorInputs::set(const Predictor& p, const float* residual, Activations& normed, const kernels::Ops& ops,
                          ThreadPool& pool, int n_threads) {
    const int64_t n_tokens = normed.n_tokens();
    if (p.kind == PredictorKind::sign) {
        const auto* x = p.input == PredictorInput::residual
                            ? residual
                            : reinterpret_cast<const float*>(normed.data(quant::ActivationEncoding::f32));
        for (int64_t t = 0; t < n_tokens; ++t) pack_signs(x + t * n_embd_, n_embd_, signs_.data() + t * p.words);
        return;
    }
    float* hidden = hidden_.as<float>();
    if (p.input == PredictorInput::residual) residual_.set(residual, n_embd_, n_embd_, n_tokens);
    multiply({{&p.fc1, hidden, p.fc1.n_out}}, p.input == PredictorInput::residual ? residual_ : normed, ops, pool,
             n_threads);
    if (p.relu) {
        for (int64_t i = 0; i < n_tokens * p.fc1.n_out; ++i) hidden[i] = hidden[i] > 0 ? hidden[i] : 0.0f;
    }
    hidden_acts_.set(hidden, p.fc1.n_out, p.fc1.n_out, n_tokens);
    hidden_acts_.prepare(p.fc2.encoding, ops, pool, n_threads);
}

void PredictorInputs::scores(const Predictor& p, int64_t first, int64_t n_neurons, int64_t first_token, int64_t n_tokens,
                             float* out, int64_t out_stride) const {
    const float* bias = p.sign_bias;
    if (p.kind == PredictorKind::sign) {
        for (int64_t t = 0; t < n_tokens; ++t) {
            const uint32_t* x = signs_.data() + (first_token + t) * p.words;
            for (int64_t j = 0; j < n_neurons; ++j) {
                out[t * out_stride + j] = sign_score(p.signs + (first + j) * p.words, x, n_embd_);
            }
        }
    } else {
        const size_t stride = hidden_acts_.stride(p.fc2.encoding);
        p.fc2.dot({.weights = p.fc2.data + static_cast<size_t>(first) * p.fc2.row_stride,
                   .row_stride = p.fc2.row_stride,
                   .n_rows = n_neurons,
                   .n = p.fc2.n_in,
                   .acts = hidden_acts_.data(p.fc2.encoding) + static_cast<size_t>(first_token) * stride,
                   .act_stride = stride,
                   .n_tokens = n_tokens,
                   .out = out,
                   .out_stride = out_stride});
        bias = p.fc2.bias;
    }
    if (bias == nullptr) return;
    for (int64_t t = 0; t < n_tokens; ++t) {
        for (int64_t j = 0; j < n_neurons; ++j) out[t * out_stride + j] += bias[first + j];
    }
}

}  // namespace powerinfer::engine
