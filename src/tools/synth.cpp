// `synth`: a random model of any shape.
#include "tools/synth.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "convert/synth.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

convert::SynthOptions options(const Arguments& a, const std::string& shape) {
    convert::SynthOptions o;
    o.shape = convert::synth_shape(shape);
    o.mix = a.synth.mix;
    o.type = o.mix ? o.mix->base : a.synth.type;
    o.predictor_type = a.synth.predictor_type.value_or(o.type);
    o.predictors = a.synth.predictors;
    o.rank = a.synth.rank;
    o.active_share = static_cast<double>(a.synth.active_share);
    o.seed = static_cast<uint32_t>(a.synth.seed);
    o.n_threads = std::max(a.context.n_threads, 0);
    return o;
}

void write(const std::string& path, const convert::SynthOptions& o, int verbosity) {
    InterruptWatch watch(Watched::every_end);
    convert::write_synth(path, o, log_to_stderr(verbosity), progress_on_terminal(watch, verbosity));
}

}  // namespace

int synth(const Arguments& a) {
    if (a.words.size() != 1)
        fail(ErrorKind::bad_argument, "synth takes one shape such as llama-7b, {} were given", a.words.size());
    if (a.output.path.empty()) fail(ErrorKind::bad_argument, "--output is required");
    write(a.output.path, options(a, a.words.front()), a.log.verbosity);
    return 0;
}

TemporarySynth::TemporarySynth(const Arguments& a, const std::string& shape) {
    const convert::SynthOptions o = options(a, shape);
    const std::filesystem::path memory = "/dev/shm";
    std::error_code error;
    const auto space = std::filesystem::space(memory, error);
    // A file there costs memory; half of what is free is left to the rest.
    const bool fits = !error && convert::synth_bytes(o) < space.available / 2;
    const auto folder = fits ? memory : std::filesystem::temp_directory_path();
    path_ = (folder / fmt::format("powerinfer-synth-{}.gguf", ::getpid())).string();
    write(path_, o, a.log.verbosity);
}

TemporarySynth::~TemporarySynth() {
    ::unlink(path_.c_str());
}

}  // namespace powerinfer::tools
