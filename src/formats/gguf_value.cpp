#include <array>

#include "formats/gguf.h"

namespace powerinfer::formats {

std::string_view name(GgufType type) {
    static constexpr std::array<std::string_view, 13> kNames = {
        "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
    const auto id = static_cast<size_t>(type);
    return id < kNames.size() ? kNames[id] : "unknown type";
}

std::string type_text(const GgufValue& value) {
    if (value.type != GgufType::array) return std::string(name(value.type));
    return "array of " + std::string(name(value.element));
}

GgufValue GgufValue::of_u32(uint32_t v) {
    return {GgufType::u32, {}, uint64_t{v}};
}
GgufValue GgufValue::of_u64(uint64_t v) {
    return {GgufType::u64, {}, v};
}
GgufValue GgufValue::of_i32(int32_t v) {
    return {GgufType::i32, {}, int64_t{v}};
}
GgufValue GgufValue::of_f32(float v) {
    return {GgufType::f32, {}, double{v}};
}
GgufValue GgufValue::of_bool(bool v) {
    return {GgufType::boolean, {}, v};
}
GgufValue GgufValue::of_string(std::string v) {
    return {GgufType::string, {}, std::move(v)};
}
GgufValue GgufValue::of_strings(std::vector<std::string> v) {
    return {GgufType::array, GgufType::string, std::move(v)};
}
GgufValue GgufValue::of_f32s(std::vector<double> v) {
    return {GgufType::array, GgufType::f32, std::move(v)};
}
GgufValue GgufValue::of_i32s(std::vector<int64_t> v) {
    return {GgufType::array, GgufType::i32, std::move(v)};
}

}  // namespace powerinfer::formats
