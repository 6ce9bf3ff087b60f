// The transformer, layer after layer: one pass of up to n_batch tokens from ids to final residuals.
#pragma once

#include <span>
#include <vector>

#include "engine/attention.h"
#include "engine/engine.h"
#include "engine/feed_forward.h"
#include "engine/kv_cache.h"
#include "engine/rope.h"
#include "engine/weights.h"

namespace powerinfer::engine {

class Forward {
  public:
    Forward(const model::ModelSpec& spec, const plan::Plan& plan, const Weights& weights, const kernels::Ops& ops,
            ThreadPool& pool);

    /// Runs the tokens through all layers and stores their keys and values. places[i] is where ids[i] goes.
    /// Throws Error{internal} naming the first layer whose output is not finite.
    void run(std::span<const int32_t> ids, std::span<const TokenPlace> places, KvCache& cache, int n_threads,
               EngineCounts& counts);

    void observe(Observer observer) { feed_forward_.observe(std::move(observer)); }

    /// out [rows.size()][n_vocab] = logits of the listed residuals of the last run().
    void logits(std::span<const int64_t> rows, float* out, int n_threads, EngineCounts& counts);

  private:
    void embed(std::span<const int32_t> ids);
    void norm(const float* weight, int64_t n_tokens, int n_threads);
    void attention_block(const LayerWeights& layer, int index, std::span<const TokenPlace> places, KvCache& cache,
                         int n_threads, EngineCounts& counts);
    void store_keys_and_values(int layer, std::span<const TokenPlace> places, KvCache& cache, int n_threads);
    void add_to_residual(const float* y, int64_t n_tokens, int n_threads);
    void check_finite(int layer, int64_t n_tokens) const;

    const model::ModelSpec& spec_;
    const plan::Plan& plan_;
    const Weights& weights_;
    const kernels::Ops& ops_;
    ThreadPool& pool_;
    RopeTable rope_;
    Attention attention_;
    FeedForward feed_forward_;
    Activations acts_;
    AlignedBuffer x_, normed_, y_;       // f32 [n_batch][n_embd]: residual, normed, what a block adds
    AlignedBuffer q_, attended_, k_, v_; // f32 [n_batch][n_embd_q | n_embd_kv]
    AlignedBuffer cos_, sin_;            // f32 [n_batch][n_pairs]
};

}  // namespace powerinfer::engine
