// From rows of floats to the data part of a GGUF file: encodes tensors one after another, in bounded memory,
// on all threads. Not for deciding names, shapes or types: see mix.h and families/.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "formats/gguf.h"

namespace powerinfer::convert {

/// Writes rows [begin, end) as floats: dst[(end - begin) * ne[0]]. Called from several threads; must not
/// throw.
using RowSource = std::function<void(int64_t begin, int64_t end, float* dst)>;

struct TensorJob {
    std::string name;    ///< in the output
    std::string origin;  ///< for messages: what the input calls it
    std::array<int64_t, 4> ne = {0, 1, 1, 1};
    DType type = DType::F32;  ///< in the output
    /// Called when the tensor's turn comes, so that its data needs memory only then. Empty for tensors that
    /// hold something else than weights.
    std::function<RowSource()> open;
    /// Not empty: these bytes are written as they are, already of `type`, and the rows are only checked.
    std::span<const uint8_t> verbatim = {};
    /// Not empty: row r of the output is row row_order[r] of the verbatim bytes.
    std::span<const int32_t> row_order = {};

    int64_t n_rows() const { return ne[1] * ne[2] * ne[3]; }
    size_t n_bytes() const { return static_cast<size_t>(n_rows()) * row_bytes(type, ne[0]); }
};

/// Declares all tensors, then writes them in order. `before` is called as each tensor begins. NaN and
/// infinity in the input, and values that the output type turns into them, throw Error{bad_file} naming the
/// tensor and the row. The caller sets the keys before and calls finish() afterwards.
void write_tensors(formats::GgufWriter& writer, const std::vector<TensorJob>& jobs, ThreadPool& pool,
                   const Progress& progress, const std::function<void(size_t job)>& before = {});

}  // namespace powerinfer::convert
