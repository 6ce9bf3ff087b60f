// Causal attention of a pass of tokens over the KV cache of their sequences.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

/// out [n_tokens][n_embd_q] = softmax(q . K) V per head, of q [n_tokens][n_embd_q]. Keys and values of the tokens
/// themselves are in the cache already. Positions are summed in blocks within runs, whose edges depend on the position
/// alone; the runs of a token are added in order. So a token's result does not depend on the pass it came in, nor on
/// the number of threads. Neighbouring tokens of a sequence share reads of keys and values; where there are few heads
/// for the threads, the runs of one head are shared out, too.
class Attention {
  public:
    Attention(const model::ModelSpec& spec, int n_threads_max);
    void run(int layer, std::span<const TokenPlace> places, const float* q, float* out, KvCache& cache,
             const kernels::Ops& ops, ThreadPool& pool, int n_threads);

  private:
    /// Neighbouring tokens of one sequence that are computed together.
    struct Block {
        int64_t first_token;
        int n_tokens, seq, position;  // of the first token; the others follow
    };
    struct Pass {
        int layer;
        const float* q;
        float* out;
        KvCache& cache;
        const kernels::Ops& ops;
        kernels::AttentionFn attend;
        int rows;        // n_group * most tokens of a block
        int n_runs;      // most runs of a token
        bool split;      // runs are handed out one by one
    };
    /// max, sum and weighted values of the rows of a block: token after token, each with n_group query heads.
    struct State {
        float *max, *sum, *acc;
    };

    int first_position(const Block& block, int token) const;
    void make_blocks(std::span<const TokenPlace> places);
    void one_item(const Pass& pass, int64_t item, int thread);
    const uint8_t* queries(const Pass& pass, const Block& block, int head, int thread, size_t& stride);
    void one_run(const Pass& pass, const Block& block, int head, int run, const uint8_t* q, size_t q_stride,
                 const State& state) const;
    void fold(const Block& block, int run, const State& from, const State& into) const;
    void finish(const Pass& pass, const Block& block, int head, const State& state) const;
    State state_at(float* memory, int rows) const;
    size_t state_floats(int rows) const;

    model::ModelSpec spec_;
    int rows_max_;
    size_t thread_bytes_, encoded_stride_;
    AlignedBuffer scratch_;    // per thread: queries, encoded queries, state of a run, state of all runs so far
    AlignedBuffer partials_;   // states of runs that were handed out one by one
    std::unique_ptr<std::atomic<int>[]> open_runs_;  // per block and head: how many such are not done yet
    std::vector<Block> blocks_;
};

}  // namespace powerinfer::engine
