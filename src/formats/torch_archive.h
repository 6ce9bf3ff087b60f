// Reading tensors from a PyTorch `.pt` / `.bin` zip archive without executing anything.
// A zip (stored entries) with NAME/data.pkl and NAME/data/KEY; the pickle is interpreted by a small machine that knows
// only the opcodes and the few globals that tensor dictionaries need, and refuses everything else by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace powerinfer::formats {

/// The tensors of the file by dotted path: a state dict gives its keys, a bare tensor the single key "". Data is
/// copied out in row-major order whatever the strides in the file. Shapes are slowest dimension first; dtype names
/// are those of safetensors. Errors are Error{bad_file | unsupported} naming the path.
class TorchArchive {
  public:
    static TorchArchive open(const std::string& path);
    static TorchArchive parse(std::span<const uint8_t> image, const std::string& label);
    const std::map<std::string, SafeTensor, std::less<>>& tensors() const { return tensors_; }

  private:
    friend class TorchReader;
    std::vector<std::vector<uint8_t>> storage_;
    std::map<std::string, SafeTensor, std::less<>> tensors_;
};

}  // namespace powerinfer::formats
