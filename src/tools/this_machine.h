// The machine at hand as placement sees it: measured once, then read from a file among the user's caches.
#pragma once

#include "base/log.h"
#include "plan/machine.h"

namespace powerinfer::tools {

/// By name from the table, "this", or the name of a file.
plan::Machine machine_named(const std::string& word, int n_threads, const LogSink& log);

}  // namespace powerinfer::tools
