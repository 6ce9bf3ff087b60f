#include "engine/matrix.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"
#include "quant/activation_q8.h"
#include "quant/lane_order.h"

namespace powerinfer::engine {
namespace {

using quant::ActivationEncoding;

size_t slot(ActivationEncoding encoding) {
    return encoding == ActivationEncoding::q8_32 ? 0 : 1;
}

// Rows handed out at a time: about this many bytes, so that a piece is long enough for streaming reads and short
// enough for an even finish.
constexpr int64_t kPieceBytes = 96 << 10;
// Tokens multiplied with a piece of rows before the next: their encoded vectors stay in the second-level cache.
constexpr int64_t kTokenBlock = 64;

int64_t grain_of(const Matrix& m) {
    const int64_t rows = kPieceBytes / static_cast<int64_t>(m.row_stride);
    return std::clamp<int64_t>(rows / kernels::kRowGroup * kernels::kRowGroup, kernels::kRowGroup, 512);
}

}  // namespace

Matrix::Matrix(const TensorView& view, const kernels::Ops& ops, const TensorView& bias_view, bool rows_interleaved) {
    if (!view) return;
    const auto id = static_cast<size_t>(view.type);
    dot = rows_interleaved ? ops.dot_interleaved[id] : ops.dot[id];
    if (!rows_interleaved) dot_lists = ops.dot_lists[id];
    axpy = ops.axpy[id];
    prepared_axpy = ops.prepared_axpy[id];
    if (dot == nullptr || axpy == nullptr)
        fail(ErrorKind::unsupported, "weights of type {} cannot be computed with, expected a weight format",
             info(view.type).name);
    data = static_cast<const uint8_t*>(view.data);
    type = view.type;
    interleaved = rows_interleaved;
    n_in = view.ne[0];
    n_out = view.ne[1];
    row_stride = view.row_bytes();
    encoding = quant::format(view.type).activation;
    bias = static_cast<const float*>(bias_view.data);
}

Activations::Activations(int64_t width, int64_t n_max) : width_(width), n_max_(n_max) {
    const auto vectors = static_cast<size_t>(n_max);
    // Rounded up so that any width fits, also one that is no multiple of a block and is never encoded.
    const int64_t rounded = (width + 255) / 256 * 256;
    encoded_[0] = AlignedBuffer(vectors * quant::activation_bytes(ActivationEncoding::q8_32, rounded));
    encoded_[1] = AlignedBuffer(vectors * quant::activation_bytes(ActivationEncoding::q8_256, rounded));
}

void Activations::set(const float* x, int64_t n, int64_t stride, int64_t n_tokens) {
    x_ = x;
    n_ = n;
    stride_ = stride;
    n_tokens_ = n_tokens;
    ready_[0] = ready_[1] = lanes_ready_[0] = lanes_ready_[1] = false;
}

void Activations::prepare(ActivationEncoding encoding, const kernels::Ops& ops, ThreadPool& pool, int n_threads) {
    if (encoding == ActivationEncoding::f32 || ready_[slot(encoding)]) return;
    ready_[slot(encoding)] = true;
    uint8_t* out = encoded_[slot(encoding)].data();
    const size_t bytes = stride(encoding);
    pool.for_each(
        n_tokens_, 4,
        [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t)
                ops.encode(encoding, x_ + t * stride_, out + static_cast<size_t>(t) * bytes, n_);
        },
        n_threads);
}

void Activations::prepare_lanes(ActivationEncoding encoding, const kernels::Ops& ops, ThreadPool& pool, int n_threads) {
    const size_t k = slot(encoding);
    if (encoding == ActivationEncoding::f32 || lanes_ready_[k]) return;
    prepare(encoding, ops, pool, n_threads);
    lanes_ready_[k] = true;
    const size_t bytes = quant::lane_order_bytes(encoding, n_);
    if (lanes_[k].size() == 0)
        lanes_[k] = AlignedBuffer(static_cast<size_t>(n_max_) * quant::lane_order_bytes(encoding, (width_ + 255) / 256 * 256));
    pool.for_each(
        n_tokens_, 4,
        [&](int64_t begin, int64_t end) {
            for (auto t = static_cast<size_t>(begin); t < static_cast<size_t>(end); ++t)
                quant::to_lane_order(encoding, encoded_[k].data() + t * stride(encoding), lanes_[k].data() + t * bytes, n_);
        },
        n_threads);
}

const uint8_t* Activations::data(ActivationEncoding encoding) const {
    if (encoding == ActivationEncoding::f32) return reinterpret_cast<const uint8_t*>(x_);
    assert(ready_[slot(encoding)]);
    return encoded_[slot(encoding)].data();
}

size_t Activations::stride(ActivationEncoding encoding) const {
    if (encoding == ActivationEncoding::f32) return static_cast<size_t>(stride_) * sizeof(float);
    return quant::activation_bytes(encoding, n_);
}

const uint8_t* Activations::lanes(ActivationEncoding encoding) const {
    assert(lanes_ready_[slot(encoding)]);
    return lanes_[slot(encoding)].data();
}

void multiply_rows(const Product& product, const Activations& acts, int64_t begin, int64_t end) {
    const Matrix& m = *product.matrix;
    const size_t act_stride = acts.stride(m.encoding);
    for (int64_t t = 0; t < acts.n_tokens(); t += kTokenBlock) {
        const int64_t n_tokens = std::min(kTokenBlock, acts.n_tokens() - t);
        kernels::DotArgs args{.weights = m.data + static_cast<size_t>(begin) * m.row_stride,
                              .row_stride = m.row_stride,
                              .n_rows = end - begin,
                              .n = m.n_in,
                              .acts = acts.data(m.encoding) + static_cast<size_t>(t) * act_stride,
                              .act_stride = act_stride,
                              .n_tokens = n_tokens,
                              .out = product.out + t * product.out_stride + begin,
                              .out_stride = product.out_stride};
        m.dot(args);
        if (m.bias == nullptr) continue;
        for (int64_t i = 0; i < n_tokens; ++i) {
            float* out = product.out + (t + i) * product.out_stride;
            for (int64_t r = begin; r < end; ++r) out[r] += m.bias[r];
        }
    }
}

void multiply(std::initializer_list<Product> products, Activations& acts, const kernels::Ops& ops, ThreadPool& pool,
              int n_threads) {
    int64_t n_pieces = 0;
    for (const Product& p : products) {
        acts.prepare(p.matrix->encoding, ops, pool, n_threads);
        n_pieces += (p.matrix->n_out + grain_of(*p.matrix) - 1) / grain_of(*p.matrix);
    }
    pool.for_each(
        n_pieces, 1,
        [&](int64_t piece, int64_t) {
            for (const Product& p : products) {
                const int64_t grain = grain_of(*p.matrix);
                const int64_t pieces = (p.matrix->n_out + grain - 1) / grain;
                if (piece < pieces)
                    return multiply_rows(p, acts, piece * grain, std::min(p.matrix->n_out, (piece + 1) * grain));
                piece -= pieces;
            }
        },
        n_threads);
}

}  // namespace powerinfer::engine
