// Reading tensors from a PyTorch `.pt` / `.bin` zip archive without executing anything.
// A zip (stored entries) with NAME/data.pkl and NAME/data/KEY; the pickle is interpreted by a small machine
// that knows only the opcodes and the few globals that tensor dictionaries need, and refuses everything else
// by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace powerinfer::formats {

/// The tensors of the file by dotted path: a state dict gives its keys, a bare tensor the single key "",
/// nested dicts, lists and tuples "outer.0.inner". Values that are no tensors are left out. Data is
/// row-major: it lies in the mapped file where the tensor is contiguous there, and is copied out where it is
/// not. Shapes are slowest dimension first; dtype names are those of safetensors. Errors are Error{bad_file |
/// unsupported | io} naming the path. Move-only; spans stay valid while this object lives.
class TorchArchive {
  public:
    static TorchArchive open(const std::string& path);
    /// The bytes must outlive the object.
    static TorchArchive parse(std::span<const uint8_t> image, const std::string& label);
    const std::map<std::string, SafeTensor, std::less<>>& tensors() const { return tensors_; }

  private:
    friend class TorchReader;
    MappedFile file_;
    std::vector<std::vector<uint8_t>> copies_;
    std::map<std::string, SafeTensor, std::less<>> tensors_;
};

}  // namespace powerinfer::formats
