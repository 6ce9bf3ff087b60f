#include "sparsity/neuron_order.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufValue;

std::string key_of(size_t layer) {
    return fmt::format("powerinfer.neuron_order.{}", layer);
}

template <class T>
void permute(std::vector<T>& values, const std::vector<int32_t>& order, size_t width = 1) {
    if (values.empty()) return;
    std::vector<T> moved(values.size());
    for (size_t j = 0; j < order.size(); ++j)
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(order[j]) * width), width,
                    moved.begin() + static_cast<std::ptrdiff_t>(j * width));
    values = std::move(moved);
}

}  // namespace

NeuronOrder order_by_firing(const ActivationProfile& profile) {
    NeuronOrder order;
    for (const LayerProfile& layer : profile.layers) {
        std::vector<int32_t> ids(layer.fires.size());
        std::iota(ids.begin(), ids.end(), 0);
        std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
            return layer.fires[static_cast<size_t>(a)] > layer.fires[static_cast<size_t>(b)];
        });
        order.push_back(std::move(ids));
    }
    return order;
}

NeuronOrder read_neuron_order(const formats::GgufFile& file, int n_layer, int n_ff) {
    NeuronOrder order;
    if (!file.has(key_of(0))) return order;
    for (size_t i = 0; i < static_cast<size_t>(n_layer); ++i) {
        const auto list = file.find_ints(key_of(i));
        if (!list) fail(ErrorKind::bad_file, "'{}': key '{}' is missing, but layer 0 has one", file.path(), key_of(i));
        std::vector<bool> seen(static_cast<size_t>(n_ff));
        std::vector<int32_t> ids;
        for (const int64_t id : *list) {
            const bool good = id >= 0 && id < n_ff && !seen[static_cast<size_t>(id)];
            if (!good || list->size() != seen.size())
                fail(ErrorKind::bad_file, "'{}': key '{}' is not an order of the layer's {} neurons", file.path(), key_of(i), n_ff);
            seen[static_cast<size_t>(id)] = true;
            ids.push_back(static_cast<int32_t>(id));
        }
        if (ids.size() != seen.size())
            fail(ErrorKind::bad_file, "'{}': key '{}' is not an order of the layer's {} neurons", file.path(), key_of(i), n_ff);
        order.push_back(std::move(ids));
    }
    return order;
}

std::vector<std::pair<std::string, GgufValue>> neuron_order_keys(const NeuronOrder& order, const NeuronOrder& before) {
    std::vector<std::pair<std::string, GgufValue>> keys;
    for (size_t i = 0; i < order.size(); ++i) {
        std::vector<int64_t> ids;
        for (const int32_t id : order[i]) ids.push_back(before.empty() ? id : before[i][static_cast<size_t>(id)]);
        keys.emplace_back(key_of(i), GgufValue::of_i32s(std::move(ids)));
    }
    return keys;
}

ActivationProfile reordered(const ActivationProfile& profile, const NeuronOrder& order) {
    ActivationProfile moved = profile;
    for (size_t i = 0; i < order.size(); ++i) {
        LayerProfile& layer = moved.layers[i];
        permute(layer.fires, order[i]);
        for (auto* values : {&layer.sum, &layer.sum_of_squares, &layer.contribution}) permute(*values, order[i]);
    }
    return moved;
}

PredictorSet reordered(const PredictorSet& set, const NeuronOrder& order) {
    PredictorSet moved = set;
    for (size_t i = 0; i < order.size(); ++i) {
        LayerPredictor& p = moved.layers[i];
        permute(p.fc2.data, order[i], row_bytes(p.fc2.type, p.fc2.n_in));
        permute(p.fc2_bias, order[i]);
        permute(p.signs, order[i], static_cast<size_t>(set.sign_words()));
    }
    return moved;
}

}  // namespace powerinfer::sparsity
