// The feed-forward of one layer, dense or sparse, for one token or many.
//
//   h_j = act(gate_j . x) * (up_j . x),   y = sum over j of h_j * down_t[j,:]
//
// Neurons are cut into fixed chunks that depend on n_ff alone. Each chunk adds its neurons in index order, slab by slab
// (AxpyArgs in kernels/ops.h; slabs are cut by neuron, not by list position), into a partial sum and the partial sums are
// added in chunk order. So neither the threads nor the batch change a bit of y, and leaving out neurons whose h is zero
// changes nothing either.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "engine/matrix.h"
#include "engine/observer.h"
#include "engine/predictor.h"
#include "kernels/ops.h"
#include "quant/format.h"
#include "model/spec.h"
#include "plan/plan.h"

namespace powerinfer::engine {

/// Weights of one feed-forward. The down projection is there in one of three forms: `down` {n_ff, n_embd} as ordinary
/// files have it, `down_t` {n_embd, n_ff}, or `grouped`, blocks re-laid by neuron.
struct FfnWeights {
    Matrix gate, up, down, down_t;
    Predictor predictor;
    kernels::GroupedMatrix grouped{};
    quant::ActivationEncoding grouped_encoding = quant::ActivationEncoding::f32;  ///< f32: there is no `grouped`
    const float* down_bias = nullptr;  ///< [n_embd] or null

    bool is_grouped() const { return grouped_encoding != quant::ActivationEncoding::f32; }
    bool is_by_neuron() const { return down_t || is_grouped(); }
};

/// Working memory and thread-local lists, made once for all layers.
class FeedForward {
  public:
    /// `dense_from` as in plan::Plan.
    FeedForward(const model::ModelSpec& spec, int n_batch, int64_t max_rank, int n_threads_max, double dense_from);

    /// Shows every feed-forward from now on to `observer`; an empty one ends that.
    void observe(Observer observer);

    /// y [n_tokens][n_embd] = feed-forward of the normed vectors. `residual` [n_tokens][n_embd] is what predictors read.
    /// Adds what was done to `counts` and the weight bytes that had to be read to `weight_bytes`.
    void run(int layer, const FfnWeights& weights, sparsity::Mode mode, const float* residual, Activations& normed, float* y,
             const kernels::Ops& ops, ThreadPool& pool, int n_threads, LayerCounts& counts, uint64_t& weight_bytes);

  private:
    /// The arguments of one run(), shared by its pieces.
    struct Call {
        int layer;
        const FfnWeights& weights;
        sparsity::Mode mode;
        Activations& normed;
        float* y;
        const kernels::Ops& ops;
        ThreadPool& pool;
        int n_threads;
        std::atomic<uint64_t> selected{0}, positive{0}, fired{0}, rows_gate{0}, rows_up{0};

        int64_t n_tokens() const { return normed.n_tokens(); }
    };
    /// Lists and small buffers of one thread.
    struct Scratch {
        std::vector<int32_t> ids, fired;         // neurons of a chunk
        std::vector<float> gate, up, h, logits;  // [chunk] for one token, [tile tokens][tile neurons] for many
        std::vector<int32_t> tokens;             // token list of one neuron
        std::vector<float> values;               // results of such a list
        std::vector<uint8_t> encoded;            // h of a chunk
        AlignedBuffer prepared;                  // columns of the chunk's down rows, taken apart
    };

    void one_token(Call& call);
    void one_token_chunk(Call& call, Scratch& scratch, int64_t chunk);
    void add_chunk_grouped(Call& call, Scratch& scratch, int64_t chunk, int64_t n_fired);
    void compute_neurons(Call& call);
    void show_neurons(Call& call, const float* residual);
    void down_step(Call& call);
    void dense_down(Call& call);
    void neuron_block(Call& call, Scratch& scratch, int64_t begin, int64_t end);
    void neuron_tile(Call& call, Scratch& scratch, int64_t begin, int64_t end, int64_t token, int64_t n_tokens);
    void list_active(Call& call);
    void down_tiles(Call& call);
    void down_tile(Call& call, int64_t column, uint8_t* prepared);
    void add_tile(Call& call, int64_t t, int64_t chunk, int64_t column, int64_t width, const uint8_t* prepared, float* out);
    void add_tile_grouped(Call& call, int64_t t, int64_t chunk, int64_t column, int64_t width, float* out);

    model::ModelSpec spec_;
    kernels::GateActivation activation_;
    double dense_from_;
    int64_t chunk_ = 0, n_chunks_ = 0;  // neurons per chunk, number of chunks
    AlignedBuffer h_;         // f32 [n_batch][n_ff]
    AlignedBuffer coefs_;     // f32 [n_batch][n_ff]; its non-zero values, packed to the left
    AlignedBuffer ids_;       // i32 [n_batch][n_ff]; neurons of those values
    AlignedBuffer starts_;    // i32 [n_batch][n_chunks + 1]; where each chunk begins in ids_
    AlignedBuffer partial_;   // f32 [n_chunks][n_embd]; one token's partial sums
    PredictorInputs predictor_inputs_;
    Activations h_acts_;
    std::vector<Scratch> scratch_;  // per thread
    Observer observer_;
    /// What an observer is shown, [n_batch][n_ff] each; empty without one.
    struct Shown {
        AlignedBuffer gate, up, h, logits;  // f32
        std::vector<uint8_t> selected;
    } shown_;
};

}  // namespace powerinfer::engine
