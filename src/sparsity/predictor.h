// Predictors of a whole model as data, and the file that holds them by themselves. Not for running them (engine/) nor
// for making them (learn/). What the numbers mean is drawn in model/spec.h.
//
// The file is a GGUF file with general.architecture = "powerinfer.predictor", the keys and tensors of model/spec.h, and
//   powerinfer.predictor.version      u32 = 1
//   powerinfer.predictor.fingerprint  u64     of the model (profile.h); 0 = not known
//   powerinfer.predictor.numbering    u64     numbering_of() the model's file (profile.h)
//   powerinfer.predictor.maker        string  "svd", "train", "sign" or "import"
//   powerinfer.predictor.n_layer, .n_embd, .n_ff   u32
// Neurons are numbered as in the model file it was made for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "formats/gguf.h"
#include "model/model.h"

namespace powerinfer::sparsity {

/// n_out rows of n_in encoded elements.
struct PredictorMatrix {
    DType type = DType::F32;
    int64_t n_in = 0, n_out = 0;
    std::vector<uint8_t> data;

    TensorView view() const;  ///< empty where there is nothing
};

/// One layer. Empty parts are absent.
struct LayerPredictor {
    PredictorMatrix fc1, fc2;               ///< {n_embd, rank}, {rank, n_ff}
    std::vector<float> fc1_bias, fc2_bias;  ///< [rank], [n_ff]
    std::vector<uint32_t> signs;            ///< [n_ff][sign_words]

    /// Bytes that are read for a token to know the layer's neurons.
    uint64_t n_bytes() const;
};

struct PredictorSet {
    model::PredictorSpec spec;
    std::string maker;
    uint64_t fingerprint = 0;  ///< 0 = not known
    uint64_t numbering = 0;    ///< how the neurons are numbered: numbering_of() the model's file
    int n_embd = 0, n_ff = 0;
    std::vector<LayerPredictor> layers;

    int n_layer() const { return static_cast<int>(layers.size()); }
    int64_t sign_words() const { return (n_embd + 31) / 32; }
    /// True where the original engine can run them (model/spec.h says when).
    bool original_can_run() const;
    /// Throws Error{bad_argument} naming `label` unless this is for that model.
    void check_fits(const model::Model& model, const std::string& label) const;
};

/// The keys of model/spec.h, for a model file or one of its own. A threshold for the original engine is among them
/// where it can run them: the lowest of all layers, which keeps at least what each layer's own keeps.
std::vector<std::pair<std::string, formats::GgufValue>> predictor_keys(const PredictorSet& set);

struct NamedTensor {
    std::string name;  ///< "blk.N.fc1.weight"
    TensorView view;
};
/// In the order of a file; the views point into `set`.
std::vector<NamedTensor> predictor_tensors(const PredictorSet& set, int layer);

void write_predictors(const std::string& path, const PredictorSet& set);
/// Throws Error{bad_file | unsupported} naming path and key or tensor.
PredictorSet read_predictors(const std::string& path);

/// The same model with these predictors in place of its own, if any. The set must fit, and live as long.
std::shared_ptr<const model::Model> with_predictors(const model::Model& model, const PredictorSet& set);

}  // namespace powerinfer::sparsity
