// A model file understood: its spec and its tensors, each checked by name, shape and type before any weight is touched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/tensor.h"
#include "formats/gguf.h"
#include "model/spec.h"

namespace powerinfer::model {

/// Weights of one layer. Views are empty where the model has no such tensor. Shapes as TensorView: {n_in, n_out}.
struct LayerTensors {
    TensorView attn_norm, ffn_norm;                          // {n_embd}
    TensorView attn_q, attn_k, attn_v, attn_output;          // {n_embd, n_embd_q|kv}, {n_embd_q, n_embd}
    TensorView attn_q_bias, attn_k_bias, attn_v_bias, attn_output_bias;
    TensorView ffn_gate, ffn_up;                             // {n_embd, n_ff}
    TensorView ffn_down;                                     // {n_ff, n_embd}; ordinary files
    TensorView ffn_down_t;                                   // {n_embd, n_ff}; PowerInfer files: row j is neuron j
    TensorView ffn_gate_bias, ffn_up_bias, ffn_down_bias;
    TensorView fc1, fc2, fc1_bias, fc2_bias;                 // predictor {n_embd, rank}, {rank, n_ff}, {rank}, {n_ff}
    TensorView gate_signs;                                   // predictor of kind sign: I32 {n_embd / 32, n_ff}
};

struct ModelTensors {
    TensorView token_embd, output_norm, output;  // {n_embd, n_vocab}, {n_embd}, {n_embd, n_vocab}
    std::vector<LayerTensors> layers;
};

struct LoadOptions {
    std::optional<Activation> activation = {};  ///< overrides what the file says
    std::optional<float> threshold = {};        ///< overrides the file's predictor threshold
};

/// Keeps the file mapped, so that views stay valid; weights are not copied.
struct Model {
    std::shared_ptr<const formats::GgufFile> file;
    ModelSpec spec;
    ModelTensors tensors;
};

/// Fills and checks spec and tensors. Throws Error{bad_file | unsupported} naming key or tensor, with expected and found.
Model load(std::shared_ptr<const formats::GgufFile> file, const LoadOptions& options = {}, const LogSink& log = {});

}  // namespace powerinfer::model
