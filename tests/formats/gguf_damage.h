// The named damaged model files: each a change of a sound file, beside a twin with the same feature undamaged.
// Shared by the test of the reader and the test of the programs.
#pragma once

#include <functional>

#include "formats/gguf_image.h"

namespace powerinfer::test {

using Change = std::function<void(RawGguf&)>;

/// A change that must be refused, and one with the same feature that must load.
struct DamageCase {
    const char* name;
    Change damage;
    Change twin;
    const char* says;  ///< part of the message
};

inline Change add_key(const char* key, RawValue value) {
    return [=](RawGguf& g) { g.keys.emplace_back(key, value); };
}
inline Change set_alignment(RawValue value, size_t alignment = 32) {
    return [=](RawGguf& g) {
        g.keys[1].second = value;
        g.alignment = alignment;
    };
}
inline Change set_tensor(size_t i, std::function<void(RawTensor&)> f) {
    return [=](RawGguf& g) { f(g.tensors[i]); };
}
inline Change dims_of_c(std::vector<uint64_t> dims) {
    return set_tensor(2, [=](RawTensor& t) { t.dims = dims; });
}
inline void nothing(RawGguf&) {}

inline constexpr uint64_t k63 = 1ull << 63, kMax = ~0ull;
inline RawValue nested() {
    RawValue v{9, {}};
    v.payload.field<uint32_t>(9, "element type");
    v.payload.field<uint64_t>(1, "array count");
    v.payload.field<uint32_t>(4, "inner element type");
    v.payload.field<uint64_t>(0, "inner array count");
    return v;
}
inline RawValue string_of_length(uint64_t length) {
    RawValue v{8, {}};
    v.payload.field<uint64_t>(length, "string");
    v.payload.text("abc");
    return v;
}

inline const DamageCase kDamageCases[] = {
    // the header
    {"magic zeroed", [](RawGguf& g) { g.magic.assign(4, '\0'); }, nothing,
     "is not a GGUF file: it starts with the bytes 00 00 00 00"},
    {"magic of a later part of a file cut by size", [](RawGguf& g) { g.magic = "\x12\x34\x56\x78"; }, nothing,
     "starts with the bytes 12 34 56 78"},
    {"magic of old GGML", [](RawGguf& g) { g.magic = "tjgg"; }, nothing, "a GGML file from before GGUF"},
    {"magic byte-swapped", [](RawGguf& g) { g.magic = "FUGG"; }, nothing, "a byte-swapped GGUF file"},
    {"version 0", [](RawGguf& g) { g.version = 0; }, [](RawGguf& g) { g.version = 2; },
     "has GGUF version 0, but"},
    {"version 1", [](RawGguf& g) { g.version = 1; }, [](RawGguf& g) { g.version = 2; },
     "has GGUF version 1, but"},
    {"version 4", [](RawGguf& g) { g.version = 4; }, [](RawGguf& g) { g.version = 3; },
     "has GGUF version 4, but"},
    {"version 3 big-endian", [](RawGguf& g) { g.version = 0x03000000; }, nothing, "is a big-endian file"},
    {"version 2 big-endian", [](RawGguf& g) { g.version = 0x02000000; }, nothing, "is a big-endian file"},
    {"2^60 keys", [](RawGguf& g) { g.n_keys = 1ull << 60; }, [](RawGguf& g) { g.n_keys = g.keys.size(); },
     "the header counts 1152921504606846976 keys, but"},
    {"2^64 - 1 keys", [](RawGguf& g) { g.n_keys = kMax; }, nothing, "counts 18446744073709551615 keys"},
    {"2^60 tensors", [](RawGguf& g) { g.n_tensors = 1ull << 60; }, [](RawGguf& g) { g.n_tensors = 3; },
     "the header counts 1152921504606846976 tensors, but"},
    {"2^64 - 1 tensors", [](RawGguf& g) { g.n_tensors = kMax; }, nothing,
     "counts 18446744073709551615 tensors"},
    {"one tensor too many", [](RawGguf& g) { g.n_tensors = 4; }, nothing, "tensor 4 of 4"},
    // keys
    {"empty key", add_key("", u32(1)), add_key("x", u32(1)), "the name of key 18 of 18 is empty"},
    {"key twice", add_key("k.u16", u16(1)), add_key("k.u17", u16(1)), "key 'k.u16' occurs twice"},
    {"key too long", [](RawGguf& g) { g.keys.emplace_back(std::string(65536, 'k'), u32(1)); },
     [](RawGguf& g) { g.keys.emplace_back(std::string(65535, 'k'), u32(1)); },
     "the name of key 18 of 18 is 65536 bytes long"},
    {"value type 13", add_key("x", RawValue{13, u32(0).payload}), add_key("x", u32(0)),
     "key 'x' has value type 13, expected 0 to 12"},
    {"value type 2^32 - 1", add_key("x", RawValue{0xFFFFFFFFu, u32(0).payload}), nothing,
     "key 'x' has value type 4294967295"},
    {"bool of 2", add_key("x", boolean(2)), add_key("x", boolean(1)),
     "key 'x' is a bool with the value 2"},
    {"bool array with 7", add_key("x", array_of<uint8_t>(7, {0, 7})),
     add_key("x", array_of<uint8_t>(7, {0, 1})), "key 'x' holds a bool with the value 7"},
    {"string longer than the file", add_key("x", string_of_length(1u << 30)),
     add_key("x", string_of_length(3)), "the file ends inside key 'x': 1073741824 bytes are wanted"},
    {"string of 2^64 - 1 bytes", add_key("x", string_of_length(kMax)), add_key("x", string_of_length(3)),
     "the file ends inside key 'x': 18446744073709551615 bytes are wanted"},
    {"array of 2^60", add_key("x", array_of<float>(6, {1, 2}, 1ull << 60)),
     add_key("x", array_of<float>(6, {1, 2}, 2)),
     "key 'x' is an array of 1152921504606846976 elements of type f32, but"},
    {"array whose bytes wrap", add_key("x", array_of<uint64_t>(10, {1, 2}, (1ull << 61) + 2)),
     add_key("x", array_of<uint64_t>(10, {1, 2}, 2)), "key 'x' is an array of 2305843009213693954 elements"},
    {"array of 2^60 strings", add_key("x", array_of<std::string>(8, {"a"}, 1ull << 60)),
     add_key("x", array_of<std::string>(8, {"a"})),
     "key 'x' is an array of 1152921504606846976 elements of type string"},
    {"array of an unknown type", add_key("x", array_of<uint8_t>(99, {1}, 1ull << 60)),
     add_key("x", array_of<uint8_t>(0, {1})), "key 'x' is an array of element type 99"},
    {"array of arrays", add_key("x", nested()), add_key("x", array_of<uint32_t>(4, {})),
     "key 'x' is an array of arrays"},
    // alignment
    {"alignment 0", set_alignment(u32(0)), set_alignment(u32(32)),
     "key 'general.alignment' is 0, expected"},
    {"alignment 12", set_alignment(u32(12)), set_alignment(u32(16), 16),
     "key 'general.alignment' is 12"},
    {"alignment 48", set_alignment(u32(48)), set_alignment(u32(8), 8),
     "key 'general.alignment' is 48"},
    {"alignment 1", set_alignment(u32(1)), nothing,
     "key 'general.alignment' is 1, expected a power of two"},
    {"alignment 2^31", set_alignment(u32(1u << 31)), nothing, "key 'general.alignment' is 2147483648"},
    {"alignment as a string", set_alignment(text("32")), nothing,
     "key 'general.alignment' has type string, expected u32"},
    {"alignment as u64", set_alignment(u64(32)), nothing,
     "key 'general.alignment' has type u64, expected u32"},
    {"alignment as an array", set_alignment(array_of<uint32_t>(4, {32})), nothing,
     "key 'general.alignment' has type array of u32, expected u32"},
    // tensors
    {"tensor without a name", set_tensor(1, [](auto& t) { t.name = ""; }), nothing,
     "the name of tensor 2 of 3 is empty"},
    {"tensor twice", set_tensor(1, [](auto& t) { t.name = "a.weight"; }), nothing,
     "tensor 'a.weight' occurs twice"},
    {"tensor name of 256 bytes", set_tensor(1, [](auto& t) { t.name = std::string(256, 'n'); }),
     set_tensor(1, [](auto& t) { t.name = std::string(255, 'n'); }),
     "nnnn...') is 256 bytes long, more than the 255 allowed"},
    {"tensor name of 2^64 - 1 bytes", set_tensor(1, [](auto& t) { t.name_length = kMax; }), nothing,
     "is 18446744073709551615 bytes long"},
    {"5 dimensions", dims_of_c({8, 1, 1, 1, 1}), dims_of_c({8, 1, 1, 1}),
     "tensor 'c.weight' has 5 dimensions, expected at most 4"},
    {"2^32 - 1 dimensions", set_tensor(2, [](auto& t) { t.n_dims = 0xFFFFFFFFu; }), nothing,
     "tensor 'c.weight' has 4294967295 dimensions"},
    {"dimension 0", dims_of_c({0}), dims_of_c({1}),
     "tensor 'c.weight' has dimension 0 = 0, expected at least 1"},
    {"second dimension 0", dims_of_c({8, 0}), dims_of_c({8, 1}), "tensor 'c.weight' has dimension 1 = 0"},
    {"empty list in a file without predictors", set_tensor(2, [](auto& t) { t.dims = {0}, t.type = 26; }),
     [](RawGguf& g) { g.magic = "PWRI", g.tensors[2].dims = {0}, g.tensors[2].type = 26; },
     "tensor 'c.weight' has dimension 0 = 0"},
    {"negative dimension", dims_of_c({kMax}), nothing,
     "tensor 'c.weight' has dimension 0 = 18446744073709551615"},
    {"dimension 2^63", dims_of_c({k63}), nothing, "its number of elements exceeds 2^63 - 1"},
    {"dimensions that wrap to 0", dims_of_c({1ull << 32, 1ull << 32}), dims_of_c({2, 4}),
     "tensor 'c.weight' has dimension 1 = 4294967296, so"},
    {"dimensions that wrap to 8", dims_of_c({k63 + 4, 2}), dims_of_c({4, 2}),
     "tensor 'c.weight' has dimension 0"},
    {"bytes that wrap", dims_of_c({1ull << 62, 1, 1}), nothing,
     "tensor 'c.weight' (F16 {4611686018427387904}) needs"},
    {"bytes past 2^64", set_tensor(2, [](auto& t) { t.dims = {1ull << 62}, t.type = 28; }), nothing,
     "tensor 'c.weight' (F64 {4611686018427387904}) takes more than 2^64 bytes"},
    {"type 9999", set_tensor(2, [](auto& t) { t.type = 9999; }), nothing,
     "tensor 'c.weight' has element type 9999 (unknown), which this engine does not read"},
    {"type 4, removed", set_tensor(2, [](auto& t) { t.type = 4; }), nothing,
     "has element type 4 (Q4_2 (removed))"},
    {"type 16, not read", set_tensor(2, [](auto& t) { t.type = 16, t.dims = {256}; }),
     [](RawGguf& g) { g.magic = "PWRI", g.tensors[2].type = 16; }, "has element type 16 (IQ2_XXS)"},
    {"rows not whole blocks",
     set_tensor(1,
                [](auto& t) {
                    t.dims = {48, 2};
                }),
     set_tensor(1,
                [](auto& t) {
                    t.dims = {32, 2};
                }),
     "tensor 'b.weight' has rows of 48 elements, expected a multiple of the 32 of a Q4_0 block"},
    {"offset not aligned", set_tensor(1, [](auto& t) { t.offset = 65; }),
     set_tensor(1, [](auto& t) { t.offset = 64; }),
     "tensor 'b.weight' has offset 65, expected a multiple of the alignment 32"},
    {"offset past the end", set_tensor(2, [](auto& t) { t.offset = 1u << 20; }), nothing,
     "tensor 'c.weight' (F16 {8}) needs 16 bytes at offset 1048576 of the data part, but only 0 are there"},
    {"offset near 2^64", set_tensor(2, [](auto& t) { t.offset = kMax - 31; }), nothing,
     "needs 16 bytes at offset 18446744073709551584"},
    {"tensors overlap", set_tensor(1, [](auto& t) { t.offset = 32; }),
     [](RawGguf& g) { g.tensors[0].dims = {4, 2}, g.tensors[1].offset = 32; },
     "tensor 'a.weight' (F32 {4, 3}) needs 48 bytes, but tensor 'b.weight' starts 32 bytes after it"},
    {"tensors at one place", set_tensor(2, [](auto& t) { t.offset = 64; }),
     [](RawGguf& g) { std::swap(g.tensors[0], g.tensors[2]); }, "starts 0 bytes after it"},
    {"type wider than its place", [](RawGguf& g) { g.tensors[1].type = 8, g.data_bytes = 300; },
     set_tensor(1, [](auto& t) { t.type = 20; }),
     "tensor 'b.weight' (Q8_0 {64, 2}) needs 136 bytes, but tensor 'c.weight' starts 96 bytes after it"},
    {"data cut short", [](RawGguf& g) { g.data_bytes = 175; }, [](RawGguf& g) { g.data_bytes = 176; },
     "tensor 'c.weight' (F16 {8}) needs 16 bytes at offset 160 of the data part, but only 15 are there"},
    {"data missing", [](RawGguf& g) { g.data_bytes = 0; }, [](RawGguf& g) { g.data_bytes = 4096; },
     "tensor 'a.weight' (F32 {4, 3}) needs 48 bytes at offset 0 of the data part, but only 0 are there"},
};

}  // namespace powerinfer::test
