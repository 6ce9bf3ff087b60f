// Where the weights of a model lie on a machine with devices: the placement that is expected to be fastest, and what any
// placement costs. Pure: numbers in, numbers out. Not for how the processor computes a layer: see plan.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/chain.h"
#include "plan/machine.h"
#include "plan/workload.h"

namespace powerinfer::plan {

/// One layer. At most one device takes part: it computes its own neurons while the processor computes the others.
struct LayerPlacement {
    int home = kHost;         ///< holds the attention's weights; the activations are here before and after the layer
    int device = kHost;       ///< the device that takes part; the home, unless that is the host
    bool kv_on_device = false;
    uint32_t n_groups = 0;    ///< of the layer's groups, the hottest, with the device

    bool operator==(const LayerPlacement&) const = default;
};

struct Placement {
    std::vector<LayerPlacement> layers;
    int head = kHost;         ///< who holds the output matrix

    bool operator==(const Placement&) const = default;
};

/// What may be used of a machine.
struct Allowance {
    std::vector<uint64_t> vram;    ///< bytes of each device, its runtime's context included; the last holds for further ones, empty = all
    std::optional<uint64_t> ram;   ///< bytes; nothing = all that the machine does not reserve
};

/// Bytes of a device that weights and cache may take: what is allowed, less the runtime's context and the working memory.
uint64_t room_on(const Machine& machine, size_t device, const Workload& workload, const Allowance& allowance);
uint64_t room_in_ram(const Machine& machine, const Workload& workload, const Allowance& allowance);

/// Where the time of a token goes, in seconds. What runs beside something slower counts nothing.
struct TimeByCause {
    double host_attention = 0, device_attention = 0, host_neurons = 0, device_neurons = 0, visits = 0, head = 0;
    double disk = 0;  ///< what RAM has no room for, as if it were read again for every token

    double total() const {
        return host_attention + device_attention + host_neurons + device_neurons + visits + head + disk;
    }
};

struct DeviceUse {
    uint64_t context = 0, scratch = 0, attention = 0, kv = 0, shared = 0, neurons = 0, head = 0;  ///< bytes, padding included

    uint64_t placed() const { return attention + kv + shared + neurons + head; }
    uint64_t total() const { return context + scratch + placed(); }
};

struct LayerCost {
    double seconds = 0;                      ///< of the layer, the move to its home not included
    double host_s = 0, device_s = 0;         ///< computing neurons, each side by itself
    double served = 0;                       ///< share of the layer's activations that the device computes
    TimeByCause causes;
};

/// What a placement is expected to do.
struct Expected {
    double seconds = 0;                      ///< per token
    TimeByCause causes;
    std::vector<LayerCost> layers;
    std::vector<DeviceUse> devices;
    uint64_t host_bytes = 0;                 ///< RAM for weights, cache and working memory
    uint64_t host_room = 0;
    double served = 0;                       ///< share of all activations that devices compute

    double tokens_per_s() const { return seconds > 0 ? 1 / seconds : 0; }
    uint64_t missing_ram() const { return host_bytes > host_room ? host_bytes - host_room : 0; }
};

/// The objective. Throws Error{bad_argument} naming the layer where the placement is impossible on that machine, or the
/// device where it does not fit the allowance.
Expected expect(const Workload& workload, const Machine& machine, const Allowance& allowance, const Placement& placement);

struct Solution {
    Placement placement;
    Expected expected;
    double bound = 0;   ///< seconds that no placement of this kind can be faster than
    double gap() const { return bound < expected.seconds ? (expected.seconds - bound) / expected.seconds : 0; }
};

/// The placement with the least expected time per token. Deterministic.
Solution place(const Workload& workload, const Machine& machine, const Allowance& allowance);

/// Ways to place that others use, on the same inputs.
enum class Rule {
    whole_layers,       ///< whole layers from the last to the first, then the head
    attention_first,    ///< attention and cache of all layers and the head, then whole feed-forwards
    hottest_neurons,    ///< the hottest groups of all layers, then attention, head
    powerinfer_order,   ///< attention, predictors, head, cache, then the hottest groups, as the engine of 2023
};
std::string_view title(Rule rule);
Placement place_by(Rule rule, const Workload& workload, const Machine& machine, const Allowance& allowance);

/// The fewest groups for which it pays to ask the device for help in a layer that is at home with the host; nothing where
/// it never does.
std::optional<uint32_t> least_useful_groups(const Workload& workload, const Machine& machine, size_t layer, size_t device);

/// Every choice for one layer, as the search sees it; `placement_of` tells what a choice means. For tests and explanations.
ChainProblem chain_problem(const Workload& workload, const Machine& machine, const Allowance& allowance);
LayerPlacement placement_of(const Choice& choice);

}  // namespace powerinfer::plan
