#include "convert/predictor_import.h"

#include <cmath>

#include "base/error.h"
#include "convert/mix.h"
#include "convert/predictors.h"
#include "quant/format.h"
#include "sparsity/profile.h"

namespace powerinfer::convert {
namespace {

sparsity::PredictorMatrix read_matrix(const TensorJob& job) {
    sparsity::PredictorMatrix m{job.type, job.ne[0], job.ne[1], std::vector<uint8_t>(job.n_bytes())};
    const RowSource rows = job.open();
    const size_t bytes = row_bytes(m.type, m.n_in);
    std::vector<float> values(static_cast<size_t>(m.n_in));
    for (int64_t r = 0; r < m.n_out; ++r) {
        rows(r, r + 1, values.data());
        for (const float v : values) {
            if (!std::isfinite(v))
                fail(ErrorKind::bad_file, "tensor {} holds NaN or infinity in row {}; the weights are damaged", job.origin, r);
        }
        quant::format(m.type).encode(values.data(), m.data.data() + static_cast<size_t>(r) * bytes, m.n_in, nullptr);
    }
    return m;
}

}  // namespace

sparsity::PredictorSet import_predictors(const std::string& folder, const model::Model& model, DType type) {
    const model::ModelSpec& s = model.spec;
    if (!quant::find_format(type) || !quant::format(type).encode)
        fail(ErrorKind::bad_argument, "predictors cannot be stored as {}", info(type).name);
    const PredictorFolder opened = open_predictors(folder, s.n_layer, s.n_embd, s.n_ff,
                                                   [&](const std::string&, DType, int64_t n) { return fitting_type(type, n); });
    sparsity::PredictorSet set;
    set.maker = "import";
    set.fingerprint = sparsity::fingerprint_of(model);
    set.n_embd = s.n_embd;
    set.n_ff = s.n_ff;
    set.spec.threshold = opened.threshold.value_or(0.0f);
    for (size_t i = 0; i + 1 < opened.jobs.size(); i += 2) {
        sparsity::LayerPredictor layer;
        layer.fc1 = read_matrix(opened.jobs[i]);
        layer.fc2 = read_matrix(opened.jobs[i + 1]);
        set.layers.push_back(std::move(layer));
    }
    return set;
}

}  // namespace powerinfer::convert
