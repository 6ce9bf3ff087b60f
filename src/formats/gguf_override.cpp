// One key of an opened file replaced by what the user says.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "formats/gguf.h"

namespace powerinfer::formats {
namespace {

/// Smallest and largest value of an integer type.
std::pair<int64_t, uint64_t> range(GgufType type) {
    switch (type) {
        case GgufType::u8: return {0, UINT8_MAX};
        case GgufType::i8: return {INT8_MIN, INT8_MAX};
        case GgufType::u16: return {0, UINT16_MAX};
        case GgufType::i16: return {INT16_MIN, INT16_MAX};
        case GgufType::u32: return {0, UINT32_MAX};
        case GgufType::i32: return {INT32_MIN, INT32_MAX};
        case GgufType::u64: return {0, UINT64_MAX};
        default: return {INT64_MIN, INT64_MAX};
    }
}

bool is_integer(const GgufValue& v) {
    return std::holds_alternative<int64_t>(v.data) || std::holds_alternative<uint64_t>(v.data);
}

}  // namespace

void GgufFile::override_key(const std::string& key, const GgufValue& value) {
    if (key == "general.alignment" || key.starts_with("split."))
        fail(ErrorKind::bad_argument, "key '{}' says how the file is laid out and cannot be overridden", key);
    const auto found = key_index_.find(key);
    if (found == key_index_.end()) {
        key_index_.emplace(key, keys_.size());
        keys_.emplace_back(key, value);
        return;
    }
    GgufValue& old = keys_[found->second].second;
    if (is_integer(old) && is_integer(value)) {
        const auto* negative = std::get_if<int64_t>(&value.data);
        const int64_t as_signed = negative ? *negative : 0;
        const uint64_t as_unsigned = negative ? static_cast<uint64_t>(*negative) : std::get<uint64_t>(value.data);
        const auto [low, high] = range(old.type);
        const bool is_negative = negative && *negative < 0;
        if (is_negative ? as_signed < low : as_unsigned > high)
            fail(ErrorKind::bad_argument, "key '{}' is {} in '{}', which holds {} to {}, not {}", key, type_text(old), path_,
                 low, high, is_negative ? std::to_string(as_signed) : std::to_string(as_unsigned));
        if (std::holds_alternative<uint64_t>(old.data)) old.data = as_unsigned;
        else old.data = static_cast<int64_t>(as_unsigned);
        return;
    }
    if (old.type == GgufType::array || is_integer(old) || old.data.index() != value.data.index())
        fail(ErrorKind::bad_argument, "key '{}' is {} in '{}' and cannot become {}", key, type_text(old), path_,
             type_text(value));
    if (old.type == GgufType::f32 && std::fabs(std::get<double>(value.data)) > std::numeric_limits<float>::max())
        fail(ErrorKind::bad_argument, "key '{}' is f32 in '{}', which cannot hold {}", key, path_,
             std::get<double>(value.data));
    old.data = value.data;
}

}  // namespace powerinfer::formats
