#include "convert/row_sources.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/half.h"
#include "quant/format.h"

namespace powerinfer::convert {
namespace {

/// A stored matrix seen as n_rows rows of n elements.
struct Matrix {
    const uint8_t* data;
    const quant::Format* format;
    int64_t n, n_rows;
    size_t element_bytes;
};

Matrix matrix_of(const formats::SafeTensor& tensor) {
    const DType type = weight_dtype(tensor, "");
    const int64_t n = tensor.shape.empty() ? 1 : tensor.shape.back();
    return {tensor.bytes.data(), quant::find_format(type), n, n > 0 ? tensor.n_elements() / n : 0,
            static_cast<size_t>(info(type).bytes)};
}

/// Where in a head the row lies that belongs at `r` once halves have become pairs.
int64_t stored_row_of_pair(int64_t r, int64_t head_dim) {
    const int64_t head = r / head_dim, within = r % head_dim;
    return head * head_dim + (within % 2) * (head_dim / 2) + within / 2;
}

}  // namespace

DType weight_dtype(const formats::SafeTensor& tensor, const std::string& origin) {
    if (tensor.dtype == "F32") return DType::F32;
    if (tensor.dtype == "F16") return DType::F16;
    if (tensor.dtype == "BF16") return DType::BF16;
    fail(ErrorKind::unsupported, "tensor {} has the type {}; weights in F32, F16 or BF16 can be converted",
         origin, tensor.dtype);
}

RowSource stored_rows(const formats::SafeTensor& tensor) {
    return [m = matrix_of(tensor)](int64_t begin, int64_t end, float* dst) {
        m.format->decode(m.data + static_cast<size_t>(begin * m.n) * m.element_bytes, dst,
                         (end - begin) * m.n);
    };
}

RowSource paired_rows(const formats::SafeTensor& tensor, int64_t n_head) {
    return [m = matrix_of(tensor), n_head](int64_t begin, int64_t end, float* dst) {
        for (int64_t r = begin; r < end; ++r, dst += m.n) {
            const int64_t stored = stored_row_of_pair(r, m.n_rows / n_head);
            m.format->decode(m.data + static_cast<size_t>(stored * m.n) * m.element_bytes, dst, m.n);
        }
    };
}

RowSource transposed_rows(const formats::SafeTensor& tensor) {
    return [m = matrix_of(tensor)](int64_t begin, int64_t end, float* dst) {
        // A few columns at a time: each stored row is touched once per call, in one run.
        constexpr int64_t kRun = 64;
        float run[kRun];
        for (int64_t first = begin; first < end; first += kRun) {
            const int64_t count = std::min(kRun, end - first);
            for (int64_t i = 0; i < m.n_rows; ++i) {
                m.format->decode(m.data + static_cast<size_t>(i * m.n + first) * m.element_bytes, run, count);
                for (int64_t j = 0; j < count; ++j) dst[(first - begin + j) * m.n_rows + i] = run[j];
            }
        }
    };
}

std::vector<float> paired_elements(const formats::SafeTensor& tensor, int64_t n_head) {
    const std::vector<float> stored = tensor.to_floats();
    const auto n = static_cast<int64_t>(stored.size());
    std::vector<float> paired(stored.size());
    for (int64_t r = 0; r < n; ++r)
        paired[static_cast<size_t>(r)] = stored[static_cast<size_t>(stored_row_of_pair(r, n / n_head))];
    return paired;
}

RowSource computed_row(std::vector<float> values) {
    return [values = std::move(values)](int64_t, int64_t, float* dst) {
        std::copy(values.begin(), values.end(), dst);
    };
}

}  // namespace powerinfer::convert
