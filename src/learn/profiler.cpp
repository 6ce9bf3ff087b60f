#include "learn/profiler.h"

#include "quant/format.h"

namespace powerinfer::learn {

std::vector<double> down_norms(const model::Model& model, int layer) {
    const model::LayerTensors& tensors = model.tensors.layers[static_cast<size_t>(layer)];
    const bool by_neuron = static_cast<bool>(tensors.ffn_down_t);
    const TensorView& down = by_neuron ? tensors.ffn_down_t : tensors.ffn_down;
    std::vector<double> norms(static_cast<size_t>(model.spec.n_ff));
    std::vector<float> row(static_cast<size_t>(down.ne[0]));
    for (int64_t r = 0; r < down.n_rows(); ++r) {
        quant::format(down.type).decode(down.row(r), row.data(), down.ne[0]);
        for (size_t i = 0; i < row.size(); ++i)
            norms[by_neuron ? static_cast<size_t>(r) : i] +=
                static_cast<double>(row[i]) * static_cast<double>(row[i]);
    }
    return norms;
}

sparsity::ActivationProfile profile_text(std::shared_ptr<const model::Model> model, const Text& text,
                                         int n_threads, const Progress& progress) {
    sparsity::ActivationProfile profile = sparsity::empty_profile(*model);
    const model::Activation activation = model->spec.activation;
    engine::Engine engine = load_dense(model, text, n_threads);
    run_text(
        engine, text, 0,
        [&](int64_t, const engine::ObservedFeedForward& f) {
            sparsity::LayerProfile& layer = profile.layers[static_cast<size_t>(f.layer)];
            for (int64_t i = 0; i < f.n_tokens * f.n_ff; ++i) {
                const auto j = static_cast<size_t>(i % f.n_ff);
                const auto h = static_cast<double>(f.h[i]);
                layer.fires[j] += fires(f, activation, i);
                layer.sum[j] += h;
                layer.sum_of_squares[j] += h * h;
            }
        },
        progress);
    profile.n_tokens = static_cast<uint64_t>(text.n_tokens());
    for (int i = 0; i < profile.n_layer(); ++i) {
        sparsity::LayerProfile& layer = profile.layers[static_cast<size_t>(i)];
        const std::vector<double> norms = down_norms(*model, i);
        for (size_t j = 0; j < norms.size(); ++j) layer.contribution[j] = layer.sum_of_squares[j] * norms[j];
    }
    return profile;
}

}  // namespace powerinfer::learn
