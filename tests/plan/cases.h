// Small random models, profiles and machines for placement tests, and the slow ways to solve them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/placement.h"

namespace powerinfer::plan::test {

inline double uniform(std::mt19937& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}
inline int integer(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// Layers of a few groups, sizes and speeds over a wide range, so that every kind of placement is the best for some.
inline Workload random_workload(std::mt19937& random, int n_layer, int n_groups) {
    Shape s;
    s.name = "random";
    s.n_embd = 64 * integer(random, 1, 8);
    s.n_embd_kv = 64 * integer(random, 1, 2);
    s.n_ff = kGroupNeurons * n_groups - integer(random, 0, kGroupNeurons - 1);
    s.n_layer = n_layer;
    s.n_vocab = integer(random, 100, 4000);
    s.type = integer(random, 0, 1) ? DType::Q4_0 : DType::F16;
    s.predictor_type = DType::Q4_0;
    s.rank = 32 * integer(random, 0, 3);
    s.n_ctx = integer(random, 16, 2000);
    s.n_batch = 8;
    Frequencies f;
    for (int l = 0; l < n_layer; ++l) {
        std::vector<double> layer;
        const double power = uniform(random, 0.2, 6);
        for (int i = 0; i < s.n_ff; ++i) layer.push_back(std::pow(uniform(random, 0, 1), power));
        f.push_back(std::move(layer));
    }
    return workload_of(s, f);
}

/// Sizes fit random_workload.
inline Machine random_machine(std::mt19937& random, const Workload& w, int n_devices) {
    Machine m;
    m.name = "random";
    m.memory = uint64_t{1} << 40;
    m.rates = {.bandwidth = uniform(random, 1e9, 1e10), .row_share = uniform(random, 0.5, 1), .macs_per_s = integer(random, 0, 1) * 1e10};
    m.disk_bandwidth = 1e8;
    if (integer(random, 0, 5) == 0) m.shared_bandwidth = 1.3 * m.rates.bandwidth;
    for (int d = 0; d < n_devices; ++d) {
        Device g;
        g.name = "gpu" + std::to_string(d);
        g.rates = {.bandwidth = uniform(random, 2e9, 1e11), .row_share = uniform(random, 0.5, 1), .macs_per_s = 0};
        g.visit_s = std::pow(10, uniform(random, -8, -4));
        g.submit_s = g.visit_s * uniform(random, 0, 1);
        g.bus_bandwidth = uniform(random, 1e9, 1e11);
        g.alignment = 256;
        g.reserved = 12345;
        const double room = static_cast<double>(w.total_bytes()) * uniform(random, 0, 1.2) / n_devices;
        g.memory = g.reserved + w.scratch_bytes + static_cast<uint64_t>(room);
        m.devices.push_back(g);
    }
    return m;
}

/// The least of all placements, each costed by `expect` itself.
inline double brute_force(const Workload& w, const Machine& machine, const Allowance& allowance) {
    const auto n_devices = static_cast<int>(machine.devices.size());
    std::vector<std::vector<LayerPlacement>> choices;
    for (const LayerLoad& l : w.layers) {
        std::vector<LayerPlacement>& c = choices.emplace_back();
        c.push_back({});
        for (int d = 0; d < n_devices; ++d)
            for (int home : {kHost, d})
                for (bool kv : {false, true})
                    for (uint32_t k = 0; k <= l.groups.size(); ++k)
                        if (home != kHost || kv || k > 0) c.push_back({home, d, kv, k});
    }
    double best = std::numeric_limits<double>::infinity();
    Placement p;
    p.layers.resize(w.layers.size());
    const auto go = [&](const auto& self, size_t layer) -> void {
        if (layer < choices.size()) {
            for (const LayerPlacement& c : choices[layer]) {
                p.layers[layer] = c;
                self(self, layer + 1);
            }
            return;
        }
        for (p.head = kHost; p.head < n_devices; ++p.head) {
            try {
                best = std::min(best, expect(w, machine, allowance, p).seconds);
            } catch (const Error&) {  // does not fit
            }
        }
    };
    go(go, 0);
    return best;
}

}  // namespace powerinfer::plan::test
