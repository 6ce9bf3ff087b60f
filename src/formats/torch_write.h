// Writes one tensor as PyTorch's torch.save does, for other people's tools. Not for models.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace powerinfer::formats {

/// A one-dimensional int64 tensor. The file appears under its name only when complete.
void write_torch_tensor(const std::string& path, std::span<const int64_t> values);

}  // namespace powerinfer::formats
