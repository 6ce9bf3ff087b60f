#include "learn/ffn_samples.h"

#include <algorithm>
#include <cmath>

#include "quant/format.h"

namespace powerinfer::learn {

Floats gate_rows(const model::Model& model, int layer) {
    const model::LayerTensors& t = model.tensors.layers[static_cast<size_t>(layer)];
    const TensorView& view = t.ffn_gate ? t.ffn_gate : t.ffn_up;
    Floats rows(view.ne[1], view.ne[0]);
    for (int64_t r = 0; r < rows.rows; ++r) quant::format(view.type).decode(view.row(r), rows.row(r), rows.columns);
    return rows;
}

Floats predictor_input(const model::Model& model, const LayerRecording& recording, int layer, int64_t first, int64_t n,
                       model::PredictorInput input) {
    Floats x(n, model.spec.n_embd);
    recording.read_x(first, n, x.values.data());
    if (input == model::PredictorInput::residual) return x;
    const auto* weight = static_cast<const float*>(model.tensors.layers[static_cast<size_t>(layer)].ffn_norm.data);
    for (int64_t t = 0; t < n; ++t) {
        float* row = x.row(t);
        double squares = 0;
        for (int64_t i = 0; i < x.columns; ++i) squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
        const auto scale = static_cast<float>(
            1 / std::sqrt(squares / static_cast<double>(x.columns) + static_cast<double>(model.spec.norm_eps)));
        for (int64_t i = 0; i < x.columns; ++i) row[i] *= scale * weight[i];
    }
    return x;
}

Floats contributions(const std::vector<double>& norms, const LayerRecording& recording, int64_t first, int64_t n,
                     Multiplier& multiply) {
    Floats h(n, static_cast<int64_t>(norms.size()));
    recording.read_values(first, n, h.values.data());
    Floats by_neuron = multiply.transpose(h);
    for (int64_t j = 0; j < by_neuron.rows; ++j) {
        const auto norm = static_cast<float>(std::max(norms[static_cast<size_t>(j)], 1e-20));
        for (int64_t t = 0; t < n; ++t) {
            float& v = by_neuron.row(j)[t];
            if (v != 0) v = std::max(v * v * norm, 1e-37f);  // what fired stays above zero
        }
    }
    return by_neuron;
}

}  // namespace powerinfer::learn
