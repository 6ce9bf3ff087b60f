// The GGUF container (and PWRI, the same layout with another magic): open, check, read, write.
// Knows keys and tensors, not what they mean: see model/.
//
//   magic 4 B "GGUF" | "PWRI"    version u32 (2 or 3)    n_tensors u64    n_kv u64
//   n_kv times:       key string | value type u32 | value
//   n_tensors times:  name string | n_dims u32 (0..4) | n_dims x u64, contiguous dimension first |
//                     element type u32 | offset u64 from the start of the data part
//                     (in PWRI files the element types 16, 17, 18 are I8, I16, I32)
//   padding to `general.alignment` (u32 key, default 32, a power of two from 8 to 2^20)
//   data: each tensor starts at a multiple of the alignment
//
// string = u64 length + bytes. array = element type u32 | count u64 | elements; arrays of arrays are refused.
// All integers little-endian. Source: the GGUF specification of the ggml project.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mapped_file.h"
#include "base/tensor.h"

namespace powerinfer::formats {

enum class GgufType : uint32_t {
    u8 = 0, i8 = 1, u16 = 2, i16 = 3, u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9,
    u64 = 10, i64 = 11, f64 = 12,
};
std::string_view name(GgufType type);

/// Magic of the file: an ordinary model, or one with predictors and a transposed down projection.
enum class GgufMagic { gguf, pwri };

/// One value. Integers of any width are held as i64 or u64, floats as f64; `type` keeps the stored type, so that a
/// copied file keeps its types. Numeric arrays are held widened, string arrays as strings.
struct GgufValue {
    GgufType type = GgufType::u32;          ///< stored type; GgufType::array for arrays
    GgufType element = GgufType::u32;       ///< stored element type of an array
    std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<int64_t>, std::vector<uint64_t>,
                 std::vector<double>, std::vector<bool>, std::vector<std::string>>
        data;

    static GgufValue of_u32(uint32_t v);
    static GgufValue of_u64(uint64_t v);
    static GgufValue of_i32(int32_t v);
    static GgufValue of_f32(float v);
    static GgufValue of_bool(bool v);
    static GgufValue of_string(std::string v);
    static GgufValue of_strings(std::vector<std::string> v);
    static GgufValue of_f32s(std::vector<double> v);
    static GgufValue of_i32s(std::vector<int64_t> v);
};
/// "u32", "string", "array of f32": the stored type, for messages and listings.
std::string type_text(const GgufValue& value);

struct GgufTensor {
    std::string name;
    TensorView view;      ///< points into the mapped file
    uint64_t offset = 0;  ///< of the data, from the start of its file
    int part = 0;         ///< which file of a split model holds it
};

/// Limits that keep a damaged file from claiming the machine's memory; real files stay far below.
inline constexpr uint64_t kGgufMaxNameBytes = 255;          ///< of a tensor name
inline constexpr uint64_t kGgufMaxKeyBytes = 65535;
inline constexpr uint64_t kGgufMaxMetadataBytes = 512u << 20;  ///< keys, values and tensor entries, as held in memory

/// An opened file, or the first of a set `PREFIX-00001-of-0000N.gguf` whose others are opened beside it. Everything
/// that can be checked without knowing the model has been checked: counts, lengths, types, duplicates, alignment,
/// offsets and sizes inside the file. Errors are Error{bad_file | unsupported | io} naming the path and the key or
/// tensor, with what was found and what would be right. Move-only; views stay valid while this object lives.
class GgufFile {
  public:
    static GgufFile open(const std::string& path);
    /// Parses a file image in memory (tests, fuzzers); `label` stands for the path in messages. The bytes must
    /// outlive the object.
    static GgufFile parse(std::span<const uint8_t> image, const std::string& label);

    const std::string& path() const { return path_; }
    GgufMagic magic() const { return magic_; }
    uint32_t version() const { return version_; }
    uint64_t alignment() const { return alignment_; }
    uint64_t n_bytes() const;  ///< of all parts

    /// Keys in file order (those of the first part of a split model; split.* included).
    const std::vector<std::pair<std::string, GgufValue>>& keys() const { return keys_; }
    const GgufValue* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }

    /// Where the bytes of a key's value begin in its file, of an array's its element type. The file must have the key.
    uint64_t value_offset(std::string_view key) const { return value_offsets_[key_index_.find(key)->second]; }

    // Typed access. get_* without a default throws Error{bad_file} naming the key when it is missing; all throw,
    // naming wanted and found type, when it has another kind of value. Integers of any stored width are accepted
    // where they fit; f32 and f64 both serve as float. A value is never silently narrowed.
    uint64_t get_uint(std::string_view key) const;
    uint64_t get_uint(std::string_view key, uint64_t otherwise) const;
    double get_float(std::string_view key) const;
    double get_float(std::string_view key, double otherwise) const;
    bool get_bool(std::string_view key, bool otherwise) const;
    std::string get_string(std::string_view key) const;
    std::string get_string(std::string_view key, std::string_view otherwise) const;
    /// Null when the key is missing; throws when it is not an array of strings.
    const std::vector<std::string>* find_strings(std::string_view key) const;
    std::optional<std::vector<double>> find_floats(std::string_view key) const;
    std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;

    /// Gives a key another value than the file has, or adds it. A key of the file keeps its stored type. Throws
    /// Error{bad_argument} naming key and types where the value is of another kind or does not fit, or where the key
    /// says how the file is laid out (general.alignment, split.*).
    void override_key(const std::string& key, const GgufValue& value);

    /// Tensors in file order, parts one after another.
    const std::vector<GgufTensor>& tensors() const { return tensors_; }
    const GgufTensor* find_tensor(std::string_view name) const;

    /// Lets go of the memory behind a tensor's bytes, which come back from the file when they are read again.
    void release(const TensorView& view) const;
    /// The mapped parts, for read-ahead and locking. Empty for parse().
    const std::vector<MappedFile>& parts() const { return parts_; }

  private:
    friend class GgufParser;
    std::string path_;
    void open_other_parts(const std::string& path);
    GgufMagic magic_ = GgufMagic::gguf;
    uint32_t version_ = 3;
    uint64_t alignment_ = 32;
    std::vector<std::pair<std::string, GgufValue>> keys_;
    std::vector<uint64_t> value_offsets_;
    std::map<std::string, size_t, std::less<>> key_index_;
    std::vector<GgufTensor> tensors_;
    std::map<std::string, size_t, std::less<>> tensor_index_;
    std::vector<MappedFile> parts_;
    uint64_t image_bytes_ = 0;
};

/// Writes a version 3 file: first declare keys and tensors, then hand over the data of each tensor in the order of
/// declaration, in as many pieces as wanted. The file gets its name only in finish(), after the header that was
/// written has been read back and checked. Keys keep their stored types. A zero dimension is allowed only where the
/// reader allows it: one-dimensional I32 tensors of PWRI files (the empty lists of a GPU index).
class GgufWriter {
  public:
    GgufWriter(const std::string& path, GgufMagic magic, uint64_t alignment = 32);
    ~GgufWriter();

    /// Replaces the value if the key was set before. `general.alignment` is written by itself, and setting it here
    /// does nothing, so that all keys of another file can be copied.
    void set(const std::string& key, GgufValue value);
    void add_tensor(const std::string& name, DType type, const std::array<int64_t, 4>& ne);
    /// Writes the header. No set() or add_tensor() afterwards.
    void begin_data();
    /// The next bytes of the current tensor; a tensor must be complete before the next one starts.
    void write(const void* data, size_t size);
    void finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Overwrites numbers and booleans among the keys of a file by others of the same stored type, in place, in this order. Throws
/// Error{bad_argument} naming the key where the file has none of that type; a file that cannot be written is Error{io}.
void rewrite_keys(const std::string& path, const std::vector<std::pair<std::string, GgufValue>>& values);

}  // namespace powerinfer::formats
