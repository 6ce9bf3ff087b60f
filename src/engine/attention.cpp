#include "engine/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace powerinfer::engine {
namespace {

// Positions between two updates of the running softmax.
constexpr int kBlock = 64;

}  // namespace

Attention::Attention(const model::ModelSpec& spec, int n_threads_max)
    : spec_(spec),
      state_floats_((static_cast<size_t>(spec.n_group()) * static_cast<size_t>(spec.head_dim + 2) + 15) / 16 * 16),
      states_(state_floats_ * sizeof(float) * static_cast<size_t>(n_threads_max)) {}

void Attention::run(int layer, std::span<const TokenPlace> places, float* q, float* out, KvCache& cache,
                    const kernels::Ops& ops, ThreadPool& pool, int n_threads) {
    const int64_t width = spec_.n_embd_q();
    const int64_t group_width = static_cast<int64_t>(spec_.n_group()) * spec_.head_dim;
    const auto n_tokens = static_cast<int64_t>(places.size());
    std::atomic<int64_t> next{0};
    pool.run(
        [&](int thread) {
            float* state = states_.as<float>() + static_cast<size_t>(thread) * state_floats_;
            for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n_tokens * spec_.n_head_kv;) {
                const int64_t t = i % n_tokens;
                const auto head = static_cast<int>(i / n_tokens);
                const int64_t offset = t * width + head * group_width;
                const float scale = 1.0f / std::sqrt(static_cast<float>(spec_.head_dim));
                for (int64_t k = 0; k < group_width; ++k) q[offset + k] *= scale;
                one_head(layer, places[static_cast<size_t>(t)], head, q + offset, out + offset, cache, ops, state);
            }
        },
        n_threads);
}

void Attention::one_head(int layer, const TokenPlace& place, int kv_head, const float* q, float* out, KvCache& cache,
                         const kernels::Ops& ops, float* state) const {
    const int n_group = spec_.n_group();
    float* max = state;
    float* sum = max + n_group;
    float* acc = sum + n_group;
    std::fill_n(max, n_group, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, n_group, 0.0f);
    std::fill_n(acc, static_cast<size_t>(n_group) * static_cast<size_t>(spec_.head_dim), 0.0f);

    const size_t stride = cache.row_bytes();
    const uint8_t* keys = cache.keys(place.seq, layer, kv_head);
    const uint8_t* values = cache.values(place.seq, layer, kv_head);
    const auto attend = cache.type() == DType::F16 ? ops.attention_f16 : ops.attention_f32;
    const int end = place.position + 1;
    const int first = spec_.sliding_window > 0 ? std::max(0, end - spec_.sliding_window) : 0;
    for (int begin = first; begin < end;) {
        const int stop = std::min(end, (begin / kBlock + 1) * kBlock);
        attend({.q = q,
                .n_group = n_group,
                .head_dim_k = spec_.head_dim,
                .head_dim_v = spec_.head_dim,
                .k = keys + static_cast<size_t>(begin) * stride,
                .v = values + static_cast<size_t>(begin) * stride,
                .k_stride = stride,
                .v_stride = stride,
                .n_positions = stop - begin,
                .softcap = 0,
                .max = max,
                .sum = sum,
                .acc = acc});
        begin = stop;
    }
    for (int g = 0; g < n_group; ++g) {
        const float inverse = 1.0f / sum[g];
        for (int i = 0; i < spec_.head_dim; ++i)
            out[g * spec_.head_dim + i] = acc[g * spec_.head_dim + i] * inverse;
    }
}

}  // namespace powerinfer::engine
