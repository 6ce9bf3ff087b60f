// `llama`: Llama 1 to 3, Mistral, ReluLLaMA, ProSparse, SmolLM and their like.
// RMSNorm, RoPE on adjacent pairs, grouped-query attention, gated feed-forward.
#include "model/arch.h"

namespace powerinfer::model {
namespace {

void fill(const formats::GgufFile& file, ModelSpec& spec) {
    spec.norm = Norm::rms;
    spec.norm_eps = static_cast<float>(file.get_float(arch_key(spec, "attention.layer_norm_rms_epsilon")));
    spec.gated = true;
    fill_rope(file, spec, RopeLayout::adjacent_pairs);
    // A llama with predictors is a ReLU-fied one even where its file does not say so.
    fill_activation(file, spec,
                    file.magic() == formats::GgufMagic::pwri ? Activation::relu : Activation::silu);
    spec.sliding_window =
        static_cast<int>(get_count(file, arch_key(spec, "attention.sliding_window"), 0, INT32_MAX, 0));
}

constexpr ModelRule kModelRules[] = {
    {"token_embd.weight", &ModelTensors::token_embd, Dim::n_embd, Dim::n_vocab, Presence::required},
    {"output_norm.weight", &ModelTensors::output_norm, Dim::n_embd, Dim::one, Presence::required},
    {"output.weight", &ModelTensors::output, Dim::n_embd, Dim::n_vocab, Presence::optional},
};

constexpr LayerRule kLayerRules[] = {
    {"attn_norm.weight", &LayerTensors::attn_norm, Dim::n_embd, Dim::one, Presence::required},
    {"attn_q.weight", &LayerTensors::attn_q, Dim::n_embd, Dim::n_embd_q, Presence::required},
    {"attn_k.weight", &LayerTensors::attn_k, Dim::n_embd, Dim::n_embd_kv, Presence::required},
    {"attn_v.weight", &LayerTensors::attn_v, Dim::n_embd, Dim::n_embd_kv, Presence::required},
    {"attn_output.weight", &LayerTensors::attn_output, Dim::n_embd_q, Dim::n_embd, Presence::required},
    {"attn_q.bias", &LayerTensors::attn_q_bias, Dim::n_embd_q, Dim::one, Presence::optional},
    {"attn_k.bias", &LayerTensors::attn_k_bias, Dim::n_embd_kv, Dim::one, Presence::optional},
    {"attn_v.bias", &LayerTensors::attn_v_bias, Dim::n_embd_kv, Dim::one, Presence::optional},
    {"attn_output.bias", &LayerTensors::attn_output_bias, Dim::n_embd, Dim::one, Presence::optional},
    {"ffn_norm.weight", &LayerTensors::ffn_norm, Dim::n_embd, Dim::one, Presence::required},
    {"ffn_gate.weight", &LayerTensors::ffn_gate, Dim::n_embd, Dim::n_ff, Presence::required},
    {"ffn_up.weight", &LayerTensors::ffn_up, Dim::n_embd, Dim::n_ff, Presence::required},
    {"ffn_down.weight", &LayerTensors::ffn_down, Dim::n_ff, Dim::n_embd, Presence::down},
    {"ffn_down_t.weight", &LayerTensors::ffn_down_t, Dim::n_embd, Dim::n_ff, Presence::down},
    {"ffn_gate.bias", &LayerTensors::ffn_gate_bias, Dim::n_ff, Dim::one, Presence::optional},
    {"ffn_up.bias", &LayerTensors::ffn_up_bias, Dim::n_ff, Dim::one, Presence::optional},
    {"ffn_down.bias", &LayerTensors::ffn_down_bias, Dim::n_embd, Dim::one, Presence::optional},
    {"fc1.weight", &LayerTensors::fc1, Dim::n_embd, Dim::rank, Presence::predictor},
    {"fc1.bias", &LayerTensors::fc1_bias, Dim::rank, Dim::one, Presence::optional},
    {"fc2.weight", &LayerTensors::fc2, Dim::rank, Dim::n_ff, Presence::predictor},
    {"fc2.bias", &LayerTensors::fc2_bias, Dim::n_ff, Dim::one, Presence::optional},
    {"gate_signs", &LayerTensors::gate_signs, Dim::sign_words, Dim::n_ff, Presence::predictor},
};

void fill_bamboo(const formats::GgufFile& file, ModelSpec& spec) {
    fill(file, spec);
    fill_activation(file, spec, Activation::drelu);
}

}  // namespace

const Arch kArchLlama = {"llama", fill, kModelRules, kLayerRules};

// `bamboo`: the same network, trained with ReLU on gate and on up.
const Arch kArchBamboo = {"bamboo", fill_bamboo, kModelRules, kLayerRules};

}  // namespace powerinfer::model
