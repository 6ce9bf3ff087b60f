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
/// What a predictor reads: the residual before the FFN norm, the normed vector, or the layer's input.
enum class PredictorInput { residual, normed, layer_input };

std::string_view name(Activation a);
/// Accepts "relu", "silu", "relu2" / "relu_squared", "gelu", "drelu"; throws Error{unsupported} listing them.
Activation activation_from_name(std::string_view text, std::string_view where);
/// True where negative inputs give exact zeros, so that skipping them loses nothing.
bool is_sparse_capable(Activation a);

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
    bool has_predictors = false;  ///< predictors and a transposed down projection in the file
    PredictorInput predictor_input = PredictorInput::residual;
    float predictor_threshold = 0.0f;

    int n_group() const { return n_head / n_head_kv; }
    int n_embd_q() const { return n_head * head_dim; }
    int n_embd_kv() const { return n_head_kv * head_dim; }
};

}  // namespace powerinfer::model
