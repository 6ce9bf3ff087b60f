// How fast this machine reads memory: the floor that decoding is measured against.
#pragma once

#include <cstddef>

namespace powerinfer::tools {

/// Bytes per second: the best of several reads of a buffer of at least `size` bytes with all threads. Throws
/// Error{out_of_memory} where the buffer does not fit.
double measure_read_bandwidth(int n_threads, size_t size = size_t{2} << 30);

}  // namespace powerinfer::tools
