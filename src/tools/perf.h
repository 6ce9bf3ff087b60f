// How long the parts of a run took, and the lines that scripts look for.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/engine.h"
#include "generate/generate.h"
#include "tools/program.h"

namespace powerinfer::tools {

/// Seconds since it was made or restarted.
class Stopwatch {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Perf {
    Stopwatch total;
    double load_s = 0, prompt_s = 0, decode_s = 0, sample_s = 0;
    int64_t n_prompt = 0, n_decode = 0, n_sample = 0;
    uint64_t decode_bytes = 0;  ///< of weights read while decoding

    void add(const generate::Timings& t);
};

/// The timing lines of the invoked program, on stderr: `llama_print_timings:`, `common_perf_print:` or
/// `llama_perf_context_print:`; nothing for our own commands.
void print_timings(const Program& program, const Perf& perf);

/// "powerinfer: decode 12.3 tokens/s, 8.1 GB/s, active share 9.8 %, hash 0123456789abcdef" on stderr. The share is that
/// of the engine's present counts.
void print_summary(const Perf& perf, const engine::Engine& engine);

/// One line per layer: share of neurons whose rows were used, and of those that were predicted.
void print_layers(const engine::EngineCounts& counts);

}  // namespace powerinfer::tools
