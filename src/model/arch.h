// One row per architecture: how its metadata fills the spec and which tensors it declares.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/gguf.h"
#include "model/model.h"

namespace powerinfer::model {

/// A dimension of a declared tensor in terms of the spec.
enum class Dim { one, n_embd, n_embd_q, n_embd_kv, n_ff, n_vocab, rank, sign_words };

enum class Presence {
    required,
    optional,
    down,        ///< exactly one of ffn_down and ffn_down_t
    predictor,   ///< of its kind, all in every layer or in none; a PWRI file must have them
};

/// Name without the layer prefix "blk.N." or the suffix that is part of it, e.g. "attn_q.weight".
struct LayerRule {
    std::string_view name;
    TensorView LayerTensors::*slot;
    Dim ne0, ne1;
    Presence presence;
};
struct ModelRule {
    std::string_view name;
    TensorView ModelTensors::*slot;
    Dim ne0, ne1;
    Presence presence;
};

struct Arch {
    std::string_view name;
    /// Reads the keys that every transformer has not, e.g. norm epsilon, RoPE layout, activation.
    void (*fill)(const formats::GgufFile& file, ModelSpec& spec);
    std::span<const ModelRule> model_rules;
    std::span<const LayerRule> layer_rules;
};

/// Null for an architecture we do not have; `known_architectures` lists those we do.
const Arch* find_arch(std::string_view name);
std::string known_architectures();

/// `architecture + "." + suffix`, the key of an architecture's own setting.
std::string arch_key(const ModelSpec& spec, std::string_view suffix);

/// An integer key, or an array of equal values (newer files store one per layer). Throws unless low <= value <= high.
int64_t get_count(const formats::GgufFile& file, const std::string& key, int64_t low, int64_t high);
int64_t get_count(const formats::GgufFile& file, const std::string& key, int64_t low, int64_t high, int64_t otherwise);

/// RoPE keys shared by all rotary architectures; the layout is the architecture's own.
void fill_rope(const formats::GgufFile& file, ModelSpec& spec, RopeLayout layout);

/// The activation stated by our key `powerinfer.activation`, else the architecture's custom.
void fill_activation(const formats::GgufFile& file, ModelSpec& spec, Activation custom);

/// The keys that say how the file's predictors are to be used.
PredictorSpec read_predictor_spec(const formats::GgufFile& file, int n_layer);

extern const Arch kArchLlama;
extern const Arch kArchBamboo;

}  // namespace powerinfer::model
