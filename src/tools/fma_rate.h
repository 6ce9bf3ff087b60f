// How fast this machine multiplies and adds: the floor under which no arithmetic on floats can go. Not for integers.
#pragma once

namespace powerinfer::tools {

/// Floating point operations per second (two per multiply-add) of so many threads in a loop that touches no memory,
/// with the widest vectors of this machine; the best of several short loops.
double measure_fma_rate(int n_threads);

}  // namespace powerinfer::tools
