// A GGUF file image made field by field, sound or damaged at will, with the place of every number remembered.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/image.h"

namespace powerinfer::test {

/// A value as it stands in the file, behind its type id.
struct RawValue {
    uint32_t type;
    Image payload;
};

template <class T>
RawValue scalar(uint32_t type, T value) {
    RawValue v{type, {}};
    v.payload.field<T>(value, "value");
    return v;
}
inline RawValue u8(uint8_t v) {
    return scalar(0, v);
}
inline RawValue i8(int8_t v) {
    return scalar(1, v);
}
inline RawValue u16(uint16_t v) {
    return scalar(2, v);
}
inline RawValue i16(int16_t v) {
    return scalar(3, v);
}
inline RawValue u32(uint32_t v) {
    return scalar(4, v);
}
inline RawValue i32(int32_t v) {
    return scalar(5, v);
}
inline RawValue f32(float v) {
    return scalar(6, v);
}
inline RawValue boolean(uint8_t v) {
    return scalar(7, v);
}
inline RawValue u64(uint64_t v) {
    return scalar(10, v);
}
inline RawValue i64(int64_t v) {
    return scalar(11, v);
}
inline RawValue f64(double v) {
    return scalar(12, v);
}
inline RawValue text(std::string_view s) {
    RawValue v{8, {}};
    v.payload.counted_text(s, "string");
    return v;
}
/// An array whose count may lie.
template <class T>
RawValue array_of(uint32_t element, const std::vector<T>& items, std::optional<uint64_t> count = {}) {
    RawValue v{9, {}};
    v.payload.field<uint32_t>(element, "element type");
    v.payload.field<uint64_t>(count.value_or(items.size()), "array count");
    for (const T& item : items) {
        if constexpr (std::is_same_v<T, std::string>)
            v.payload.counted_text(item, "array string");
        else
            v.payload.raw(item);
    }
    return v;
}

struct RawTensor {
    std::string name;
    std::vector<uint64_t> dims;
    uint32_t type = 0;
    uint64_t offset = 0;
    std::optional<uint32_t> n_dims = {};
    std::optional<uint64_t> name_length = {};
};

struct RawGguf {
    std::string magic = "GGUF";
    uint32_t version = 3;
    std::optional<uint64_t> n_tensors, n_keys;
    std::vector<std::pair<std::string, RawValue>> keys;
    std::vector<RawTensor> tensors;
    size_t alignment = 32;
    size_t data_bytes = 0;

    Image build() const {
        Image out;
        out.text(magic);
        out.field<uint32_t>(version, "version");
        out.field<uint64_t>(n_tensors.value_or(tensors.size()), "number of tensors");
        out.field<uint64_t>(n_keys.value_or(keys.size()), "number of keys");
        for (const auto& [key, value] : keys) {
            out.counted_text(key, "key " + key);
            out.field<uint32_t>(value.type, "type of " + key);
            for (Field f : value.payload.fields) {
                f.at += out.bytes.size();
                out.fields.push_back(f);
            }
            out.bytes.insert(out.bytes.end(), value.payload.bytes.begin(), value.payload.bytes.end());
        }
        for (const RawTensor& t : tensors) {
            out.field<uint64_t>(t.name_length.value_or(t.name.size()), "length of " + t.name);
            out.text(t.name);
            out.field<uint32_t>(t.n_dims.value_or(static_cast<uint32_t>(t.dims.size())),
                                "n_dims of " + t.name);
            for (const uint64_t d : t.dims) out.field<uint64_t>(d, "dimension of " + t.name);
            out.field<uint32_t>(t.type, "type of " + t.name);
            out.field<uint64_t>(t.offset, "offset of " + t.name);
        }
        if (!tensors.empty()) {
            while (out.bytes.size() % alignment != 0) out.bytes.push_back(0);
            for (size_t i = 0; i < data_bytes; ++i) out.bytes.push_back(static_cast<uint8_t>(i * 7));
        }
        return out;
    }
};

/// A sound small file: one key of every kind and three tensors (F32 {4, 3}, Q4_0 {64, 2}, F16 {8}).
inline RawGguf sound_gguf() {
    RawGguf g;
    g.keys = {
        {"general.architecture", text("llama")},
        {"general.alignment", u32(32)},
        {"k.u8", u8(200)},
        {"k.i8", i8(-5)},
        {"k.u16", u16(60000)},
        {"k.i16", i16(-30000)},
        {"k.i32", i32(-7)},
        {"k.f32", f32(1.5f)},
        {"k.bool", boolean(1)},
        {"k.u64", u64(1ull << 40)},
        {"k.i64", i64(-(1ll << 40))},
        {"k.f64", f64(0.1)},
        {"k.strings", array_of<std::string>(8, {"one", "", "three"})},
        {"k.f32s", array_of<float>(6, {0.5f, -1.0f})},
        {"k.i32s", array_of<int32_t>(5, {1, -2, 3})},
        {"k.u8s", array_of<uint8_t>(0, {255, 0})},
        {"k.bools", array_of<uint8_t>(7, {1, 0, 1})},
    };
    g.tensors = {{"a.weight", {4, 3}, 0, 0}, {"b.weight", {64, 2}, 2, 64}, {"c.weight", {8}, 1, 160}};
    g.data_bytes = 176;
    return g;
}

}  // namespace powerinfer::test
