#include "engine/weights.h"

#include <algorithm>
#include <optional>

#include "engine/layout_cache.h"
#include "engine/relay.h"
#include "quant/interleave.h"

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

namespace {

/// Puts matrices where they will be read from.
class Preparer {
  public:
    Preparer(const model::Model& model, const kernels::Ops& ops, ThreadPool& pool, std::vector<AlignedBuffer>& memory,
             LayoutCache* cache)
        : file_(*model.file), ops_(ops), pool_(pool), memory_(memory), cache_(cache) {}

    /// All rows are read together.
    Matrix dense(const TensorView& view, bool repack, const TensorView& bias = {}) {
        if (!view || !repack) return Matrix(view, ops_, bias);
        if (!quant::can_interleave(view.type)) return by_row(view, repack, bias);
        AlignedBuffer& memory = memory_.emplace_back();
        bool kept = false;
        const TensorView strips = interleave(view, memory, pool_, filler("strips", view, kept));
        keep("strips", view, memory, kept);
        return Matrix(strips, ops_, bias, true);
    }
    /// Single rows are read.
    Matrix by_row(const TensorView& view, bool repack, const TensorView& bias = {}) {
        if (!view || !repack) return Matrix(view, ops_, bias);
        const TensorView rows = copy(view, memory_.emplace_back(), pool_);
        file_.release(view);
        return Matrix(rows, ops_, bias);
    }
    Predictor predictor(const model::LayerTensors& t, const model::PredictorSpec& spec, int layer, bool repack) {
        Predictor p;
        p.kind = spec.kind;
        p.input = spec.input;
        p.relu = spec.relu;
        p.threshold = spec.threshold_of(layer);
        p.fc1 = dense(t.fc1, repack, t.fc1_bias);
        p.fc2 = dense(t.fc2, repack, t.fc2_bias);
        if (t.gate_signs) {
            p.signs = static_cast<const uint32_t*>(t.gate_signs.data);
            p.words = t.gate_signs.ne[0];
            p.sign_bias = floats(t.fc2_bias);
        }
        return p;
    }
    /// The down projection of an ordinary file, by neuron.
    void relay_down(const TensorView& down, FfnWeights& ffn) {
        AlignedBuffer& memory = memory_.emplace_back();
        bool kept = false;
        const Filler fill = filler("by_neuron", down, kept);
        if (is_plain(down.type)) {
            ffn.down_t = Matrix(transpose(down, memory, pool_, fill), ops_);
        } else {
            ffn.grouped = group_by_neuron(down, memory, pool_, fill);
            ffn.grouped_encoding = quant::format(down.type).activation;
        }
        keep("by_neuron", down, memory, kept);
    }

  private:
    /// From the kept layout, where there is one; `kept` says whether it was there.
    Filler filler(std::string_view layout, const TensorView& view, bool& kept) {
        if (!cache_) return {};
        return [this, layout, &view, &kept](AlignedBuffer& memory) {
            kept = cache_->take(layout, view, name_of(view), memory, pool_);
            return kept;
        };
    }
    void keep(std::string_view layout, const TensorView& view, const AlignedBuffer& memory, bool kept) {
        if (cache_ && !kept) cache_->keep(layout, view, name_of(view), memory);
        file_.release(view);
    }
    std::string_view name_of(const TensorView& view) const {
        for (const formats::GgufTensor& t : file_.tensors()) {
            if (t.view.data == view.data) return t.name;
        }
        return "";
    }

    const formats::GgufFile& file_;
    const kernels::Ops& ops_;
    ThreadPool& pool_;
    std::vector<AlignedBuffer>& memory_;
    LayoutCache* cache_;  ///< or null
};

}  // namespace

Weights prepare_weights(const model::Model& model, const plan::Plan& plan, const kernels::Ops& ops, ThreadPool& pool,
                        const std::string& layout_path, const LogSink& log, const Progress& progress) {
    const model::ModelTensors& tensors = model.tensors;
    const auto n_layers = tensors.layers.size();
    Weights w;
    std::optional<LayoutCache> cache;
    if (!layout_path.empty()) cache.emplace(layout_path, log);
    Preparer prepare(model, ops, pool, w.relaid, cache ? &*cache : nullptr);
    w.token_embd = tensors.token_embd;
    w.output_norm = floats(tensors.output_norm);
    for (size_t i = 0; i < n_layers; ++i) {
        const model::LayerTensors& t = tensors.layers[i];
        const plan::LayerPlan& how = plan.layers[i];
        if (how.repack || how.relay_down)
            report(progress, static_cast<double>(i) / static_cast<double>(n_layers + 1), "re-laying the weights");
        LayerWeights layer;
        layer.attn_norm = floats(t.attn_norm);
        layer.ffn_norm = floats(t.ffn_norm);
        layer.q = prepare.dense(t.attn_q, how.repack, t.attn_q_bias);
        layer.k = prepare.dense(t.attn_k, how.repack, t.attn_k_bias);
        layer.v = prepare.dense(t.attn_v, how.repack, t.attn_v_bias);
        layer.attn_output = prepare.dense(t.attn_output, how.repack, t.attn_output_bias);
        layer.ffn.gate = how.mode == sparsity::Mode::predict ? prepare.by_row(t.ffn_gate, how.repack, t.ffn_gate_bias)
                                                             : prepare.dense(t.ffn_gate, how.repack, t.ffn_gate_bias);
        layer.ffn.up = how.mode == sparsity::Mode::off ? prepare.dense(t.ffn_up, how.repack, t.ffn_up_bias)
                                                       : prepare.by_row(t.ffn_up, how.repack, t.ffn_up_bias);
        layer.ffn.down_bias = floats(t.ffn_down_bias);
        if (how.mode == sparsity::Mode::predict) {
            layer.ffn.predictor = prepare.predictor(t, model.spec.predictor, static_cast<int>(i), how.repack);
            if (t.fc1) w.max_rank = std::max(w.max_rank, t.fc1.ne[1]);
        }
        if (how.relay_down) {
            prepare.relay_down(t.ffn_down, layer.ffn);
        } else {
            layer.ffn.down = prepare.dense(t.ffn_down, how.repack);
            layer.ffn.down_t = prepare.by_row(t.ffn_down_t, how.repack);
        }
        w.layers.push_back(std::move(layer));
    }
    w.output = prepare.dense(tensors.output, plan.repack_output);
    if (!w.relaid.empty())
        powerinfer::log(log, LogLevel::info, "re-laid {:.1f} MiB of weights in memory",
                        static_cast<double>(w.relaid_bytes()) / (1 << 20));
    if (cache) cache->save(progress);
    return w;
}

}  // namespace powerinfer::engine
