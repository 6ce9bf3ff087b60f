// Placements as text: for people, and as JSON that can be edited and read back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/placement.h"

namespace powerinfer::plan {

/// What goes where in bytes and percent, what is expected of it and what limits it, and what the rules of others would give.
std::string report(const Workload& workload, const Machine& machine, const Allowance& allowance, const Solution& solution);

/// One layer: both sides' work, and what a few more or fewer groups would cost.
std::string explain(const Workload& workload, const Machine& machine, const Allowance& allowance, const Solution& solution,
                    size_t layer);

/// Everything of the report as one JSON object, with the placement and the fingerprint of what it was made for.
std::string to_json(const Workload& workload, const Machine& machine, const Allowance& allowance, const Solution& solution);

/// Reads the placement of such an object back. Throws Error{bad_file} naming `label` and the field where something is missing
/// or wrong, or where it was made for another model, profile or context.
Placement placement_from_json(std::string_view text, const std::string& label, const Workload& workload);

}  // namespace powerinfer::plan
