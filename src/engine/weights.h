// All weights of a model in the form the kernels take, and the memory of those that were re-laid.
#pragma once

#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "engine/feed_forward.h"
#include "engine/matrix.h"
#include "model/model.h"
#include "plan/plan.h"

namespace powerinfer::engine {

struct LayerWeights {
    const float* attn_norm;
    const float* ffn_norm;  // [n_embd]
    Matrix q, k, v, attn_output;
    FfnWeights ffn;
};

struct Weights {
    TensorView token_embd;
    const float* output_norm;  // [n_embd]
    Matrix output;
    std::vector<LayerWeights> layers;
    std::vector<AlignedBuffer> relaid;  // owned memory behind matrices that do not lie in the file
    int64_t max_rank = 0;

    uint64_t relaid_bytes() const;
};

/// Binds every matrix to its kernels and re-lays what the plan says, in parallel and with progress. With a path, what was
/// re-laid is kept in that file and taken from it the next time (layout_cache.h).
Weights prepare_weights(const model::Model& model, const plan::Plan& plan, const kernels::Ops& ops, ThreadPool& pool,
                        const std::string& layout_path, const LogSink& log, const Progress& progress);

}  // namespace powerinfer::engine
