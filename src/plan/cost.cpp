#include "plan/cost.h"

#include <algorithm>
#include <numeric>

namespace powerinfer::plan {

uint64_t padded(uint64_t bytes, uint32_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

uint64_t padded(const std::vector<uint64_t>& tensors, uint32_t alignment) {
    uint64_t sum = 0;
    for (const uint64_t bytes : tensors) sum += padded(bytes, alignment);
    return sum;
}

double one_way_seconds(const Device& device, const Workload& workload) {
    return device.visit_s + static_cast<double>(workload.n_embd) * sizeof(float) / device.bus_bandwidth;
}

double move_seconds(const Machine& machine, const Workload& workload, int from, int to) {
    if (from == to) return 0;
    double seconds = 0;
    for (const int home : {from, to})
        if (home != kHost) seconds += one_way_seconds(machine.devices[static_cast<size_t>(home)], workload);
    return seconds;
}

double head_seconds(const Machine& machine, const Workload& workload, int home) {
    const Piece& head = workload.head;
    if (home == kHost) return machine.rates.seconds(head.bytes, head.weights);
    const Device& d = machine.devices[static_cast<size_t>(home)];
    return d.rates.seconds(head.bytes, head.weights) +
           static_cast<double>(workload.n_vocab) * sizeof(float) / d.bus_bandwidth;
}

LayerCosts::LayerCosts(const Workload& workload, const Machine& machine, size_t layer)
    : workload_(workload), machine_(machine), load_(workload.layers[layer]) {
    row_bytes_ = std::accumulate(load_.row_bytes.begin(), load_.row_bytes.end(), uint64_t{0});
    neurons_.push_back(0);
    fires_.push_back(0);
    read_bytes_.push_back(0);
    for (const Group& g : load_.groups) {
        neurons_.push_back(neurons_.back() + g.n_neurons);
        fires_.push_back(fires_.back() + g.frequency * g.n_neurons);
        read_bytes_.push_back(read_bytes_.back() + (load_.always.bytes + g.frequency * load_.fired.bytes) * g.n_neurons);
    }
    sides_.push_back(side_of(machine.rates));
    for (const Device& d : machine.devices) sides_.push_back(side_of(d.rates));
}

LayerCosts::Side LayerCosts::side_of(const Rates& rates) const {
    Side side;
    side.seconds.push_back(0);
    const double always = rates.seconds(load_.always.bytes, load_.always.weights);
    for (const Group& g : load_.groups)
        side.seconds.push_back(side.seconds.back() +
                               g.n_neurons * (always + rates.seconds(load_.fired.bytes, load_.fired.weights, g.frequency)));
    side.shared = rates.seconds(load_.shared.bytes, load_.shared.weights);
    side.attention = rates.seconds(load_.attention.bytes, load_.attention.weights);
    side.kv = rates.seconds(static_cast<double>(load_.kv_bytes) * workload_.read_share_of_kv, 0);
    return side;
}

LayerCost LayerCosts::cost(const LayerPlacement& p) const {
    const Side &host = side(kHost), &home = side(p.home), &device = side(p.device);
    const size_t n = neurons_.size() - 1, k = p.n_groups;
    double submit = 0, round = 0;
    if (p.device != kHost) {
        const Device& d = machine_.devices[static_cast<size_t>(p.device)];
        submit = d.submit_s;
        round = 2 * one_way_seconds(d, workload_);
    }
    LayerCost c;
    const double attention = home.attention + (p.kv_on_device ? device : host).kv;
    (p.home == kHost ? c.causes.host_attention : c.causes.device_attention) = attention;
    if (p.kv_on_device != (p.home != kHost)) c.causes.visits += round + submit;

    c.device_s = k > 0 ? device.shared + device.seconds[k] : 0;
    c.host_s = k < n ? host.shared + host.seconds[n] - host.seconds[k] : 0;
    // The side that is at home starts at once, the other after a visit; they meet at the end.
    const double device_waits = p.home == kHost && k > 0 ? round : 0;
    const double host_waits = p.home != kHost && k < n ? round + submit : p.home == kHost && k > 0 ? submit : 0;
    const double device_ends = device_waits + c.device_s, host_ends = host_waits + c.host_s;
    if (host_ends >= device_ends) c.causes.visits += host_waits, c.causes.host_neurons = c.host_s;
    else c.causes.visits += device_waits, c.causes.device_neurons = c.device_s;
    if (machine_.is_unified() && k > 0 && k < n) {
        const double together = (read_bytes_[n] + 2 * load_.shared.bytes) / machine_.shared_bandwidth;
        const double missing = together - std::max(host_ends, device_ends);
        if (missing > 0) c.causes.host_neurons += missing;
    }
    c.seconds = c.causes.total();
    c.served = fires_[n] > 0 ? fires_[k] / fires_[n] : 0;
    return c;
}

DeviceUse LayerCosts::device_use(const LayerPlacement& p) const {
    DeviceUse use;
    if (p.device == kHost) return use;
    const uint32_t alignment = machine_.devices[static_cast<size_t>(p.device)].alignment;
    if (p.home != kHost) use.attention = padded(load_.attention_tensors, alignment);
    if (p.kv_on_device) use.kv = 2 * padded(load_.kv_bytes / 2, alignment);
    if (p.n_groups > 0) {
        use.shared = padded(load_.shared_tensors, alignment);
        for (const uint32_t row : load_.row_bytes) use.neurons += padded(row * neurons_[p.n_groups], alignment);
    }
    return use;
}

uint64_t LayerCosts::host_bytes(const LayerPlacement& p) const {
    const size_t n = neurons_.size() - 1, k = p.n_groups;
    uint64_t bytes = 0;
    if (p.home == kHost) bytes += static_cast<uint64_t>(load_.attention.bytes);
    if (!p.kv_on_device) bytes += load_.kv_bytes;
    if (k < n) bytes += static_cast<uint64_t>(load_.shared.bytes) + row_bytes_ * (neurons_[n] - neurons_[k]);
    if (machine_.is_unified()) bytes += device_use(p).placed();
    return bytes;
}

}  // namespace powerinfer::plan
