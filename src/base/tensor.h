// A view of numbers in memory: pointer, type, shape. Owns nothing and computes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace powerinfer {

/// Shape convention of the GGUF container: ne[0] is the contiguous dimension, so a weight matrix
/// {n_in, n_out} is n_out rows of n_in elements. Unused dimensions are 1. Rows are dense, no gaps.
struct TensorView {
    const void* data = nullptr;
    DType type = DType::F32;
    std::array<int64_t, 4> ne = {0, 1, 1, 1};

    explicit operator bool() const { return data != nullptr; }
    int64_t n_elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
    int64_t n_rows() const { return ne[1] * ne[2] * ne[3]; }
    size_t row_bytes() const { return powerinfer::row_bytes(type, ne[0]); }
    size_t n_bytes() const { return static_cast<size_t>(n_rows()) * row_bytes(); }
    const uint8_t* row(int64_t i) const {
        return static_cast<const uint8_t*>(data) + static_cast<size_t>(i) * row_bytes();
    }
};

/// "{4096, 11008}": trailing dimensions of 1 are left out, except that one dimension is always shown.
std::string shape_text(const std::array<int64_t, 4>& ne);

/// Carries a hash on over type, shape and 64 bytes each from the beginning, the middle and the end: tells tensors of other
/// models, or of the same one quantized otherwise, without reading them whole. Of an empty
/// view type and shape alone.
uint64_t sampled_hash(const TensorView& tensor, uint64_t hash);

}  // namespace powerinfer
