// Keeps the process to the processors and the priority that were asked for.
#pragma once

#include "base/log.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// To be called before threads are started, which inherit both. Throws Error{bad_argument} where none of the processors
/// may be used; a priority that the system refuses is a warning.
void place_process(const ProcessorArgs& p, const LogSink& log);

}  // namespace powerinfer::tools
