// Placements by the simple rules that other engines follow, for comparison.
#include <algorithm>
#include <functional>

#include "plan/cost.h"
#include "plan/placement.h"

namespace powerinfer::plan {
namespace {

/// Fills devices step by step; every layer belongs to one device, in blocks as large as the devices.
class Filler {
  public:
    Filler(const Workload& w, const Machine& machine, const Allowance& allowance) : w_(w), machine_(machine) {
        uint64_t total = 0;
        for (size_t d = 0; d < machine.devices.size(); ++d) {
            room_.push_back(room_on(machine, d, w, allowance));
            total += room_.back();
        }
        result_.layers.resize(w.layers.size());
        uint64_t upto = 0;
        size_t device = 0;
        for (size_t l = 0; l < w.layers.size(); ++l) {
            costs_.emplace_back(w, machine, l);
            // The middle of the layer lies in the block of its device.
            const double at = (static_cast<double>(l) + 0.5) / static_cast<double>(w.layers.size()) * static_cast<double>(total);
            while (device + 1 < room_.size() && at > static_cast<double>(upto + room_[device])) upto += room_[device++];
            device_.push_back(room_.empty() ? kHost : static_cast<int>(device));
        }
    }

    size_t n_layers() const { return w_.layers.size(); }
    uint32_t n_groups(size_t layer) const { return costs_[layer].n_groups(); }
    int device(size_t layer) const { return device_[layer]; }
    LayerPlacement now(size_t layer) const {
        LayerPlacement p = result_.layers[layer];
        p.device = device_[layer];
        return p;
    }
    /// Takes the new placement of a layer if its device has room for it.
    bool set(size_t layer, const LayerPlacement& p) {
        if (p.device == kHost) return false;
        uint64_t& room = room_[static_cast<size_t>(p.device)];
        const uint64_t freed = costs_[layer].device_use(result_.layers[layer]).placed();
        const uint64_t taken = costs_[layer].device_use(p).placed();
        if (taken > room + freed) return false;
        room = room + freed - taken;
        result_.layers[layer] = p;
        return true;
    }
    bool set_head() {
        if (room_.empty()) return false;
        const int d = device_.back();
        const uint64_t bytes = padded(w_.head_tensors, machine_.devices[static_cast<size_t>(d)].alignment);
        if (bytes > room_[static_cast<size_t>(d)]) return false;
        room_[static_cast<size_t>(d)] -= bytes;
        result_.head = d;
        return true;
    }
    const Placement& result() const { return result_; }

    // Steps that the rules are made of. Those that return a bool say whether everything fitted.
    bool attention(bool with_cache) {
        bool all = true;
        for (size_t l = 0; l < n_layers() && all; ++l) {
            LayerPlacement p = now(l);
            p.home = p.device;
            p.kv_on_device = with_cache;
            all = set(l, p);
        }
        return all;
    }
    bool cache() {
        bool all = true;
        for (size_t l = 0; l < n_layers() && all; ++l) {
            LayerPlacement p = now(l);
            p.kv_on_device = true;
            all = set(l, p);
        }
        return all;
    }
    void hottest_groups() {
        struct Next {
            double frequency;
            size_t layer;
            uint32_t group;
        };
        std::vector<Next> order;
        for (size_t l = 0; l < n_layers(); ++l)
            for (uint32_t g = 0; g < n_groups(l); ++g) order.push_back({w_.layers[l].groups[g].frequency, l, g});
        std::stable_sort(order.begin(), order.end(), [](const Next& a, const Next& b) { return a.frequency > b.frequency; });
        for (const Next& next : order) {
            LayerPlacement p = now(next.layer);
            if (p.n_groups != next.group) continue;  // a hotter one did not fit
            p.n_groups = next.group + 1;
            set(next.layer, p);
        }
    }

  private:
    const Workload& w_;
    const Machine& machine_;
    std::vector<uint64_t> room_;
    std::vector<LayerCosts> costs_;
    std::vector<int> device_;
    Placement result_;
};

}  // namespace

std::string_view title(Rule rule) {
    switch (rule) {
        case Rule::whole_layers: return "whole layers";
        case Rule::attention_first: return "attention first, then whole FFNs";
        case Rule::hottest_neurons: return "hottest neurons first";
        case Rule::powerinfer_order: return "PowerInfer's order of 2023";
    }
    return "";
}

Placement place_by(Rule rule, const Workload& w, const Machine& machine, const Allowance& allowance) {
    Filler fill(w, machine, allowance);
    const auto whole_ffns = [&] {
        for (size_t l = fill.n_layers(); l-- > 0;) {
            LayerPlacement p = fill.now(l);
            p.n_groups = fill.n_groups(l);
            if (!fill.set(l, p)) return;
        }
    };
    switch (rule) {
        case Rule::whole_layers: {
            bool all = true;
            for (size_t l = fill.n_layers(); l-- > 0 && all;)
                all = fill.set(l, {fill.device(l), fill.device(l), true, fill.n_groups(l)});
            if (all) fill.set_head();
            break;
        }
        case Rule::attention_first:
            if (fill.attention(true) && fill.set_head()) whole_ffns();
            break;
        case Rule::hottest_neurons:
            fill.hottest_groups();
            fill.attention(true);
            fill.set_head();
            break;
        case Rule::powerinfer_order:
            if (fill.attention(false) && fill.set_head() && fill.cache()) fill.hottest_groups();
            break;
    }
    return fill.result();
}

}  // namespace powerinfer::plan
