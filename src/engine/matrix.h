// A weight matrix ready for the kernels, and the product of one or several of them with a set of vectors.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "base/aligned.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "quant/format.h"

namespace powerinfer::engine {

/// {n_in, n_out}: n_out rows of n_in elements. The functions are those of the weight format on the chosen ISA.
struct Matrix {
    const uint8_t* data = nullptr;
    DType type = DType::F32;
    int64_t n_in = 0, n_out = 0;
    bool interleaved = false;  ///< by 16 rows: products of whole strips only, no row lists and no axpy
    size_t row_stride = 0;  ///< bytes
    quant::ActivationEncoding encoding = quant::ActivationEncoding::f32;
    kernels::DotFn dot = nullptr;
    kernels::ListsFn dot_lists = nullptr;  ///< null where there is no kernel for it
    kernels::AxpyFn axpy = nullptr;
    kernels::PreparedAxpy prepared_axpy;   ///< of nulls where there is no kernel for it
    const float* bias = nullptr;  ///< [n_out] or null

    Matrix() = default;
    /// Throws Error{unsupported} naming the type when the format has no kernels. An empty view gives an empty matrix.
    Matrix(const TensorView& view, const kernels::Ops& ops, const TensorView& bias_view = {}, bool rows_interleaved = false);
    explicit operator bool() const { return data != nullptr; }
};

/// A set of T vectors of n floats and their encoded forms, each made once when first asked for.
class Activations {
  public:
    /// Room for n_max vectors of up to `width` floats.
    Activations(int64_t width, int64_t n_max);

    /// Starts a new set: x is [n_tokens][n], `stride` floats from vector to vector. Encoded forms are forgotten.
    void set(const float* x, int64_t n, int64_t stride, int64_t n_tokens);
    /// Makes the encoded form; threads share the work when there are several vectors.
    void prepare(quant::ActivationEncoding encoding, const kernels::Ops& ops, ThreadPool& pool, int n_threads);

    /// Makes the encoded form and from it the one in lane order (quant/lane_order.h), which token lists need.
    void prepare_lanes(quant::ActivationEncoding encoding, const kernels::Ops& ops, ThreadPool& pool, int n_threads);

    const uint8_t* data(quant::ActivationEncoding encoding) const;
    size_t stride(quant::ActivationEncoding encoding) const;
    const uint8_t* lanes(quant::ActivationEncoding encoding) const;
    int64_t n_tokens() const { return n_tokens_; }

  private:
    const float* x_ = nullptr;
    int64_t n_ = 0, stride_ = 0, n_tokens_ = 0;
    AlignedBuffer encoded_[2];  // q8_32, q8_256
    AlignedBuffer lanes_[2];    // the same in lane order; allocated when first needed
    bool ready_[2] = {false, false}, lanes_ready_[2] = {false, false};
    int64_t width_ = 0, n_max_ = 0;
};

/// One product: out[t * out_stride + r] = matrix row r . vector t (+ bias).
struct Product {
    const Matrix* matrix;
    float* out;
    int64_t out_stride;
};

/// Computes rows [begin, end) of one product for all tokens of `acts`, which must be prepared.
void multiply_rows(const Product& product, const Activations& acts, int64_t begin, int64_t end);

/// Computes several products with the same vectors in one go: one barrier for all.
void multiply(std::initializer_list<Product> products, Activations& acts, const kernels::Ops& ops, ThreadPool& pool,
              int n_threads);

}  // namespace powerinfer::engine
