// What a network is, as about thirty named choices. Not how it is run: see engine/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::model {

enum class Norm { rms, layer };
enum class Activation { silu, relu, relu_squared, gelu, drelu };
enum class RopeLayout { none, adjacent_pairs, halves };
enum class RopeScaling { none, linear, yarn };
enum class PredictorKind { mlp, sign };
/// What a predictor reads: the residual before the FFN norm, the normed vector, or the layer's input.
enum class PredictorInput { residual, normed, layer_input };

std::string_view name(Activation a);
/// Accepts "relu", "silu", "relu2" / "relu_squared", "gelu", "drelu"; throws Error{unsupported} listing them.
Activation activation_from_name(std::string_view text, std::string_view where);
/// True where negative inputs give exact zeros, so that skipping them loses nothing.
bool is_sparse_capable(Activation a);

/// How the predictors of a file say which neurons may fire: neuron j takes part iff p_j >= its layer's threshold.
///
///   mlp    p = fc2 . f(fc1 . r + fc1.bias) + fc2.bias, f = ReLU or nothing; biases may be absent, the rank is each
///          layer's own
///   sign   p_j = (elements of r and of the gate's row j whose signs agree) - (those whose signs differ) + fc2.bias_j
///
/// In the file (the first key is the original engine's, the others are ours, and what they say without being there is
/// what the original assumes):
///   powerinfer.sparse_threshold        f32     the threshold of all layers
///   powerinfer.predictor.kind          string  "mlp" (unsaid) or "sign"
///   powerinfer.predictor.input         string  r: "residual" (unsaid), "normed" or "layer_input"
///   powerinfer.predictor.relu          bool    whether f is ReLU (true unsaid)
///   powerinfer.predictor.comparison    string  ">=" (unsaid) or ">"
///   powerinfer.predictor.thresholds    f32[]   one per layer, instead of powerinfer.sparse_threshold
///   blk.N.fc1.weight {n_embd, rank}, blk.N.fc2.weight {rank, n_ff} of any type; blk.N.fc1.bias {rank},
///   blk.N.fc2.bias {n_ff} F32; blk.N.gate_signs I32 {n_embd / 32, n_ff}: bit i % 32 of word i / 32 of row j is set
///   where element i of the gate's row j is below zero
/// A file whose predictors the original engine can run has the magic PWRI: mlp on the residual with ReLU, no biases, and
/// a sparse_threshold that leaves out nothing our thresholds keep. All others have the magic GGUF, whose missing
/// ffn_down.weight the original refuses, rather than to run them wrongly.
struct PredictorSpec {
    PredictorKind kind = PredictorKind::mlp;
    PredictorInput input = PredictorInput::residual;
    bool relu = true;
    float threshold = 0;            ///< of layers without one of their own
    std::vector<float> thresholds;  ///< [n_layer] or empty; "p > x" is kept as "p >= the float after x"

    float threshold_of(int layer) const {
        return thresholds.empty() ? threshold : thresholds[static_cast<size_t>(layer)];
    }
};

std::string_view name(PredictorKind kind);
std::string_view name(PredictorInput input);

struct Rope {
    RopeLayout layout = RopeLayout::adjacent_pairs;
    int n_dims = 0;  ///< rotated dimensions of each head
    float freq_base = 10000.0f;
    RopeScaling scaling = RopeScaling::none;
    float factor = 1.0f;
    int n_ctx_original = 0;
    float yarn_ext_factor = 1.0f, yarn_attn_factor = 1.0f, yarn_beta_fast = 32.0f, yarn_beta_slow = 1.0f;
    /// Divisors per frequency from a `rope_freqs` tensor (llama3 scaling); empty = none. [n_dims / 2]
    std::vector<float> freq_factors;
};

struct ModelSpec {
    std::string architecture;  ///< as in the file: "llama", "bamboo", ...
    std::string name;
    int n_vocab = 0, n_embd = 0, n_layer = 0, n_ff = 0;
    int n_head = 0, n_head_kv = 0, head_dim = 0;
    int n_ctx_train = 0;
    Norm norm = Norm::rms;
    float norm_eps = 1e-5f;
    Activation activation = Activation::silu;
    bool activation_is_stated = false;  ///< by the file or the user, rather than by the architecture's custom
    bool gated = true;
    Rope rope;
    int sliding_window = 0;  ///< 0 = none; a query at p sees positions > p - window
    bool tied_output = false;
    bool has_predictors = false;  ///< in every layer of the file
    PredictorSpec predictor;

    int n_group() const { return n_head / n_head_kv; }
    int n_embd_q() const { return n_head * head_dim; }
    int n_embd_kv() const { return n_head_kv * head_dim; }
};

}  // namespace powerinfer::model
