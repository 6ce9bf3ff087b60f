// The safetensors container: u64 header length | JSON header | data. Reading, and writing of small files.
// Header: {"name": {"dtype": "F16", "shape": [out, in], "data_offsets": [begin, end]}, "__metadata__": {...}};
// offsets count from the end of the header. Sub-byte and complex types are refused by name.
// Source: the format description of the safetensors project.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace powerinfer::formats {

struct SafeTensor {
    std::string dtype;           ///< as written: "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL", ...
    std::vector<int64_t> shape;  ///< slowest dimension first, the opposite of TensorView
    std::span<const uint8_t> bytes;

    int64_t n_elements() const;  ///< 1 for a scalar, whose shape is empty
    /// Converts F32, F16, BF16 or F64 to float; throws Error{unsupported} for others.
    std::vector<float> to_floats() const;
    /// Converts I64, I32, I16, I8 or U8; throws Error{unsupported} for others.
    std::vector<int64_t> to_ints() const;
};

/// Bytes of one element of a dtype name, or 0 if the name is unknown.
size_t safetensors_dtype_bytes(std::string_view dtype);

/// One file, or a folder's set of shards presented as one. Headers are limited to 100 MB, offsets must lie inside
/// the file, match shape and dtype, and not overlap; no name occurs twice. Errors are
/// Error{bad_file | unsupported | io} naming path and tensor. Move-only; spans stay valid while this object lives.
class SafeTensorsFile {
  public:
    static SafeTensorsFile open(const std::string& path);
    /// `model.safetensors`, or the shards named by `model.safetensors.index.json`; a missing shard is named.
    static SafeTensorsFile open_folder(const std::string& folder);
    static SafeTensorsFile parse(std::span<const uint8_t> image, const std::string& label);

    const std::map<std::string, SafeTensor, std::less<>>& tensors() const { return tensors_; }
    const SafeTensor* find(std::string_view name) const;
    const SafeTensor& at(std::string_view name) const;  ///< throws Error{bad_file} naming the missing tensor

  private:
    void add(std::span<const uint8_t> image, const std::string& label);
    std::string label_;
    std::vector<MappedFile> files_;
    std::map<std::string, SafeTensor, std::less<>> tensors_;
};

/// What to write: `size` bytes of a named dtype in row-major order.
struct SafeTensorData {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
    const void* data;
    size_t size;
};
/// Writes a whole file at once; it appears under its name only when complete.
void write_safetensors(const std::string& path, const std::vector<SafeTensorData>& tensors);

}  // namespace powerinfer::formats
