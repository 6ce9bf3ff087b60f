// Rows of blocks re-laid sixteen at a time, so that one vector load gets the same piece of all sixteen.
// Lossless and of the same size; a storage order, not a number format. For matrices whose rows are always
// read together.
//
// A block of every row becomes one block of the strip, 16 times as long. Its pieces keep their order: the
// piece of `unit` bytes at offset o of row r's block lies at 16 * o + r * unit. Units are four bytes, except
// that an F16 at the head or tail of a block is one unit (and the scale byte of MXFP4 another). So with rows
// of `row_bytes`, a strip takes 16 * row_bytes and strip s begins at s * 16 * row_bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace powerinfer::quant {

inline constexpr int64_t kInterleavedRows = 16;

/// Whether the type is made of blocks, which is what interleaving helps.
bool can_interleave(DType type);

/// Bytes of n_rows interleaved rows of n elements: the last strip is always a whole one.
size_t interleaved_bytes(DType type, int64_t n, int64_t n_rows);

/// strip = the rows at `rows`, `row_stride` bytes apart; missing ones (n_rows < 16) are zero bytes.
void interleave(DType type, const uint8_t* rows, size_t row_stride, int64_t n_rows, int64_t n,
                uint8_t* strip);

/// The inverse, for one row of a strip. dst takes row_bytes(type, n).
void take_row(DType type, const uint8_t* strip, int64_t row, int64_t n, uint8_t* dst);

}  // namespace powerinfer::quant
