// Reads the shared quantisation vectors.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "shared_data.h"

namespace powerinfer::test {

struct VectorFile {
    nlohmann::json header;
    std::string image;
    size_t data_begin = 0;

    explicit VectorFile(const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        image.assign(std::istreambuf_iterator<char>(in), {});
        uint64_t length = 0;
        std::memcpy(&length, image.data(), 8);
        header = nlohmann::json::parse(image.substr(8, length));
        data_begin = 8 + length;
    }
    template <class T>
    std::vector<T> get(const std::string& name) const {
        const size_t begin = header.at(name).at("data_offsets").at(0),
                     end = header.at(name).at("data_offsets").at(1);
        std::vector<T> values((end - begin) / sizeof(T));
        std::memcpy(values.data(), image.data() + data_begin + begin, end - begin);
        return values;
    }
};

}  // namespace powerinfer::test
