// Activation profiles: how often and how strongly each feed-forward neuron of a model fired over some text,
// as data. Not for making them (learn/) nor for the `.pt` folders of published models (activation_folder.h).
//
// In a file, which is a GGUF file of its own (general.architecture = "powerinfer.profile", no tensors) or a
// model's. All is in keys, because the original engine refuses models with tensors that it does not know:
//
//   powerinfer.profile.version      u32 = 1
//   powerinfer.profile.tokens       u64     tokens counted; 0 = not known
//   powerinfer.profile.fingerprint  u64     of the model (fingerprint_of); 0 = not known
//   powerinfer.profile.n_layer, .n_embd, .n_ff   u32; n_embd 0 = not known
//   powerinfer.profile.sources      strings what was read, for people
//   powerinfer.profile.numbering    u64     numbering_of() the profiled file; a profile in a model file has
//                                           the numbers of that file whatever stands here
//
// and for every layer N, one value per neuron, the last three together or not at all:
//
//   powerinfer.profile.N.fires         u64[n_ff]  tokens for which the neuron fired
//   powerinfer.profile.N.sum           f64[n_ff]  sum of its activation h over all tokens
//   powerinfer.profile.N.squares       f64[n_ff]  sum of h^2
//   powerinfer.profile.N.contribution  f64[n_ff]  sum of h^2 times |its down row|^2
//
// h is what the down projection reads: act(gate) * up, or act(up) where the model has no gate. A neuron fires
// where its pre-activation (the gate's, or the up's where there is no gate) is above zero; with dReLU, gate
// and up must both be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "model/model.h"

namespace powerinfer::sparsity {

/// One entry per neuron, [n_ff]. The three vectors of doubles are empty where only firing counts are known.
struct LayerProfile {
    std::vector<uint64_t> fires;
    std::vector<double> sum, sum_of_squares, contribution;

    bool has_moments() const { return !sum.empty(); }
};

struct ActivationProfile {
    uint64_t n_tokens = 0;     ///< 0 = not known
    uint64_t fingerprint = 0;  ///< 0 = not known
    uint64_t numbering = 0;    ///< how the neurons are numbered: see numbering_of(); 0 = as trained
    int n_embd = 0;            ///< 0 = not known
    int n_ff = 0;
    std::vector<LayerProfile> layers;
    std::vector<std::string> sources;

    int n_layer() const { return static_cast<int>(layers.size()); }
    bool has_moments() const { return !layers.empty() && layers[0].has_moments(); }
    /// n_tokens, else the highest count of any neuron, at least 1: what counts are divided by to give
    /// frequencies.
    uint64_t tokens_or_bound() const;
    double frequency(int layer, int64_t neuron) const;
    /// Mean share of the layer's neurons that fire for a token.
    double active_share(int layer) const;
    /// Smallest share of the layer's neurons that makes `part` (0..1) of all its activations; 0 where none
    /// fired.
    double share_covering(int layer, double part) const;

    /// Adds the counts of another profile of the same model. Throws Error{bad_argument} where model, shape or
    /// what is known differ, or where a count would overflow.
    void merge(const ActivationProfile& other);
    /// Throws Error{bad_argument} naming `label` unless this is a profile of that model.
    void check_fits(const model::Model& model, const std::string& label) const;
};

/// An empty profile (all zeros, with moments) of that model.
ActivationProfile empty_profile(const model::Model& model);

/// Tells models apart, however they are quantized: a hash of the shape and of all norm weights, which every
/// number format leaves in F32. Models with different weights and the same norms count as the same.
uint64_t fingerprint_of(const model::Model& model);

/// Tells how a model file numbers its neurons: a hash of its keys powerinfer.neuron_order.N (i32[n_ff], the
/// number that each neuron had before it was moved); 0 where there are none.
uint64_t numbering_of(const formats::GgufFile& file);

/// Writes a file of its own.
void write_profile(const std::string& path, const ActivationProfile& profile);
/// Sets the keys in a file that is being written, before begin_data(). Without moments it takes a quarter of
/// the room.
void declare_profile(formats::GgufWriter& out, const ActivationProfile& profile);

/// True where a file, a model's or one of its own, holds a profile.
bool has_profile(const formats::GgufFile& file);
/// Throws Error{bad_file | unsupported} naming path and key or tensor where anything is missing, of another
/// shape, negative, not finite or contradictory (more fires than tokens).
ActivationProfile read_profile(const formats::GgufFile& file);
ActivationProfile open_profile(const std::string& path);

}  // namespace powerinfer::sparsity
