// What one layer costs in time and bytes, for every way to place it. Used by placement*.cpp only.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/placement.h"

namespace powerinfer::plan {

uint64_t padded(uint64_t bytes, uint32_t alignment);
uint64_t padded(const std::vector<uint64_t>& tensors, uint32_t alignment);

/// One way between host and device with a vector of the model's width.
double one_way_seconds(const Device& device, const Workload& workload);
/// From one home to the other.
double move_seconds(const Machine& machine, const Workload& workload, int from, int to);
/// The head, and bringing its logits to the host.
double head_seconds(const Machine& machine, const Workload& workload, int home);

/// Sums over the groups of one layer, so that any prefix costs one lookup.
class LayerCosts {
  public:
    LayerCosts(const Workload& workload, const Machine& machine, size_t layer);

    LayerCost cost(const LayerPlacement& p) const;
    DeviceUse device_use(const LayerPlacement& p) const;  ///< context and scratch left out
    uint64_t host_bytes(const LayerPlacement& p) const;
    uint32_t n_groups() const { return static_cast<uint32_t>(neurons_.size() - 1); }

  private:
    struct Side {
        std::vector<double> seconds;  ///< of the first n groups
        double shared = 0, attention = 0, kv = 0;
    };
    Side side_of(const Rates& rates) const;
    const Side& side(int home) const { return sides_[static_cast<size_t>(home + 1)]; }

    const Workload& workload_;
    const Machine& machine_;
    const LayerLoad& load_;
    std::vector<uint64_t> neurons_;  ///< of the first n groups
    std::vector<double> fires_, read_bytes_;
    std::vector<Side> sides_;        ///< the host, then the devices
    uint64_t row_bytes_ = 0;
};

}  // namespace powerinfer::plan
