// Small random llama-family models for tests: written as a model file, and computed slowly and obviously in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "model/model.h"
#include "quant/format.h"
#include "temporary_folder.h"

namespace powerinfer::test {

struct TinyShape {
    int n_vocab = 64, n_embd = 32, n_layer = 2, n_ff = 96, n_head = 4, n_head_kv = 2, head_dim = 8, rank = 16;
    int sliding_window = 0;
    float rope_factor = 1;
    std::string activation = "relu";
    bool predictors = false;  ///< PWRI with a transposed down projection
    bool biases = false;
    float threshold = 0;
    uint32_t seed = 1;
};

/// Weights as rows [n_out][n_in], kept as the decoded values of the type they are stored in.
struct TinyModel {
    TinyShape shape;
    struct Tensor {
        int64_t n_in, n_out;  ///< n_out 0: one dimension
        std::vector<float> values;
    };
    std::map<std::string, Tensor> tensors;

    explicit TinyModel(const TinyShape& s) : shape(s) {
        std::mt19937 random(s.seed);
        const auto add = [&](const std::string& name, int64_t n_in, int64_t n_out, float scale, float offset = 0) {
            std::normal_distribution<float> normal(offset, scale);
            Tensor t{n_in, n_out, std::vector<float>(static_cast<size_t>(n_in * std::max<int64_t>(n_out, 1)))};
            for (float& v : t.values) v = normal(random);
            tensors[name] = std::move(t);
        };
        const float w = 1.0f / std::sqrt(static_cast<float>(s.n_embd));
        const int q = s.n_head * s.head_dim, kv = s.n_head_kv * s.head_dim;
        add("token_embd.weight", s.n_embd, s.n_vocab, 1);
        add("output_norm.weight", s.n_embd, 0, 0.1f, 1);
        add("output.weight", s.n_embd, s.n_vocab, w);
        for (int i = 0; i < s.n_layer; ++i) {
            const std::string p = "blk." + std::to_string(i) + ".";
            add(p + "attn_norm.weight", s.n_embd, 0, 0.1f, 1);
            add(p + "attn_q.weight", s.n_embd, q, 2 * w);
            add(p + "attn_k.weight", s.n_embd, kv, 2 * w);
            add(p + "attn_v.weight", s.n_embd, kv, w);
            add(p + "attn_output.weight", q, s.n_embd, w);
            add(p + "ffn_norm.weight", s.n_embd, 0, 0.1f, 1);
            add(p + "ffn_gate.weight", s.n_embd, s.n_ff, w);
            add(p + "ffn_up.weight", s.n_embd, s.n_ff, w);
            add(p + (s.predictors ? "ffn_down_t.weight" : "ffn_down.weight"), s.predictors ? s.n_embd : s.n_ff,
                s.predictors ? s.n_ff : s.n_embd, w);
            if (s.predictors) {
                add(p + "fc1.weight", s.n_embd, s.rank, w);
                add(p + "fc2.weight", s.rank, s.n_ff, 0.5f);
            }
            if (s.biases) {
                add(p + "attn_q.bias", q, 0, 0.2f);
                add(p + "attn_k.bias", kv, 0, 0.2f);
                add(p + "attn_v.bias", kv, 0, 0.2f);
                add(p + "attn_output.bias", s.n_embd, 0, 0.2f);
                add(p + "ffn_gate.bias", s.n_ff, 0, 0.2f);
                add(p + "ffn_up.bias", s.n_ff, 0, 0.2f);
                add(p + "ffn_down.bias", s.n_embd, 0, 0.2f);
            }
        }
    }

    float* row(const std::string& name, int64_t i) {
        Tensor& t = tensors.at(name);
        return t.values.data() + i * t.n_in;
    }

    /// Writes the file, 2-D tensors as `type`, and replaces our values by what the file says.
    std::shared_ptr<const model::Model> write(const std::string& path, DType type = DType::F32,
                                              const model::LoadOptions& options = {}) {
        using formats::GgufValue;
        formats::GgufWriter out(path, shape.predictors ? formats::GgufMagic::pwri : formats::GgufMagic::gguf);
        const auto u32 = [&](const std::string& key, int v) { out.set(key, GgufValue::of_u32(static_cast<uint32_t>(v))); };
        out.set("general.architecture", GgufValue::of_string("llama"));
        u32("llama.vocab_size", shape.n_vocab);
        u32("llama.context_length", 256);
        u32("llama.embedding_length", shape.n_embd);
        u32("llama.block_count", shape.n_layer);
        u32("llama.feed_forward_length", shape.n_ff);
        u32("llama.attention.head_count", shape.n_head);
        u32("llama.attention.head_count_kv", shape.n_head_kv);
        u32("llama.attention.key_length", shape.head_dim);
        u32("llama.attention.value_length", shape.head_dim);
        if (shape.sliding_window) u32("llama.attention.sliding_window", shape.sliding_window);
        out.set("llama.attention.layer_norm_rms_epsilon", GgufValue::of_f32(1e-5f));
        out.set("llama.rope.scaling.factor", GgufValue::of_f32(shape.rope_factor));
        out.set("powerinfer.activation", GgufValue::of_string(shape.activation));
        if (shape.predictors) out.set("powerinfer.sparse_threshold", GgufValue::of_f32(shape.threshold));
        for (const auto& [name, t] : tensors)
            out.add_tensor(name, t.n_out ? type : DType::F32, {t.n_in, std::max<int64_t>(t.n_out, 1), 1, 1});
        out.begin_data();
        for (auto& [name, t] : tensors) {
            const DType stored = t.n_out ? type : DType::F32;
            const auto n = static_cast<int64_t>(t.values.size());
            std::vector<uint8_t> bytes(row_bytes(stored, n));
            quant::format(stored).encode(t.values.data(), bytes.data(), n, nullptr);
            quant::format(stored).decode(bytes.data(), t.values.data(), n);
            out.write(bytes.data(), bytes.size());
        }
        out.finish();
        auto file = std::make_shared<const formats::GgufFile>(formats::GgufFile::open(path));
        return std::make_shared<const model::Model>(model::load(file, options));
    }

    /// Which neurons of a layer take part, given the residual before the FFN norm; null: all.
    using Mask = std::function<std::set<int>(int layer, const std::vector<double>& residual)>;

    /// Logits [n_tokens][n_vocab] in double precision, straight from the definition of the network.
    std::vector<std::vector<double>> logits(const std::vector<int32_t>& ids, const Mask& mask = nullptr) const {
        const TinyShape& s = shape;
        using Vec = std::vector<double>;
        const auto weight = [&](const std::string& name) -> const Tensor& { return tensors.at(name); };
        const auto times = [&](const std::string& name, const Vec& x) {
            const Tensor& m = weight(name + ".weight");
            Vec y(static_cast<size_t>(m.n_out));
            for (int64_t r = 0; r < m.n_out; ++r) {
                for (int64_t i = 0; i < m.n_in; ++i)
                    y[static_cast<size_t>(r)] +=
                        static_cast<double>(m.values[static_cast<size_t>(r * m.n_in + i)]) * x[static_cast<size_t>(i)];
            }
            if (const auto bias = tensors.find(name + ".bias"); bias != tensors.end()) {
                for (size_t r = 0; r < y.size(); ++r) y[r] += static_cast<double>(bias->second.values[r]);
            }
            return y;
        };
        const auto norm = [&](const std::string& name, const Vec& x) {
            double squares = 0;
            for (const double v : x) squares += v * v;
            const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
            Vec y(x.size());
            for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * static_cast<double>(weight(name).values[i]);
            return y;
        };
        const auto rotate = [&](Vec& x, size_t position) {
            for (size_t h = 0; h < x.size() / static_cast<size_t>(s.head_dim); ++h) {
                for (size_t i = 0; i < static_cast<size_t>(s.head_dim) / 2; ++i) {
                    const double f = std::pow(10000.0, -2.0 * static_cast<double>(i) / s.head_dim) / static_cast<double>(s.rope_factor);
                    const double angle = static_cast<double>(position) * f;
                    double& a = x[h * static_cast<size_t>(s.head_dim) + 2 * i];
                    double& b = x[h * static_cast<size_t>(s.head_dim) + 2 * i + 1];
                    const double ra = a * std::cos(angle) - b * std::sin(angle);
                    b = a * std::sin(angle) + b * std::cos(angle);
                    a = ra;
                }
            }
        };
        const auto act = [&](double g) {
            if (s.activation == "silu") return g / (1 + std::exp(-g));
            const double positive = g > 0 ? g : 0;
            return s.activation == "relu_squared" ? positive * positive : positive;
        };

        std::vector<Vec> x;
        for (const int32_t id : ids) {
            Vec row(static_cast<size_t>(s.n_embd));
            for (size_t i = 0; i < row.size(); ++i)
                row[i] = static_cast<double>(weight("token_embd.weight").values[static_cast<size_t>(id) * row.size() + i]);
            x.push_back(row);
        }
        for (int layer = 0; layer < s.n_layer; ++layer) {
            const std::string p = "blk." + std::to_string(layer) + ".";
            std::vector<Vec> q, k, v;
            for (size_t t = 0; t < x.size(); ++t) {
                const Vec n = norm(p + "attn_norm.weight", x[t]);
                q.push_back(times(p + "attn_q", n));
                k.push_back(times(p + "attn_k", n));
                v.push_back(times(p + "attn_v", n));
                rotate(q.back(), t);
                rotate(k.back(), t);
            }
            const auto dim = static_cast<size_t>(s.head_dim);
            for (size_t t = 0; t < x.size(); ++t) {
                Vec attended(q[t].size());
                for (size_t h = 0; h < static_cast<size_t>(s.n_head); ++h) {
                    const size_t kv = h / static_cast<size_t>(s.n_head / s.n_head_kv);
                    const size_t first = s.sliding_window > 0 && t + 1 > static_cast<size_t>(s.sliding_window)
                                             ? t + 1 - static_cast<size_t>(s.sliding_window)
                                             : 0;
                    Vec weights(t + 1);
                    double sum = 0;
                    for (size_t u = first; u <= t; ++u) {
                        double score = 0;
                        for (size_t i = 0; i < dim; ++i) score += q[t][h * dim + i] * k[u][kv * dim + i];
                        sum += weights[u] = std::exp(score / std::sqrt(static_cast<double>(dim)));
                    }
                    for (size_t u = first; u <= t; ++u) {
                        for (size_t i = 0; i < dim; ++i) attended[h * dim + i] += weights[u] / sum * v[u][kv * dim + i];
                    }
                }
                const Vec add = times(p + "attn_output", attended);
                for (size_t i = 0; i < add.size(); ++i) x[t][i] += add[i];
            }
            for (size_t t = 0; t < x.size(); ++t) {
                const Vec n = norm(p + "ffn_norm.weight", x[t]);
                Vec gate = times(p + "ffn_gate", n), up = times(p + "ffn_up", n), h(gate.size());
                std::set<int> active;
                if (mask) active = mask(layer, x[t]);
                for (size_t j = 0; j < h.size(); ++j) {
                    if (mask && !active.contains(static_cast<int>(j))) continue;
                    h[j] = act(gate[j]) * (s.activation == "drelu" ? act(up[j]) : up[j]);
                }
                Vec add(static_cast<size_t>(s.n_embd));
                if (s.predictors) {
                    const Tensor& down = weight(p + "ffn_down_t.weight");
                    for (size_t j = 0; j < h.size(); ++j) {
                        for (size_t i = 0; i < add.size(); ++i)
                            add[i] += h[j] * static_cast<double>(down.values[j * add.size() + i]);
                    }
                    if (s.biases) {
                        for (size_t i = 0; i < add.size(); ++i)
                            add[i] += static_cast<double>(weight(p + "ffn_down.bias").values[i]);
                    }
                } else {
                    add = times(p + "ffn_down", h);
                }
                for (size_t i = 0; i < add.size(); ++i) x[t][i] += add[i];
            }
        }
        std::vector<Vec> out;
        for (const Vec& row : x) out.push_back(times("output", norm("output_norm.weight", row)));
        return out;
    }
};

}  // namespace powerinfer::test
