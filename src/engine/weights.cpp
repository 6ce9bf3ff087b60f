#include "engine/weights.h"

#include <algorithm>

#include "engine/relay.h"

namespace powerinfer::engine {
namespace {

const float* floats(const TensorView& view) {
    return static_cast<const float*>(view.data);
}

}  // namespace

uint64_t Weights::relaid_bytes() const {
    uint64_t sum = 0;
    for (const AlignedBuffer& b : relaid) sum += b.size();
    return sum;
}

Weights prepare_weights(const model::Model& model, const plan::Plan& plan, const kernels::Ops& ops, ThreadPool& pool,
                        const LogSink& log, const Progress& progress) {
    const model::ModelTensors& tensors = model.tensors;
    Weights w;
    w.token_embd = tensors.token_embd;
    w.output_norm = floats(tensors.output_norm);
    w.output = Matrix(tensors.output, ops);
    const auto n_layers = tensors.layers.size();
    for (size_t i = 0; i < n_layers; ++i) {
        const model::LayerTensors& t = tensors.layers[i];
        LayerWeights layer;
        layer.attn_norm = floats(t.attn_norm);
        layer.ffn_norm = floats(t.ffn_norm);
        layer.q = Matrix(t.attn_q, ops, t.attn_q_bias);
        layer.k = Matrix(t.attn_k, ops, t.attn_k_bias);
        layer.v = Matrix(t.attn_v, ops, t.attn_v_bias);
        layer.attn_output = Matrix(t.attn_output, ops, t.attn_output_bias);
        layer.ffn.gate = Matrix(t.ffn_gate, ops, t.ffn_gate_bias);
        layer.ffn.up = Matrix(t.ffn_up, ops, t.ffn_up_bias);
        layer.ffn.down_bias = floats(t.ffn_down_bias);
        layer.ffn.fc1 = Matrix(t.fc1, ops);
        layer.ffn.fc2 = Matrix(t.fc2, ops);
        if (t.fc1) w.max_rank = std::max(w.max_rank, t.fc1.ne[1]);
        if (plan.layers[i].relay_down) {
            report(progress, static_cast<double>(i) / static_cast<double>(n_layers), "re-laying the down projections by neuron");
            AlignedBuffer& memory = w.relaid.emplace_back();
            if (is_plain(t.ffn_down.type)) {
                layer.ffn.down_t = Matrix(transpose(t.ffn_down, memory, pool), ops);
            } else {
                layer.ffn.grouped = group_by_neuron(t.ffn_down, memory, pool);
                layer.ffn.grouped_encoding = quant::format(t.ffn_down.type).activation;
            }
        } else {
            layer.ffn.down = Matrix(t.ffn_down, ops);
            layer.ffn.down_t = Matrix(t.ffn_down_t, ops);
        }
        w.layers.push_back(std::move(layer));
    }
    if (!w.relaid.empty())
        powerinfer::log(log, LogLevel::info, "re-laid the down projections of {} layers by neuron: {:.1f} MiB",
                        w.relaid.size(), static_cast<double>(w.relaid_bytes()) / (1 << 20));
    return w;
}

}  // namespace powerinfer::engine
