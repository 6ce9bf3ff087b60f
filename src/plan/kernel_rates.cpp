#include "plan/kernel_rates.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace powerinfer::plan {
namespace {

using nlohmann::json;

struct Field {
    const char* name;
    double KernelRates::* value;
};
constexpr Field kFields[] = {{"dense", &KernelRates::dense},
                             {"rows", &KernelRates::rows},
                             {"sums", &KernelRates::sums},
                             {"prompt", &KernelRates::prompt},
                             {"prompt_lists", &KernelRates::prompt_lists}};

/// Adds up seconds, and knows whether every rate was there.
struct Sum {
    const RatesByType& rates;
    double seconds = 0;
    bool known = true;

    void add(const TensorView& matrix, double KernelRates::* rate, double share = 1) {
        if (!matrix) return;
        const auto found = rates.find(matrix.type);
        const double value = found == rates.end() ? 0 : found->second.*rate;
        if (value > 0) {
            seconds += share * static_cast<double>(matrix.n_bytes()) / value;
        } else {
            known = false;
        }
    }
    double total() const { return known ? seconds : 0; }
};

}  // namespace

std::string to_json(const RatesByType& rates, const std::string& machine) {
    json formats = json::object();
    for (const auto& [type, r] : rates) {
        json& row = formats[std::string(info(type).name)];
        for (const Field& f : kFields) row[f.name] = r.*f.value;
    }
    return json{{"machine", machine}, {"formats", formats}}.dump(2) + "\n";
}

std::optional<RatesByType> rates_from_json(std::string_view text, const std::string& machine, const std::string& label) {
    const json all = json::parse(text, nullptr, false);
    if (!all.is_object() || !all.contains("machine") || !all["machine"].is_string() || !all.contains("formats") ||
        !all["formats"].is_object())
        fail(ErrorKind::bad_file, "'{}' must be a JSON object with \"machine\" and \"formats\"", label);
    if (all["machine"] != machine) return std::nullopt;
    RatesByType rates;
    for (const auto& [name, row] : all["formats"].items()) {
        const auto type = find_dtype(name);
        if (!type || !row.is_object()) fail(ErrorKind::bad_file, "'{}': formats.{} is not a number format with its rates", label, name);
        for (const Field& f : kFields) {
            const auto value = row.find(f.name);
            if (value == row.end() || !value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0)
                fail(ErrorKind::bad_file, "'{}': formats.{}.{} must be a number that is not negative", label, name, f.name);
            rates[*type].*f.value = value->get<double>();
        }
    }
    return rates;
}

FfnCost ffn_cost(const model::LayerTensors& layer, const RatesByType& rates, double active, double predicted) {
    // Rows picked one by one cost more per byte than rows in a run: from some share on reading all is cheaper, and that is
    // what kernels are given. A down projection of an ordinary file is re-laid by neuron for the sparse modes.
    const TensorView& by_neuron = layer.ffn_down_t ? layer.ffn_down_t : layer.ffn_down;
    const auto sparse = [&](Sum& sum) {
        sum.add(layer.ffn_up, &KernelRates::rows, active);
        sum.add(by_neuron, &KernelRates::sums, active);
        return sum.total();
    };
    FfnCost cost;
    Sum off{rates};
    off.add(layer.ffn_gate, &KernelRates::dense);
    off.add(layer.ffn_up, &KernelRates::dense);
    off.add(layer.ffn_down, &KernelRates::dense);
    off.add(layer.ffn_down_t, &KernelRates::sums);
    cost.off = off.total();
    Sum exact{rates};
    exact.add(layer.ffn_gate, &KernelRates::dense);
    cost.exact = sparse(exact);
    if (layer.fc1 || layer.gate_signs) {
        Sum predict{rates};
        predict.add(layer.fc1, &KernelRates::dense);
        predict.add(layer.fc2, &KernelRates::dense);
        predict.add(layer.ffn_gate, &KernelRates::rows, predicted);
        cost.predict = sparse(predict);
    }
    return cost;
}

double dense_from(const KernelRates& rates) {
    constexpr double kRows = 16;  // kernels::kRowGroup
    if (rates.prompt <= 0 || rates.prompt_lists <= 0) return 0;
    return kRows * std::min(1.0, rates.prompt_lists / rates.prompt);
}

}  // namespace powerinfer::plan
