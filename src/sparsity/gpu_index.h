// The `.generated.gpuidx` files of PowerInfer: which neurons of each layer a GPU holds, as data. Not for deciding that: see
// plan/placement.h. Wrong entries cost speed and never correctness, so a file is checked for shape, not for sense.
//
// A PWRI container, general.architecture = "generic.gpu_index", with
//   generic.gpu_index.block_count  u32  layers
//   split.vram_capacity            u64  bytes that the split was made for
//   powerinfer.fingerprint         u64  of the model (fingerprint_of); in our files only
//   blk.N.gpu_idx     I32 {n_ff}  1 where the neuron is on the GPU, else 0     \.  in this order, which the
//   blk.N.gpu_bucket  I32 {k}     ids of these neurons, ascending; k may be 0  /   original pairs by position
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "model/model.h"

namespace powerinfer::sparsity {

struct GpuIndex {
    uint64_t vram_capacity = 0;
    uint64_t fingerprint = 0;  ///< 0 = not known
    int n_ff = 0;
    std::vector<std::vector<int32_t>> on_gpu;  ///< [layer] neuron ids as in the model file, ascending

    int n_layer() const { return static_cast<int>(on_gpu.size()); }
    /// Throws Error{bad_argument} naming `label` where layers, neurons or a known fingerprint are those of another model.
    void check_fits(const model::Model& model, const std::string& label) const;
};

void write_gpu_index(const std::string& path, const GpuIndex& index);

/// Throws Error{bad_file} naming path and key or tensor where something is missing, of another shape or contradictory.
GpuIndex read_gpu_index(const formats::GgufFile& file);
GpuIndex open_gpu_index(const std::string& path);

}  // namespace powerinfer::sparsity
