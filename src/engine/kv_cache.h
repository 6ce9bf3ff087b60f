// Keys and values of the tokens so far, per sequence. Position p of a sequence lies at index p, so the order in which
// attention sums depends on nothing but the sequence itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/dtype.h"
#include "engine/rope.h"
#include "kernels/ops.h"
#include "model/spec.h"

namespace powerinfer::engine {

/// Layout: [seq][layer][K | V][kv head][n_ctx][head_dim], F16 or F32. Keys are stored rotated. Pages that no token
/// has reached take no memory.
class KvCache {
  public:
    KvCache(const model::ModelSpec& spec, int n_ctx, int n_seq, DType type);

    int n_ctx() const { return n_ctx_; }
    int n_seq() const { return static_cast<int>(n_past_.size()); }
    DType type() const { return type_; }
    size_t row_bytes() const { return row_bytes_; }  ///< of one position of one head

    int n_past(int seq) const { return n_past_[static_cast<size_t>(seq)]; }
    void set_n_past(int seq, int n_past) { n_past_[static_cast<size_t>(seq)] = n_past; }

    /// First position of one head; positions lie row_bytes() apart.
    uint8_t* keys(int seq, int layer, int head) { return at(seq, layer, 0, head); }
    uint8_t* values(int seq, int layer, int head) { return at(seq, layer, 1, head); }

    /// Stores head_dim floats at a position of a head's keys or values.
    void store(uint8_t* head, int position, const float* x, const kernels::Ops& ops) const;

    /// Forgets [n_keep, n_keep + n_discard), moves later positions down and turns their keys to the new places.
    void shift(int seq, int n_keep, int n_discard, const RopeTable& rope);
    void copy(int from, int to, int n_past);

  private:
    uint8_t* at(int seq, int layer, int is_value, int head);
    int n_layer_, n_head_kv_, head_dim_, n_ctx_;
    DType type_;
    size_t row_bytes_;
    AlignedBuffer buffer_;
    std::vector<int> n_past_;
};

}  // namespace powerinfer::engine
