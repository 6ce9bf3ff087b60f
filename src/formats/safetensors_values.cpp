// The numbers inside a tensor of the safetensors container.
#include <array>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/half.h"
#include "formats/safetensors.h"

namespace powerinfer::formats {
namespace {

/// Bytes may lie at any address, so each number is copied out.
template <class Stored, class Out, class Convert>
std::vector<Out> convert_all(std::span<const uint8_t> bytes, Convert convert) {
    std::vector<Out> out(bytes.size() / sizeof(Stored));
    for (size_t i = 0; i < out.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
        out[i] = static_cast<Out>(convert(stored));
    }
    return out;
}

template <class Stored>
std::vector<int64_t> widen(std::span<const uint8_t> bytes) {
    return convert_all<Stored, int64_t>(bytes, [](Stored x) { return x; });
}

}  // namespace

size_t safetensors_dtype_bytes(std::string_view dtype) {
    struct Row {
        std::string_view name;
        size_t bytes;
    };
    static constexpr Row kRows[] = {
        {"F32", 4},  {"F16", 2},     {"BF16", 2},    {"F64", 8},     {"I64", 8}, {"I32", 4},
        {"I16", 2},  {"I8", 1},      {"U64", 8},     {"U32", 4},     {"U16", 2}, {"U8", 1},
        {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
    };
    for (const Row& row : kRows) {
        if (row.name == dtype) return row.bytes;
    }
    return 0;
}

int64_t SafeTensor::n_elements() const {
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    return n;
}

std::vector<float> SafeTensor::to_floats() const {
    if (dtype == "F32") return convert_all<float, float>(bytes, [](float x) { return x; });
    if (dtype == "F16") return convert_all<uint16_t, float>(bytes, f16_to_f32);
    if (dtype == "BF16") return convert_all<uint16_t, float>(bytes, bf16_to_f32);
    if (dtype == "F64") return convert_all<double, float>(bytes, [](double x) { return x; });
    fail(ErrorKind::unsupported,
         "a tensor of type {} cannot be read as floats, expected F32, F16, BF16 or F64", dtype);
}

std::vector<int64_t> SafeTensor::to_ints() const {
    if (dtype == "I64") return widen<int64_t>(bytes);
    if (dtype == "I32") return widen<int32_t>(bytes);
    if (dtype == "I16") return widen<int16_t>(bytes);
    if (dtype == "I8") return widen<int8_t>(bytes);
    if (dtype == "U8") return widen<uint8_t>(bytes);
    fail(ErrorKind::unsupported,
         "a tensor of type {} cannot be read as integers, expected I64, I32, I16, I8 or U8", dtype);
}

}  // namespace powerinfer::formats
