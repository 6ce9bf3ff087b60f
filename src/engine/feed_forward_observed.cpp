// The feed-forward with every neuron computed and shown. What goes on to the down projection is what the
// plain path makes, bit by bit: one summation order per (row, token), whichever way it is computed.
#include <algorithm>

#include "engine/feed_forward.h"

namespace powerinfer::engine {

using sparsity::Mode;

void FeedForward::observe(Observer observer) {
    observer_ = std::move(observer);
    shown_ = {};
    if (!observer_) return;
    const size_t bytes = h_.size();
    for (AlignedBuffer* buffer : {&shown_.gate, &shown_.up, &shown_.h, &shown_.logits})
        *buffer = AlignedBuffer(bytes);
    shown_.selected.resize(bytes / sizeof(float));
}

void FeedForward::show_neurons(Call& call, const float* residual) {
    const FfnWeights& w = call.weights;
    const int64_t n_ff = spec_.n_ff, n_tokens = call.n_tokens();
    float *gate = shown_.gate.as<float>(), *up = shown_.up.as<float>(), *all = shown_.h.as<float>();
    const float* logits = shown_.logits.as<float>();
    multiply({{&w.gate, gate, n_ff}, {&w.up, up, n_ff}}, call.normed, call.ops, call.pool, call.n_threads);
    if (call.mode == Mode::predict)
        call.pool.for_each(
            n_ff, 256,
            [&](int64_t begin, int64_t end) {
                predictor_inputs_.scores(w.predictor, begin, end - begin, 0, n_tokens,
                                         shown_.logits.as<float>() + begin, n_ff);
            },
            call.n_threads);
    call.pool.for_each(
        n_tokens, 1,
        [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                call.ops.gate(activation_, gate + t * n_ff, up + t * n_ff, all + t * n_ff, n_ff);
                uint64_t n_selected = 0, n_positive = 0, n_fired = 0;
                for (int64_t i = t * n_ff; i < (t + 1) * n_ff; ++i) {
                    const bool selected =
                        call.mode != Mode::predict || w.predictor.selects(logits[i]);
                    const bool used = call.mode == Mode::off || (selected && !(gate[i] <= 0));
                    shown_.selected[static_cast<size_t>(i)] = selected;
                    h_.as<float>()[i] = used ? all[i] : 0.0f;
                    n_selected += selected;
                    n_positive += selected && gate[i] > 0;
                    n_fired += used;
                }
                call.selected += n_selected;
                call.positive += n_positive;
                call.fired += n_fired;
            }
        },
        call.n_threads);
    call.rows_gate = call.rows_up = static_cast<uint64_t>(n_ff);
    observer_({.layer = call.layer,
               .n_tokens = n_tokens,
               .n_embd = spec_.n_embd,
               .n_ff = n_ff,
               .residual = residual,
               .normed = reinterpret_cast<const float*>(call.normed.data(quant::ActivationEncoding::f32)),
               .gate = gate,
               .up = up,
               .h = all,
               .selected = call.mode == Mode::predict ? shown_.selected.data() : nullptr});
}

}  // namespace powerinfer::engine
