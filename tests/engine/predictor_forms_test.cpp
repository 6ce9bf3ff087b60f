// Every form of predictor that model/spec.h draws, against decisions made slowly in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/engine.h"
#include "tiny_model.h"

namespace powerinfer::engine {
namespace {

using model::PredictorInput;
using model::PredictorKind;
using sparsity::Mode;
using test::TemporaryFolder;
using test::TinyModel;

struct Form {
    PredictorKind kind = PredictorKind::mlp;
    PredictorInput input = PredictorInput::residual;
    bool relu = true, biases = false;
    std::vector<float> thresholds = {};
};

/// A random model whose predictors are turned into another form in memory.
struct Changed {
    TemporaryFolder folder;
    TinyModel tiny{{.n_ff = 130, .predictors = true}};
    std::shared_ptr<model::Model> model;
    Form form;
    std::vector<std::vector<float>> biases1, biases2;
    std::vector<std::vector<uint32_t>> signs;

    explicit Changed(const Form& f) : model(std::make_shared<model::Model>(*tiny.write(folder / "m.gguf"))), form(f) {
        model::PredictorSpec& spec = model->spec.predictor;
        spec.kind = f.kind;
        spec.input = f.input;
        spec.relu = f.relu;
        spec.thresholds = f.thresholds;
        const auto n_ff = static_cast<size_t>(tiny.shape.n_ff);
        for (size_t layer = 0; layer < 2; ++layer) {
            biases1.emplace_back(static_cast<size_t>(tiny.shape.rank));
            biases2.emplace_back(n_ff);
            signs.emplace_back(n_ff);  // one word per row: n_embd is 32
            for (size_t i = 0; i < biases1[layer].size(); ++i) biases1[layer][i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
            for (size_t j = 0; j < n_ff; ++j) {
                biases2[layer][j] = 0.2f * static_cast<float>(j % 5) - 0.4f;
                for (size_t i = 0; i < 32; ++i) signs[layer][j] |= static_cast<uint32_t>(gate(layer, j)[i] < 0) << i;
            }
        }
        for (size_t layer = 0; layer < 2; ++layer) {
            model::LayerTensors& t = model->tensors.layers[layer];
            const auto view = [](const void* data, DType type, int64_t ne0, int64_t ne1) {
                TensorView v;
                v.data = data;
                v.type = type;
                v.ne = {ne0, ne1, 1, 1};
                return v;
            };
            if (f.biases) {
                t.fc1_bias = view(biases1[layer].data(), DType::F32, tiny.shape.rank, 1);
                t.fc2_bias = view(biases2[layer].data(), DType::F32, tiny.shape.n_ff, 1);
            }
            if (f.kind == PredictorKind::sign) {
                t.fc1 = t.fc2 = t.fc1_bias = {};
                t.gate_signs = view(signs[layer].data(), DType::I32, 1, tiny.shape.n_ff);
            }
        }
    }

    const float* gate(size_t layer, size_t j) {
        return tiny.row("blk." + std::to_string(layer) + ".ffn_gate.weight", static_cast<int64_t>(j));
    }

    std::set<int> decide(int layer, const std::vector<double>& residual) {
        const std::string p = "blk." + std::to_string(layer) + ".";
        std::vector<double> r = residual;
        if (form.input == PredictorInput::normed) {
            double squares = 0;
            for (const double v : r) squares += v * v;
            const double scale = 1 / std::sqrt(squares / static_cast<double>(r.size()) + 1e-5);
            for (size_t i = 0; i < r.size(); ++i) r[i] *= scale * static_cast<double>(tiny.row(p + "ffn_norm.weight", 0)[i]);
        }
        const auto at = static_cast<size_t>(layer);
        std::vector<double> scores(static_cast<size_t>(tiny.shape.n_ff));
        if (form.kind == PredictorKind::sign) {
            for (size_t j = 0; j < scores.size(); ++j) {
                for (size_t i = 0; i < r.size(); ++i) scores[j] += (r[i] < 0) == (gate(at, j)[i] < 0) ? 1 : -1;
            }
        } else {
            std::vector<double> hidden(static_cast<size_t>(tiny.shape.rank));
            for (size_t k = 0; k < hidden.size(); ++k) {
                for (size_t i = 0; i < r.size(); ++i)
                    hidden[k] += static_cast<double>(tiny.row(p + "fc1.weight", static_cast<int64_t>(k))[i]) * r[i];
                if (form.biases) hidden[k] += static_cast<double>(biases1[at][k]);
                if (form.relu && hidden[k] < 0) hidden[k] = 0;
            }
            for (size_t j = 0; j < scores.size(); ++j) {
                for (size_t k = 0; k < hidden.size(); ++k)
                    scores[j] += static_cast<double>(tiny.row(p + "fc2.weight", static_cast<int64_t>(j))[k]) * hidden[k];
            }
        }
        const double threshold = form.thresholds.empty() ? 0.0 : static_cast<double>(form.thresholds[at]);
        std::set<int> chosen;
        for (size_t j = 0; j < scores.size(); ++j) {
            if (form.biases) scores[j] += static_cast<double>(biases2[at][j]);
            if (scores[j] >= threshold) chosen.insert(static_cast<int>(j));
        }
        return chosen;
    }
};

TEST(PredictorForms, DecideAsDrawn) {
    std::vector<int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back((i * 37 + i * i) % 64);
    const Form forms[] = {
        {},
        {.relu = false},
        {.biases = true},
        {.input = PredictorInput::normed, .relu = false, .biases = true},
        {.input = PredictorInput::normed, .thresholds = {0.3f, -0.2f}},
        {.biases = true, .thresholds = {-0.1f, 0.5f}},
        {.kind = PredictorKind::sign, .thresholds = {0, 2}},
        {.kind = PredictorKind::sign, .input = PredictorInput::normed, .biases = true, .thresholds = {1.5f, -2.5f}},
    };
    for (size_t f = 0; f < std::size(forms); ++f) {
        Changed c(forms[f]);
        const auto expected = c.tiny.logits(ids, [&](int layer, const auto& x) { return c.decide(layer, x); });
        const auto dense = c.tiny.logits(ids);
        for (const size_t step : {size_t{20}, size_t{1}}) {
            Engine engine = Engine::load(c.model, plan::solve(*c.model, {.n_ctx = 64, .kv_type = DType::F32, .mode = Mode::predict}),
                                         {.n_threads = 2});
            double worst = 0, moved = 0;
            for (size_t i = 0; i < ids.size(); i += step) {
                std::vector<BatchToken> batch;
                for (size_t k = i; k < i + step; ++k) batch.push_back({ids[k], 0, true});
                engine.step(batch);
                for (size_t k = 0; k < step; ++k) {
                    for (size_t v = 0; v < 64; ++v) {
                        worst = std::max(worst, std::fabs(static_cast<double>(engine.logits(k)[v]) - expected[i + k][v]));
                        moved = std::max(moved, std::fabs(dense[i + k][v] - expected[i + k][v]));
                    }
                }
            }
            EXPECT_LT(worst, 1e-4) << "form " << f << " in steps of " << step;
            EXPECT_GT(moved, 0.1) << "form " << f << " leaves nothing out";
        }
    }
}

}  // namespace
}  // namespace powerinfer::engine
