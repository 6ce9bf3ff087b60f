// What the tests of learn/ share: a tiny model that is read token by token, and its feed-forwards computed in
// double.
#pragma once

#include <cmath>
#include <vector>

#include "learn/text_run.h"
#include "tiny_model.h"

namespace powerinfer::test {

inline std::vector<int32_t> some_ids(size_t n, int32_t n_vocab = 64) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < n; ++i)
        ids.push_back(static_cast<int32_t>((i * 37 + 11 + i * i) % static_cast<size_t>(n_vocab)));
    return ids;
}

/// One token in one layer, from the definition of the network.
struct SlowFeedForward {
    std::vector<double> residual, gate, up, h;
};

/// [layer][token] of one window that is read from an empty context.
inline std::vector<std::vector<SlowFeedForward>> slow_feed_forwards(const TinyModel& tiny,
                                                                    const std::vector<int32_t>& ids) {
    const TinyShape& s = tiny.shape;
    std::vector<std::vector<SlowFeedForward>> out(static_cast<size_t>(s.n_layer));
    std::set<int> all;
    for (int j = 0; j < s.n_ff; ++j) all.insert(j);
    tiny.logits(ids, [&](int layer, const std::vector<double>& residual) {
        SlowFeedForward f{residual, {}, {}, {}};
        const std::string p = "blk." + std::to_string(layer) + ".";
        double squares = 0;
        for (const double v : residual) squares += v * v;
        const double scale = 1 / std::sqrt(squares / s.n_embd + 1e-5);
        std::vector<double> x;
        for (size_t i = 0; i < residual.size(); ++i)
            x.push_back(residual[i] * scale *
                        static_cast<double>(tiny.tensors.at(p + "ffn_norm.weight").values[i]));
        const auto product = [&](const std::string& name, size_t j) {
            double sum = 0;
            for (size_t i = 0; i < x.size(); ++i)
                sum += x[i] *
                       static_cast<double>(tiny.tensors.at(p + name + ".weight").values[j * x.size() + i]);
            const auto bias = tiny.tensors.find(p + name + ".bias");
            return sum + (bias == tiny.tensors.end() ? 0 : static_cast<double>(bias->second.values[j]));
        };
        for (size_t j = 0; j < static_cast<size_t>(s.n_ff); ++j) {
            const double gate = product("ffn_gate", j), up = product("ffn_up", j),
                         positive = std::max(gate, 0.0);
            f.gate.push_back(gate);
            f.up.push_back(up);
            f.h.push_back(s.activation == "drelu"          ? positive * std::max(up, 0.0)
                          : s.activation == "relu_squared" ? positive * positive * up
                                                           : positive * up);
        }
        out[static_cast<size_t>(layer)].push_back(f);
        return all;
    });
    return out;
}

}  // namespace powerinfer::test
