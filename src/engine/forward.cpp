#include "engine/forward.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace powerinfer::engine {
namespace {

AlignedBuffer float_buffer(int64_t rows, int64_t width) {
    return AlignedBuffer(static_cast<size_t>(rows) * static_cast<size_t>(width) * sizeof(float));
}

uint64_t bytes_of(const Matrix& m) {
    return static_cast<uint64_t>(m.n_out) * m.row_stride;
}

}  // namespace

Forward::Forward(const model::ModelSpec& spec, const plan::Plan& plan, const Weights& weights, const kernels::Ops& ops,
                 ThreadPool& pool)
    : spec_(spec),
      plan_(plan),
      weights_(weights),
      ops_(ops),
      pool_(pool),
      rope_(spec.rope),
      attention_(spec, pool.size()),
      feed_forward_(spec, plan.n_batch, weights.max_rank, pool.size(), plan.dense_from),
      acts_(std::max(spec.n_embd, spec.n_embd_q()), plan.n_batch),
      x_(float_buffer(plan.n_batch, spec.n_embd)),
      normed_(float_buffer(plan.n_batch, spec.n_embd)),
      y_(float_buffer(plan.n_batch, spec.n_embd)),
      q_(float_buffer(plan.n_batch, spec.n_embd_q())),
      attended_(float_buffer(plan.n_batch, spec.n_embd_q())),
      k_(float_buffer(plan.n_batch, spec.n_embd_kv())),
      v_(float_buffer(plan.n_batch, spec.n_embd_kv())),
      cos_(float_buffer(plan.n_batch, rope_.n_pairs())),
      sin_(float_buffer(plan.n_batch, rope_.n_pairs())) {}

void Forward::run(std::span<const int32_t> ids, std::span<const TokenPlace> places, KvCache& cache, int n_threads,
                    EngineCounts& counts) {
    const auto n_tokens = static_cast<int64_t>(ids.size());
    embed(ids);
    for (int64_t t = 0; t < n_tokens; ++t)
        rope_.angles(places[static_cast<size_t>(t)].position, cos_.as<float>() + t * rope_.n_pairs(),
                     sin_.as<float>() + t * rope_.n_pairs());
    for (int i = 0; i < spec_.n_layer; ++i) {
        const auto index = static_cast<size_t>(i);
        const LayerWeights& layer = weights_.layers[index];
        norm(layer.attn_norm, n_tokens, n_threads);
        attention_block(layer, i, places, cache, n_threads, counts);
        add_to_residual(y_.as<float>(), n_tokens, n_threads);

        norm(layer.ffn_norm, n_tokens, n_threads);
        feed_forward_.run(i, layer.ffn, plan_.layers[index].mode, x_.as<float>(), acts_, y_.as<float>(), ops_, pool_,
                          n_threads, counts.layers[index], counts.weight_bytes);
        add_to_residual(y_.as<float>(), n_tokens, n_threads);
        check_finite(i, n_tokens);
    }
    counts.tokens += static_cast<uint64_t>(n_tokens);
}

void Forward::logits(std::span<const int64_t> rows, float* out, int n_threads, EngineCounts& counts) {
    float* normed = normed_.as<float>();
    for (size_t i = 0; i < rows.size(); ++i)
        ops_.rms_norm(x_.as<float>() + rows[i] * spec_.n_embd, weights_.output_norm,
                      normed + static_cast<int64_t>(i) * spec_.n_embd, spec_.n_embd, spec_.norm_eps);
    acts_.set(normed, spec_.n_embd, spec_.n_embd, static_cast<int64_t>(rows.size()));
    multiply({{&weights_.output, out, spec_.n_vocab}}, acts_, ops_, pool_, n_threads);
    counts.weight_bytes += bytes_of(weights_.output);
}

void Forward::embed(std::span<const int32_t> ids) {
    const TensorView& table = weights_.token_embd;
    const auto decode = ops_.decode[static_cast<size_t>(table.type)];
    for (size_t t = 0; t < ids.size(); ++t)
        decode(table.row(ids[t]), x_.as<float>() + static_cast<int64_t>(t) * spec_.n_embd, spec_.n_embd);
}

void Forward::norm(const float* weight, int64_t n_tokens, int n_threads) {
    pool_.for_each(
        n_tokens, 4,
        [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t)
                ops_.rms_norm(x_.as<float>() + t * spec_.n_embd, weight, normed_.as<float>() + t * spec_.n_embd,
                              spec_.n_embd, spec_.norm_eps);
        },
        n_threads);
    acts_.set(normed_.as<float>(), spec_.n_embd, spec_.n_embd, n_tokens);
}

void Forward::attention_block(const LayerWeights& layer, int index, std::span<const TokenPlace> places, KvCache& cache,
                              int n_threads, EngineCounts& counts) {
    const auto n_tokens = static_cast<int64_t>(places.size());
    multiply({{&layer.q, q_.as<float>(), spec_.n_embd_q()},
              {&layer.k, k_.as<float>(), spec_.n_embd_kv()},
              {&layer.v, v_.as<float>(), spec_.n_embd_kv()}},
             acts_, ops_, pool_, n_threads);
    store_keys_and_values(index, places, cache, n_threads);
    attention_.run(index, places, q_.as<float>(), attended_.as<float>(), cache, ops_, pool_, n_threads);
    acts_.set(attended_.as<float>(), spec_.n_embd_q(), spec_.n_embd_q(), n_tokens);
    multiply({{&layer.attn_output, y_.as<float>(), spec_.n_embd}}, acts_, ops_, pool_, n_threads);
    for (const Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.attn_output}) counts.weight_bytes += bytes_of(*m);
}

void Forward::store_keys_and_values(int layer, std::span<const TokenPlace> places, KvCache& cache, int n_threads) {
    const int64_t head_dim = spec_.head_dim;
    pool_.for_each(
        static_cast<int64_t>(places.size()), 4,
        [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                const TokenPlace& place = places[static_cast<size_t>(t)];
                const float* cos = cos_.as<float>() + t * rope_.n_pairs();
                const float* sin = sin_.as<float>() + t * rope_.n_pairs();
                float* q = q_.as<float>() + t * spec_.n_embd_q();
                float* k = k_.as<float>() + t * spec_.n_embd_kv();
                float* v = v_.as<float>() + t * spec_.n_embd_kv();
                for (int h = 0; h < spec_.n_head; ++h) rope_.rotate(q + h * head_dim, cos, sin);
                for (int h = 0; h < spec_.n_head_kv; ++h) {
                    rope_.rotate(k + h * head_dim, cos, sin);
                    cache.store(cache.keys(place.seq, layer, h), place.position, k + h * head_dim, ops_);
                    cache.store(cache.values(place.seq, layer, h), place.position, v + h * head_dim, ops_);
                }
            }
        },
        n_threads);
}

void Forward::add_to_residual(const float* y, int64_t n_tokens, int n_threads) {
    pool_.for_each(
        n_tokens, 8,
        [&](int64_t begin, int64_t end) {
            ops_.add(y + begin * spec_.n_embd, x_.as<float>() + begin * spec_.n_embd, (end - begin) * spec_.n_embd);
        },
        n_threads);
}

void Forward::check_finite(int layer, int64_t n_tokens) const {
    const float* x = x_.as<float>();
    float poison = 0;  // stays zero unless an element is infinite or NaN
    for (int64_t i = 0; i < n_tokens * spec_.n_embd; ++i) poison += x[i] * 0.0f;
    if (poison != 0 || std::isnan(poison))
        fail(ErrorKind::internal, "the output of layer {} is not finite: the model's weights are damaged or overflow", layer);
}

}  // namespace powerinfer::engine
