// Sampling that the makers of a model recommend in its file (keys general.sampling.*).
#pragma once

#include "base/log.h"
#include "formats/gguf.h"
#include "generate/sampler_options.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// The sampling of the command line, and where it says nothing, that of the file. The programs of 2023 do not know
/// these keys and take none. Throws Error{bad_file} naming the key.
generate::SamplerOptions sampling_options(const Arguments& a, const formats::GgufFile& file, const LogSink& log);

}  // namespace powerinfer::tools
