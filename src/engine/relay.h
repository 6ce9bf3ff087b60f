// The down projection of an ordinary file, re-laid by neuron so that rows of silent neurons need not be read.
// The numbers stay the same: floats are transposed, blocks are taken apart into the codes and scales they consist of.
#pragma once

#include <functional>

#include "base/aligned.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"

namespace powerinfer::engine {

/// True for F32, F16 and BF16: re-laying is a transposition.
bool is_plain(DType type);

/// Fills memory of the right size with what would be computed, from elsewhere; false if it cannot.
using Filler = std::function<bool(AlignedBuffer& memory)>;

/// The same rows, interleaved by 16 (quant/interleave.h), of a block type.
TensorView interleave(const TensorView& view, AlignedBuffer& memory, ThreadPool& pool, const Filler& fill = {});

/// The same rows in memory of our own, which lies in huge pages.
TensorView copy(const TensorView& view, AlignedBuffer& memory, ThreadPool& pool);

/// {n_embd, n_ff} from {n_ff, n_embd}, of a plain type. `memory` will own the numbers.
TensorView transpose(const TensorView& down, AlignedBuffer& memory, ThreadPool& pool, const Filler& fill = {});

/// The same for block types: {n_ff, n_embd} taken apart. n_ff is the blocks' direction, so it is a multiple of the block.
kernels::GroupedMatrix group_by_neuron(const TensorView& down, AlignedBuffer& memory, ThreadPool& pool,
                                       const Filler& fill = {});

}  // namespace powerinfer::engine
