// Reads the shared quantisation vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "shared_data.h"

namespace powerinfer::test {

class VectorFile {
  public:
    explicit VectorFile(const std::filesystem::path& path)
        : file_(formats::SafeTensorsFile::open(path.string())) {}

    /// The bytes of a tensor as numbers of type T, which must fit its element size.
    template <class T>
    std::vector<T> get(const std::string& name) const {
        const formats::SafeTensor& tensor = file_.at(name);
        EXPECT_EQ(formats::safetensors_dtype_bytes(tensor.dtype), sizeof(T)) << name;
        std::vector<T> values(tensor.bytes.size() / sizeof(T));
        std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
        return values;
    }

  private:
    formats::SafeTensorsFile file_;
};

}  // namespace powerinfer::test
