// Causal attention of a pass of tokens over the KV cache of their sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "engine/kv_cache.h"
#include "kernels/ops.h"
#include "model/spec.h"

namespace powerinfer::engine {

/// Where a token of the pass stands.
struct TokenPlace {
    int seq = 0, position = 0;
};

/// out [n_tokens][n_embd_q] = softmax(q . K) V per head; q [n_tokens][n_embd_q] is scaled in place. Keys and values of
/// the tokens themselves are in the cache already. Positions are summed in blocks whose edges depend on the position
/// alone, so a token's result does not depend on the pass it came in.
class Attention {
  public:
    Attention(const model::ModelSpec& spec, int n_threads_max);
    void run(int layer, std::span<const TokenPlace> places, float* q, float* out, KvCache& cache,
             const kernels::Ops& ops, ThreadPool& pool, int n_threads);

  private:
    void one_head(int layer, const TokenPlace& place, int kv_head, const float* q, float* out, KvCache& cache,
                  const kernels::Ops& ops, float* state) const;
    model::ModelSpec spec_;
    size_t state_floats_;   // per thread: max, sum and weighted values of one group of query heads
    AlignedBuffer states_;
};

}  // namespace powerinfer::engine
