// What placements give over growing memory of a device, as a table and as a chart.
#pragma once

#include <string>
#include <vector>

#include "plan/placement.h"

namespace powerinfer::tools {

struct SweepPoint {
    uint64_t room = 0;            ///< bytes of the first device for weights and cache
    std::vector<double> served;   ///< share of activations, one entry per curve
    std::vector<double> tokens_per_s;
};

struct Sweep {
    std::string title, subtitle;
    std::vector<std::string> curves;
    std::vector<SweepPoint> points;
};

/// From no memory to enough for everything, whatever the machine has.
Sweep sweep(const plan::Workload& workload, plan::Machine machine, const plan::Allowance& allowance);
std::string table_of(const Sweep& sweep);
std::string svg_of(const Sweep& sweep);

}  // namespace powerinfer::tools
