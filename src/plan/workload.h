// What is to be placed, as numbers: bytes, weights and firing frequencies per layer. Not where it goes: see placement.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "sparsity/profile.h"

namespace powerinfer::plan {

/// Neurons per group: the unit of placement.
inline constexpr int kGroupNeurons = 64;

/// Weights that are read together.
struct Piece {
    double bytes = 0, weights = 0;

    Piece& operator+=(const Piece& other);
    Piece operator*(double factor) const { return {bytes * factor, weights * factor}; }
};

/// Neighbours in the order of firing, or an expert of a mixture: held and given away as one.
struct Group {
    double frequency = 1;  ///< mean share of tokens for which a neuron of it is computed, 0..1
    uint32_t n_neurons = kGroupNeurons;
};

struct LayerLoad {
    Piece attention;          ///< norm, q, k, v, output; all read for every token
    uint64_t kv_bytes = 0;    ///< the layer's share of the KV cache, half of it keys
    /// What every side that computes neurons of the layer needs: FFN norm, first matrix of the predictor, router.
    Piece shared;
    std::vector<uint64_t> attention_tensors, shared_tensors;  ///< bytes of each, for padding
    Piece always, fired;      ///< per neuron: read for every token / only when it fires
    std::vector<uint32_t> row_bytes;  ///< of a neuron, one entry per matrix; each matrix is an allocation of its own
    std::vector<Group> groups;        ///< hottest first
};

struct Workload {
    std::string model;        ///< for people
    int n_embd = 0, n_vocab = 0;
    std::vector<LayerLoad> layers;
    Piece head;               ///< output norm and matrix
    std::vector<uint64_t> head_tensors;
    uint64_t embedding_bytes = 0;  ///< stays with the processor, which reads one row per token
    bool tied_head = false;        ///< the processor's head is the embedding itself
    double read_share_of_kv = 1;   ///< part of the KV cache that a token of the middle of a text reads
    uint64_t scratch_bytes = 0;    ///< working memory of each side
    uint64_t fingerprint = 0;      ///< of model, profile and what else went in

    uint64_t layer_bytes(size_t layer) const;  ///< weights and cache
    uint64_t total_bytes() const;              ///< of weights and cache; a tied head counts once
    int64_t n_neurons(size_t layer) const;
};

/// Order of a layer's neurons, hottest first; of equals the lower number. What group a neuron belongs to follows.
std::vector<int32_t> hottest_first(const std::vector<double>& frequency);

/// Mean frequency per group of neighbours in that order.
std::vector<Group> groups_of(std::vector<double> frequency);

/// Firing frequencies [layer][neuron]. In mode `off` (and without a profile) every neuron counts as firing always.
using Frequencies = std::vector<std::vector<double>>;
Frequencies frequencies_of(const sparsity::ActivationProfile& profile);

/// Of a model and its plan for the processor (mode, context, number formats).
Workload workload_of(const model::Model& model, const Plan& plan, const Frequencies& frequencies);

/// A model that need not exist: llama's tensors in one number format.
struct Shape {
    std::string name;
    int n_vocab = 32000, n_embd = 4096, n_layer = 32, n_ff = 11008, n_embd_kv = 4096;
    DType type = DType::Q4_0, predictor_type = DType::Q4_0, kv_type = DType::F16;
    int rank = 1024;   ///< of the predictors; 0 = none, every gate is computed (mode exact)
    int n_ctx = 4096, n_batch = 512;
};
Workload workload_of(const Shape& shape, const Frequencies& frequencies);

/// Frequencies c k^-a cut off at 1 with mean `active_share`, `a` such that the hottest `share_of_80` of the neurons make 80 % of
/// all firing. Throws Error{bad_argument} where no such law exists.
std::vector<double> power_law(int n_ff, double active_share, double share_of_80);

}  // namespace powerinfer::plan
