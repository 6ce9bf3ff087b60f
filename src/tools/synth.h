// Random models for benchmarks: written to a file, or made for one run and gone after it.
#pragma once

#include <string>

#include "tools/arguments.h"

namespace powerinfer::tools {

/// A random model of the given shape in a memory-backed folder where it fits, else among the temporary files.
class TemporarySynth {
  public:
    TemporarySynth(const Arguments& a, const std::string& shape);
    ~TemporarySynth();
    TemporarySynth(const TemporarySynth&) = delete;
    TemporarySynth& operator=(const TemporarySynth&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace powerinfer::tools
