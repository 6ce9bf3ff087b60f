// Llama 1 to 3, ReluLLaMA, ProSparse; Mistral (a llama with a window); Bamboo (a Mistral with ReLU on gate
// and up).
#include "base/error.h"
#include "convert/families/families.h"

namespace powerinfer::convert {
namespace {

using formats::GgufValue;

constexpr int64_t kMaxLayers = 1024;

struct Shape {
    int64_t n_embd, n_ff, n_layer, n_vocab, n_head, n_head_kv, head_dim, n_ctx;
};

Shape read_shape(const HfConfig& config) {
    Shape s{};
    s.n_embd = config.count({"hidden_size"});
    s.n_ff = config.count({"intermediate_size"});
    s.n_layer = config.count({"num_hidden_layers"});
    if (s.n_layer > kMaxLayers)
        fail(ErrorKind::bad_file, "key 'num_hidden_layers' of '{}' is {}; at most {} would be right",
             config.path(), s.n_layer, kMaxLayers);
    s.n_vocab = config.count({"vocab_size"});
    s.n_head = config.count({"num_attention_heads"});
    s.n_ctx = config.count({"max_position_embeddings", "max_sequence_length"});
    s.n_head_kv = config.has("num_key_value_heads") ? config.count({"num_key_value_heads"}) : s.n_head;
    if (s.n_head % s.n_head_kv != 0)
        fail(ErrorKind::bad_file,
             "'{}' has {} attention heads and {} key/value heads; the first must be a multiple of "
             "the second",
             config.path(), s.n_head, s.n_head_kv);
    if (!config.has("head_dim") && s.n_embd % s.n_head != 0)
        fail(ErrorKind::bad_file,
             "key 'head_dim' is missing from '{}' and the width {} is not a multiple of {} heads",
             config.path(), s.n_embd, s.n_head);
    s.head_dim = config.has("head_dim") ? config.count({"head_dim"}) : s.n_embd / s.n_head;
    if (s.head_dim % 2 != 0)
        fail(ErrorKind::bad_file, "'{}' has heads of {} dimensions; an even number would be right",
             config.path(), s.head_dim);
    return s;
}

void set_shape_keys(Blueprint& b, const Shape& s, const HfConfig& config) {
    const auto u32 = [&](std::string_view suffix, int64_t value) {
        b.set(suffix, GgufValue::of_u32(static_cast<uint32_t>(value)));
    };
    u32("context_length", s.n_ctx);
    u32("embedding_length", s.n_embd);
    u32("block_count", s.n_layer);
    u32("feed_forward_length", s.n_ff);
    u32("attention.head_count", s.n_head);
    u32("attention.head_count_kv", s.n_head_kv);
    if (s.head_dim * s.n_head != s.n_embd) {
        u32("attention.key_length", s.head_dim);
        u32("attention.value_length", s.head_dim);
    }
    u32("vocab_size", s.n_vocab);
    b.set("attention.layer_norm_rms_epsilon",
          GgufValue::of_f32(static_cast<float>(config.number({"rms_norm_eps"}))));
}

void add_layer(Blueprint& b, const Shape& s, int64_t i, bool transposed_down) {
    const std::string to = "blk." + std::to_string(i) + ".", from = "model.layers." + std::to_string(i) + ".";
    const int64_t n_q = s.n_head * s.head_dim, n_kv = s.n_head_kv * s.head_dim;
    const auto weight = [&](const std::string& name, const std::string& source, int64_t n_in, int64_t n_out,
                            RowLayout layout, int64_t n_head) {
        b.tensors.push_back(
            {to + name + ".weight", from + source + ".weight", {n_out, n_in}, layout, n_head});
    };
    const auto bias = [&](const std::string& name, const std::string& source, int64_t n, RowLayout layout,
                          int64_t n_head) {
        b.tensors.push_back({to + name + ".bias", from + source + ".bias", {n}, layout, n_head, false});
    };
    const auto linear = [&](const std::string& name, const std::string& source, int64_t n_in, int64_t n_out,
                            RowLayout layout = RowLayout::as_stored, int64_t n_head = 0) {
        weight(name, source, n_in, n_out, layout, n_head);
        bias(name, source, n_out, layout, n_head);
    };
    const auto norm = [&](const std::string& name, const std::string& source) {
        b.tensors.push_back({to + name + ".weight", from + source + ".weight", {s.n_embd}});
    };
    norm("attn_norm", "input_layernorm");
    linear("attn_q", "self_attn.q_proj", s.n_embd, n_q, RowLayout::head_pairs, s.n_head);
    linear("attn_k", "self_attn.k_proj", s.n_embd, n_kv, RowLayout::head_pairs, s.n_head_kv);
    linear("attn_v", "self_attn.v_proj", s.n_embd, n_kv);
    linear("attn_output", "self_attn.o_proj", n_q, s.n_embd);
    norm("ffn_norm", "post_attention_layernorm");
    linear("ffn_gate", "mlp.gate_proj", s.n_embd, s.n_ff);
    linear("ffn_up", "mlp.up_proj", s.n_embd, s.n_ff);
    weight(transposed_down ? "ffn_down_t" : "ffn_down", "mlp.down_proj", s.n_ff, s.n_embd,
           transposed_down ? RowLayout::transposed : RowLayout::as_stored, 0);
    bias("ffn_down", "mlp.down_proj", s.n_embd, RowLayout::as_stored, 0);
}

Blueprint describe(const FamilyInput& input, std::string architecture,
                   std::optional<model::Activation> custom) {
    const Shape s = read_shape(input.config);
    Blueprint b;
    b.architecture = std::move(architecture);
    b.n_embd = s.n_embd;
    b.n_ff = s.n_ff;
    b.n_layer = s.n_layer;
    b.n_vocab = s.n_vocab;
    b.activation = choose_activation(input, custom);
    set_shape_keys(b, s, input.config);
    std::vector<float> divisors = set_rope_keys(b, input.config, s.head_dim, s.n_ctx, input.log);

    b.tensors.push_back({"token_embd.weight", "model.embed_tokens.weight", {s.n_vocab, s.n_embd}});
    if (!divisors.empty()) {
        TensorPlan freqs;
        freqs.name = "rope_freqs.weight";
        freqs.values = std::move(divisors);
        b.tensors.push_back(std::move(freqs));
    }
    for (int64_t i = 0; i < s.n_layer; ++i) add_layer(b, s, i, input.with_predictors);
    b.tensors.push_back({"output_norm.weight", "model.norm.weight", {s.n_embd}});

    const bool tied = input.config.find_bool({"tie_word_embeddings"}).value_or(false);
    if (!tied && !input.has_output)
        fail(ErrorKind::bad_file,
             "tensor 'lm_head.weight' is missing, and '{}' does not say 'tie_word_embeddings': true",
             input.config.path());
    if (!tied) b.tensors.push_back({"output.weight", "lm_head.weight", {s.n_vocab, s.n_embd}});
    if (tied && input.has_output)
        log(input.log, LogLevel::info,
            "lm_head.weight is left out: the config ties it to the token embeddings");
    return b;
}

void set_window(Blueprint& b, int64_t window, const LogSink& sink) {
    if (window == 0) return;
    b.set("attention.sliding_window", GgufValue::of_u32(static_cast<uint32_t>(window)));
    log(sink, LogLevel::info, "attention looks back over a window of {} positions", window);
}

}  // namespace

Blueprint describe_llama(const FamilyInput& input) {
    return describe(input, "llama", std::nullopt);
}

Blueprint describe_mistral(const FamilyInput& input) {
    Blueprint b = describe(input, "llama", std::nullopt);
    set_window(b, input.config.find_integer({"sliding_window"}).value_or(0), input.log);
    return b;
}

Blueprint describe_bamboo(const FamilyInput& input) {
    Blueprint b = describe(input, "bamboo", model::Activation::drelu);
    set_window(b, input.config.find_integer({"sliding_window"}).value_or(0), input.log);
    return b;
}

}  // namespace powerinfer::convert
