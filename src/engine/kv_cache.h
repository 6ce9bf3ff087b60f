// Keys and values of the tokens so far, per sequence. Position p of a sequence lies at index p, so the order in which
// attention sums depends on nothing but the sequence itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/dtype.h"
#include "engine/rope.h"
#include "kernels/ops.h"
#include "model/spec.h"

namespace powerinfer::engine {

/// Layout: [seq][layer][K | V][kv head][n_ctx][head_dim], F32, F16, BF16 or Q8_0. Q8_0 keeps quants and scales apart: a
/// head's int8 rows are followed by its scales, F16 [head_dim / 32][n_ctx rounded up to 32]. Keys are stored rotated.
/// Pages that no token has reached take no memory.
class KvCache {
  public:
    /// Blocks of the type divide the model's head_dim (plan::solve checks it).
    KvCache(const model::ModelSpec& spec, int n_ctx, int n_seq, DType type);

    int n_ctx() const { return n_ctx_; }
    int n_seq() const { return static_cast<int>(n_past_.size()); }
    DType type() const { return type_; }

    int n_past(int seq) const { return n_past_[static_cast<size_t>(seq)]; }
    void set_n_past(int seq, int n_past) { n_past_[static_cast<size_t>(seq)] = n_past; }

    /// Keys or values of one head.
    struct Head {
        uint8_t* rows;        ///< of position 0; positions lie row_stride() bytes apart
        uint16_t* scales;     ///< of Q8_0: block b of position p has the scale [b * scale_stride() + p]
    };
    Head keys(int seq, int layer, int head) { return at(seq, layer, 0, head); }
    Head values(int seq, int layer, int head) { return at(seq, layer, 1, head); }
    size_t row_stride() const { return row_stride_; }
    size_t scale_stride() const { return scale_stride_; }

    /// Stores head_dim floats at a position.
    void store(const Head& head, int position, const float* x, const kernels::Ops& ops) const;

    /// Forgets [n_keep, n_keep + n_discard), moves later positions down and turns their keys to the new places.
    void shift(int seq, int n_keep, int n_discard, const RopeTable& rope, const kernels::Ops& ops);
    void copy(int from, int to, int n_past);

    /// The bytes of the first n_past positions of a sequence, always in the same order: for files.
    std::vector<std::span<uint8_t>> pieces(int seq, int n_past);

  private:
    Head at(int seq, int layer, int is_value, int head);
    void load(const Head& head, int position, float* x) const;
    void move(const Head& from, int from_position, const Head& to, int to_position, int n) const;
    int n_layer_, n_head_kv_, head_dim_, n_ctx_;
    DType type_;
    size_t row_stride_;
    size_t scale_stride_, n_scales_;  // scales from block to block, blocks of a row; 0 where scales are not apart
    size_t head_bytes_;
    AlignedBuffer buffer_;
    std::vector<int> n_past_;
};

}  // namespace powerinfer::engine
