// Where the floats of a converted tensor come from: a stored tensor read row by row, as it is or re-laid.
#pragma once

#include <cstdint>
#include <vector>

#include "convert/tensor_stream.h"
#include "formats/safetensors.h"

namespace powerinfer::convert {

/// The storage type of a safetensors dtype that holds weights we read: F32, F16 or BF16. Throws
/// Error{unsupported} naming `origin` for any other.
DType weight_dtype(const formats::SafeTensor& tensor, const std::string& origin);

/// Row r of a tensor {n_in, n_out} as stored. The bytes of `tensor` must outlive the source, here and below.
RowSource stored_rows(const formats::SafeTensor& tensor);

/// Row j of the result is column j of the stored matrix: {n_out, n_in}.
RowSource transposed_rows(const formats::SafeTensor& tensor);

/// Rows of each head re-ordered from (first halves, second halves) to adjacent pairs: row 2k + s of a head is
/// its stored row s * head_dim / 2 + k. For rotary embedding that turns neighbours instead of halves.
RowSource paired_rows(const formats::SafeTensor& tensor, int64_t n_head);

/// The same re-ordering for a bias, whose elements stand for rows.
std::vector<float> paired_elements(const formats::SafeTensor& tensor, int64_t n_head);

/// A tensor of one row that was computed.
RowSource computed_row(std::vector<float> values);

}  // namespace powerinfer::convert
