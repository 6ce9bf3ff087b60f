#include "plan/placement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plan/cost.h"

namespace powerinfer::plan {
namespace {

std::string size(uint64_t bytes) {
    const auto b = static_cast<double>(bytes);
    if (b >= 1024.0 * 1024 * 1024) return fmt::format("{:.2f} GiB", b / (1024.0 * 1024 * 1024));
    if (b >= 1024.0 * 1024) return fmt::format("{:.2f} MiB", b / (1024.0 * 1024));
    return fmt::format("{} bytes", bytes);
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// `of` 0: not a part of the model.
std::string row(std::string_view name, uint64_t bytes, uint64_t of) {
    if (of == 0) return fmt::format("  {:<44}{:>12}\n", name, size(bytes));
    return bytes == 0 ? "" : fmt::format("  {:<44}{:>12}  {:5.1f} %\n", name, size(bytes),
                                         percent(static_cast<double>(bytes), static_cast<double>(of)));
}

std::string place_name(const Machine& machine, int home) {
    return home == kHost ? "processor" : machine.devices[static_cast<size_t>(home)].name;
}

/// Causes by share of the time, largest first.
std::string limits(const TimeByCause& t) {
    std::vector<std::pair<double, const char*>> causes = {
        {t.host_attention, "attention on the processor"},    {t.device_attention, "attention on a device"},
        {t.host_neurons, "neurons that the processor reads"}, {t.device_neurons, "neurons that a device reads"},
        {t.visits, "visits between processor and device"},    {t.head, "the output matrix"},
        {t.disk, "what RAM has no room for, read from the disk"}};
    std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (const auto& [seconds, name] : causes)
        if (percent(seconds, t.total()) >= 0.05)
            text += fmt::format("  {:<44}{:9.3f} ms  {:5.1f} %\n", name, 1e3 * seconds, percent(seconds, t.total()));
    return text;
}

std::string comparison_row(std::string_view name, const Expected& e) {
    return fmt::format("  {:<36}{:>7.1f} %{:>12.2f}{:>11.3f} ms\n", name, 100 * e.served, e.tokens_per_s(), 1e3 * e.seconds);
}

}  // namespace

std::string report(const Workload& w, const Machine& m, const Allowance& allowance, const Solution& s) {
    const Expected& e = s.expected;
    const uint64_t all = w.total_bytes();
    std::string text = fmt::format("model    {}, {} with its cache\nmachine  {}: {}", w.model, size(all), m.name, m.processor);
    for (const Device& d : m.devices) text += fmt::format(", {}", d.name);
    text += "\n";
    for (size_t d = 0; d < e.devices.size(); ++d) {
        const DeviceUse& use = e.devices[d];
        const uint64_t room = room_on(m, d, w, allowance) + m.devices[d].reserved + w.scratch_bytes;
        text += fmt::format("\n{}: {} bytes of {} used\n", m.devices[d].name, use.total(), room);
        text += row("attention", use.attention, all) + row("KV cache", use.kv, all) +
                row("norms and first matrices of predictors", use.shared, all) + row("neurons", use.neurons, all) +
                row("output matrix", use.head, all) + row("working memory", use.scratch, 0) +
                row("context of the runtime", use.context, 0);
    }
    int at_home = 0, whole = 0, shared = 0, cached = 0;
    uint64_t neurons = 0, placed = 0;
    for (size_t l = 0; l < w.layers.size(); ++l) {
        const LayerPlacement& p = s.placement.layers[l];
        const auto n = static_cast<uint32_t>(w.layers[l].groups.size());
        at_home += p.home != kHost;
        cached += p.kv_on_device;
        whole += p.n_groups == n;
        shared += p.n_groups > 0 && p.n_groups < n;
        neurons += static_cast<uint64_t>(w.n_neurons(l));
        for (uint32_t g = 0; g < p.n_groups; ++g) placed += w.layers[l].groups[g].n_neurons;
    }
    text += fmt::format("\nRAM: {} of {} for weights, cache and working memory\n", size(e.host_bytes), size(e.host_room));
    if (e.missing_ram() > 0)
        text += fmt::format("  {} do not fit: they would have to be read from the disk, at {:.1f} GB/s\n", size(e.missing_ram()),
                            m.disk_bandwidth / 1e9);
    const size_t n_layer = w.layers.size();
    if (!m.devices.empty())
        text += fmt::format("\nof {} layers: attention of {}, cache of {} on a device; neurons of {} wholly, of {} partly\n"
                            "{:.1f} % of the neurons are on a device and serve {:.1f} % of the activations\n",
                            n_layer, at_home, cached, whole, shared,
                            percent(static_cast<double>(placed), static_cast<double>(neurons)), 100 * e.served);
    text += fmt::format("\nexpected {:.2f} tokens/s ({:.3f} ms per token), proven to be within {:.4f} % of the optimum; the time is\n{}",
                        e.tokens_per_s(), 1e3 * e.seconds, 100 * s.gap(), limits(e.causes));
    if (m.devices.empty()) return text;
    text += fmt::format("\n{:<38}{:>9}{:>12}{:>14}\n", "on the same inputs", "served", "tokens/s", "per token");
    text += comparison_row("this plan", e);
    for (const Rule rule : {Rule::whole_layers, Rule::attention_first, Rule::hottest_neurons, Rule::powerinfer_order})
        text += comparison_row(title(rule), expect(w, m, allowance, place_by(rule, w, m, allowance)));
    return text;
}

std::string explain(const Workload& w, const Machine& m, const Allowance& allowance, const Solution& s, size_t layer) {
    const LayerPlacement& p = s.placement.layers[layer];
    const LayerLoad& l = w.layers[layer];
    const LayerCosts costs(w, m, layer);
    const LayerCost c = costs.cost(p);
    std::string text = fmt::format("layer {}: attention with the {}, cache with the {}, {} of {} groups with the {}\n", layer,
                                   place_name(m, p.home), place_name(m, p.kv_on_device ? p.device : kHost), p.n_groups,
                                   l.groups.size(), place_name(m, p.device));
    if (p.n_groups > 0)
        text += fmt::format("  the coolest group of these fires for {:.2f} % of the tokens", 100 * l.groups[p.n_groups - 1].frequency);
    if (p.n_groups > 0 && p.n_groups < l.groups.size())
        text += fmt::format(", the hottest of the others for {:.2f} %", 100 * l.groups[p.n_groups].frequency);
    if (p.n_groups > 0) text += "\n";
    text += fmt::format("  {:.1f} us in all; neurons: device {:.1f} us, processor {:.1f} us; {:.1f} % of the activations are the device's\n",
                        1e6 * c.seconds, 1e6 * c.device_s, 1e6 * c.host_s, 100 * c.served);
    for (size_t d = 0; d < m.devices.size(); ++d) {
        const std::optional<uint32_t> least = least_useful_groups(w, m, layer, d);
        text += fmt::format("  asking {} for help alone pays from {}\n", m.devices[d].name,
                            least ? fmt::format("{} groups on", *least) : "no number of groups on");
    }
    if (p.device == kHost) return text;
    const uint64_t room = room_on(m, static_cast<size_t>(p.device), w, allowance) - s.expected.devices[static_cast<size_t>(p.device)].placed();
    text += fmt::format("  {} are left on the device\n  groups     bytes on device   layer takes\n", size(room));
    std::set<uint32_t> shown;
    const auto n = static_cast<int64_t>(l.groups.size()), k = static_cast<int64_t>(p.n_groups);
    for (const int64_t step : {-k, int64_t{-16}, int64_t{-4}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{4}, int64_t{16}, n - k})
        shown.insert(static_cast<uint32_t>(std::clamp(k + step, int64_t{0}, n)));
    for (const uint32_t groups : shown) {
        LayerPlacement other = p;
        other.n_groups = groups;
        text += fmt::format("  {:>6}  {:>18}  {:>9.1f} us{}\n", groups, costs.device_use(other).placed(), 1e6 * costs.cost(other).seconds,
                            groups == p.n_groups ? "  <- planned" : "");
    }
    return text;
}

}  // namespace powerinfer::plan
