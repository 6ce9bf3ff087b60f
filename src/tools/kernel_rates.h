// How fast the kernels are on this machine: measured in a second, then read from a file among the user's caches.
#pragma once

#include <set>
#include <string>

#include "base/log.h"
#include "plan/kernel_rates.h"

namespace powerinfer::tools {

/// Rates of the given formats with that many threads (0 = one per core) on an instruction set (empty = the best). Types
/// without kernels are left out. `anew`: what was kept is not believed.
plan::RatesByType kernel_rates(const std::set<DType>& types, int n_threads, const std::string& isa, const LogSink& log,
                               bool anew = false);

/// The number formats of a model's feed-forwards.
std::set<DType> ffn_types(const model::Model& model);

}  // namespace powerinfer::tools
