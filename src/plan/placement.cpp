#include "plan/placement.h"

#include <algorithm>

#include "base/error.h"
#include "plan/cost.h"

namespace powerinfer::plan {
namespace {

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t allowed_on(const Machine& machine, size_t device, const Allowance& allowance) {
    const uint64_t memory = machine.devices[device].memory;
    if (allowance.vram.empty()) return memory;
    return std::min(memory, allowance.vram[std::min(device, allowance.vram.size() - 1)]);
}

/// What the head takes of its holder's memory.
uint64_t head_bytes(const Workload& w, const Machine& machine, int home) {
    if (home == kHost) return w.tied_head ? 0 : static_cast<uint64_t>(w.head.bytes);
    return padded(w.head_tensors, machine.devices[static_cast<size_t>(home)].alignment);
}

void check(const Placement& p, const Workload& w, const Machine& machine) {
    const auto n_devices = static_cast<int>(machine.devices.size());
    const auto exists = [&](int home) { return home >= kHost && home < n_devices; };
    if (p.layers.size() != w.layers.size())
        fail(ErrorKind::bad_argument, "the placement has {} layers, the model {}", p.layers.size(), w.layers.size());
    if (!exists(p.head)) fail(ErrorKind::bad_argument, "the output matrix is placed on device {}, the machine has {}", p.head, n_devices);
    for (size_t l = 0; l < p.layers.size(); ++l) {
        const LayerPlacement& row = p.layers[l];
        if (!exists(row.home) || !exists(row.device))
            fail(ErrorKind::bad_argument, "layer {} is placed on device {}, the machine has {}", l, std::max(row.home, row.device), n_devices);
        if (row.home != kHost && row.device != row.home)
            fail(ErrorKind::bad_argument, "layer {} is at home on device {} and helped by device {}, only the processor can help there",
                 l, row.home, row.device);
        if (row.device == kHost && (row.n_groups > 0 || row.kv_on_device))
            fail(ErrorKind::bad_argument, "layer {} has neurons or cache on a device, and no device", l);
        if (row.n_groups > w.layers[l].groups.size())
            fail(ErrorKind::bad_argument, "layer {} has {} groups on a device, there are {}", l, row.n_groups, w.layers[l].groups.size());
    }
}

void add(TimeByCause& sum, const TimeByCause& t) {
    sum.host_attention += t.host_attention;
    sum.device_attention += t.device_attention;
    sum.host_neurons += t.host_neurons;
    sum.device_neurons += t.device_neurons;
    sum.visits += t.visits;
    sum.head += t.head;
}

void add(DeviceUse& sum, const DeviceUse& u) {
    sum.attention += u.attention;
    sum.kv += u.kv;
    sum.shared += u.shared;
    sum.neurons += u.neurons;
}

}  // namespace

uint64_t room_on(const Machine& machine, size_t device, const Workload& w, const Allowance& allowance) {
    return minus(allowed_on(machine, device, allowance), machine.devices[device].reserved + w.scratch_bytes);
}

uint64_t room_in_ram(const Machine& machine, const Workload& w, const Allowance& allowance) {
    const uint64_t all = minus(machine.memory, machine.reserved);
    return minus(std::min(all, allowance.ram.value_or(all)), w.scratch_bytes + w.embedding_bytes);
}

Expected expect(const Workload& w, const Machine& machine, const Allowance& allowance, const Placement& p) {
    check(p, w, machine);
    Expected e;
    e.devices.resize(machine.devices.size());
    double fires = 0, served = 0;
    int home = kHost;
    for (size_t l = 0; l < p.layers.size(); ++l) {
        const LayerPlacement& row = p.layers[l];
        const LayerCosts costs(w, machine, l);
        e.layers.push_back(costs.cost(row));
        e.causes.visits += move_seconds(machine, w, home, row.home);
        home = row.home;
        add(e.causes, e.layers.back().causes);
        if (row.device != kHost) add(e.devices[static_cast<size_t>(row.device)], costs.device_use(row));
        e.host_bytes += costs.host_bytes(row);
        double of_layer = 0;
        for (const Group& g : w.layers[l].groups) of_layer += g.frequency * g.n_neurons;
        fires += of_layer;
        served += of_layer * e.layers.back().served;
    }
    e.causes.visits += move_seconds(machine, w, home, p.head) + move_seconds(machine, w, p.head, kHost);
    e.causes.head = head_seconds(machine, w, p.head);
    if (p.head != kHost) e.devices[static_cast<size_t>(p.head)].head = head_bytes(w, machine, p.head);
    if (p.head == kHost || machine.is_unified()) e.host_bytes += head_bytes(w, machine, p.head);
    e.host_bytes += w.embedding_bytes + w.scratch_bytes;
    e.host_room = room_in_ram(machine, w, allowance) + w.embedding_bytes + w.scratch_bytes;
    e.served = fires > 0 ? served / fires : 0;
    e.causes.disk = static_cast<double>(e.missing_ram()) / machine.disk_bandwidth;
    e.seconds = e.causes.total();
    for (size_t d = 0; d < e.devices.size(); ++d) {
        DeviceUse& use = e.devices[d];
        if (use.placed() > room_on(machine, d, w, allowance))
            fail(ErrorKind::bad_argument, "device {} ({}) would have to hold {} bytes of weights and cache, there is room for {}", d,
                 machine.devices[d].name, use.placed(), room_on(machine, d, w, allowance));
        if (use.placed() == 0) continue;
        use.context = machine.devices[d].reserved;
        use.scratch = w.scratch_bytes;
    }
    return e;
}

ChainProblem chain_problem(const Workload& w, const Machine& machine, const Allowance& allowance) {
    const auto n_devices = static_cast<int>(machine.devices.size());
    ChainProblem problem;
    for (int from = kHost; from < n_devices; ++from) {
        problem.move.emplace_back();
        for (int to = kHost; to < n_devices; ++to) problem.move.back().push_back(move_seconds(machine, w, from, to));
    }
    for (size_t d = 0; d < machine.devices.size(); ++d) problem.capacity.push_back(room_on(machine, d, w, allowance));
    problem.host_capacity = room_in_ram(machine, w, allowance);
    problem.seconds_per_excess = 1 / machine.disk_bandwidth;

    for (size_t l = 0; l < w.layers.size(); ++l) {
        const LayerCosts costs(w, machine, l);
        std::vector<Choice>& stage = problem.stages.emplace_back();
        const auto add_choice = [&](const LayerPlacement& p) {
            stage.push_back({.seconds = costs.cost(p).seconds,
                             .bytes = costs.device_use(p).placed(),
                             .host_bytes = costs.host_bytes(p),
                             .home = p.home,
                             .device = p.device,
                             .tag = (p.n_groups << 1) | static_cast<uint32_t>(p.kv_on_device)});
        };
        add_choice({});
        for (int d = 0; d < n_devices; ++d)
            for (const int home : {kHost, d})
                for (const bool kv : {false, true})
                    for (uint32_t k = 0; k <= costs.n_groups(); ++k)
                        if (home != kHost || kv || k > 0) add_choice({home, d, kv, k});
    }
    std::vector<Choice>& head = problem.stages.emplace_back();
    for (int home = kHost; home < n_devices; ++home)
        head.push_back({.seconds = head_seconds(machine, w, home),
                        .bytes = home == kHost ? 0 : head_bytes(w, machine, home),
                        .host_bytes = home == kHost || machine.is_unified() ? head_bytes(w, machine, home) : 0,
                        .home = home,
                        .device = home,
                        .tag = 0});
    return problem;
}

LayerPlacement placement_of(const Choice& c) {
    return {.home = c.home, .device = c.device, .kv_on_device = (c.tag & 1u) != 0, .n_groups = c.tag >> 1};
}

Solution place(const Workload& w, const Machine& machine, const Allowance& allowance) {
    const ChainProblem problem = chain_problem(w, machine, allowance);
    const ChainResult result = solve_chain(problem);
    Solution s;
    for (size_t l = 0; l < w.layers.size(); ++l)
        s.placement.layers.push_back(placement_of(problem.stages[l][result.picks[l]]));
    s.placement.head = problem.stages.back()[result.picks.back()].home;
    s.expected = expect(w, machine, allowance, s.placement);
    s.bound = std::min(result.bound, s.expected.seconds);
    return s;
}

std::optional<uint32_t> least_useful_groups(const Workload& w, const Machine& machine, size_t layer, size_t device) {
    const LayerCosts costs(w, machine, layer);
    const double alone = costs.cost({}).seconds;
    for (uint32_t k = 1; k <= costs.n_groups(); ++k)
        if (costs.cost({kHost, static_cast<int>(device), false, k}).seconds < alone) return k;
    return std::nullopt;
}

}  // namespace powerinfer::plan
