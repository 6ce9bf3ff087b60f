// A file image made number by number, with the place of each remembered so that it can be damaged.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::test {

/// Where a length, count, offset, dimension or enum lies in an image.
struct Field {
    size_t at;
    size_t bytes;
    std::string what;
};

class Image {
  public:
    std::vector<uint8_t> bytes;
    std::vector<Field> fields;

    template <class T>
    void raw(T value) {
        const auto* p = reinterpret_cast<const uint8_t*>(&value);
        bytes.insert(bytes.end(), p, p + sizeof(T));
    }
    template <class T>
    void field(T value, const std::string& what) {
        fields.push_back({bytes.size(), sizeof(T), what});
        raw(value);
    }
    void text(std::string_view s) { bytes.insert(bytes.end(), s.begin(), s.end()); }
    void counted_text(std::string_view s, const std::string& what) {
        field<uint64_t>(s.size(), "length of " + what);
        text(s);
    }
};

/// Sets one remembered number.
inline std::vector<uint8_t> with_field(const Image& image, const Field& field, uint64_t value) {
    std::vector<uint8_t> out = image.bytes;
    std::memcpy(out.data() + field.at, &value, field.bytes);
    return out;
}

inline uint64_t field_value(const Image& image, const Field& field) {
    uint64_t value = 0;
    std::memcpy(&value, image.bytes.data() + field.at, field.bytes);
    return value;
}

/// What a number that was x is set to in turn.
inline std::array<uint64_t, 8> awkward_values(uint64_t x) {
    return {0, 1, x - 1, x + 1, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}};
}

}  // namespace powerinfer::test
