#include <limits>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_parse.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

[[noreturn]] void fail_missing(const std::string& path, std::string_view key, std::string_view wanted) {
    fail(ErrorKind::bad_file, "'{}': key '{}' is missing, expected a value of type {}", path, key, wanted);
}

[[noreturn]] void fail_type(const std::string& path, std::string_view key, const GgufValue& value,
                            std::string_view wanted) {
    fail(ErrorKind::bad_file, "'{}': key '{}' has type {}, expected {}", path, key, type_text(value), wanted);
}

}  // namespace

GgufFile GgufFile::parse(std::span<const uint8_t> image, const std::string& label) {
    return GgufParser(image, label).run();
}

void GgufFile::release(const TensorView& view) const {
    const auto* begin = static_cast<const uint8_t*>(view.data);
    for (const MappedFile& part : parts_) {
        const std::span<const uint8_t> all = part.bytes();
        if (begin >= all.data() && begin < all.data() + all.size()) part.release(begin, view.n_bytes());
    }
}

uint64_t GgufFile::n_bytes() const {
    if (parts_.empty()) return image_bytes_;
    uint64_t n = 0;
    for (const MappedFile& part : parts_) n += part.bytes().size();
    return n;
}

const GgufValue* GgufFile::find(std::string_view key) const {
    const auto it = key_index_.find(key);
    return it == key_index_.end() ? nullptr : &keys_[it->second].second;
}

uint64_t GgufFile::get_uint(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) fail_missing(path_, key, "unsigned integer");
    if (const auto* u = std::get_if<uint64_t>(&value->data)) return *u;
    const auto* i = std::get_if<int64_t>(&value->data);
    if (i == nullptr) fail_type(path_, key, *value, "an unsigned integer");
    if (*i < 0)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected a value of at least 0", path_, key, *i);
    return static_cast<uint64_t>(*i);
}

uint64_t GgufFile::get_uint(std::string_view key, uint64_t otherwise) const {
    return has(key) ? get_uint(key) : otherwise;
}

double GgufFile::get_float(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) fail_missing(path_, key, "float");
    const auto* d = std::get_if<double>(&value->data);
    if (d == nullptr) fail_type(path_, key, *value, "f32 or f64");
    return *d;
}

double GgufFile::get_float(std::string_view key, double otherwise) const {
    return has(key) ? get_float(key) : otherwise;
}

bool GgufFile::get_bool(std::string_view key, bool otherwise) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return otherwise;
    const auto* b = std::get_if<bool>(&value->data);
    if (b == nullptr) fail_type(path_, key, *value, "bool");
    return *b;
}

std::string GgufFile::get_string(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) fail_missing(path_, key, "string");
    const auto* s = std::get_if<std::string>(&value->data);
    if (s == nullptr) fail_type(path_, key, *value, "string");
    return *s;
}

std::string GgufFile::get_string(std::string_view key, std::string_view otherwise) const {
    return has(key) ? get_string(key) : std::string(otherwise);
}

const std::vector<std::string>* GgufFile::find_strings(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return nullptr;
    const auto* v = std::get_if<std::vector<std::string>>(&value->data);
    if (v == nullptr) fail_type(path_, key, *value, "array of string");
    return v;
}

std::optional<std::vector<double>> GgufFile::find_floats(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto* v = std::get_if<std::vector<double>>(&value->data);
    if (v == nullptr) fail_type(path_, key, *value, "array of f32 or f64");
    return *v;
}

std::optional<std::vector<int64_t>> GgufFile::find_ints(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value->data)) return *v;
    const auto* u = std::get_if<std::vector<uint64_t>>(&value->data);
    if (u == nullptr) fail_type(path_, key, *value, "array of integers");
    for (const uint64_t x : *u) {
        if (x > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
            fail(ErrorKind::bad_file, "'{}': key '{}' holds {}, expected values of at most 2^63 - 1", path_,
                 key, x);
    }
    return std::vector<int64_t>(u->begin(), u->end());
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    const auto it = tensor_index_.find(name);
    return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace powerinfer::formats
