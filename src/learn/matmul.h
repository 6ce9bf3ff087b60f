// Products of float matrices for those who learn, on the kernels of the best instruction set and all threads.
// Not for inference: see engine/matrix.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/ops.h"

namespace powerinfer::learn {

/// Row-major, no gaps.
struct Floats {
    int64_t rows = 0, columns = 0;
    std::vector<float> values;

    Floats() = default;
    Floats(int64_t n_rows, int64_t n_columns)
        : rows(n_rows), columns(n_columns), values(static_cast<size_t>(n_rows * n_columns)) {}
    float* row(int64_t r) { return values.data() + r * columns; }
    const float* row(int64_t r) const { return values.data() + r * columns; }
};

class Multiplier {
  public:
    /// n_threads 0 = one per physical core.
    explicit Multiplier(int n_threads);

    /// out [a.rows][b.rows] = a . b^T. Sums over the columns run in F32.
    void rows_by_rows(const Floats& a, const Floats& b, Floats& out);
    Floats transpose(const Floats& a);
    ThreadPool& pool() { return pool_; }

  private:
    const kernels::Ops& ops_;
    ThreadPool pool_;
};

}  // namespace powerinfer::learn
