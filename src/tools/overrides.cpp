#include "tools/overrides.h"

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "tools/numbers.h"

namespace powerinfer::tools {
namespace {

using formats::GgufType;
using formats::GgufValue;

constexpr size_t kMostBytes = 127;  ///< of a key and of a string

GgufValue integer_value(std::string_view text) {
    const int64_t n = parse_integer(text, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    if (n >= 0 && n <= UINT32_MAX) return GgufValue::of_u32(static_cast<uint32_t>(n));
    if (n < 0 && n >= INT32_MIN) return GgufValue::of_i32(static_cast<int32_t>(n));
    return {GgufType::i64, {}, n};
}

GgufValue boolean_value(std::string_view text) {
    if (text != "true" && text != "false") fail(ErrorKind::bad_argument, "'{}' is neither true nor false", text);
    return GgufValue::of_bool(text == "true");
}

GgufValue string_value(std::string_view text) {
    if (text.size() > kMostBytes)
        fail(ErrorKind::bad_argument, "a text of {} bytes is too long, {} are possible", text.size(), kMostBytes);
    return GgufValue::of_string(std::string(text));
}

KeyOverride parse_one(std::string_view text) {
    const size_t equals = text.find('=');
    const size_t colon = equals == std::string_view::npos ? equals : text.find(':', equals);
    if (colon == std::string_view::npos || equals == 0)
        fail(ErrorKind::bad_argument, "'{}' is not KEY=TYPE:VALUE", text);
    const std::string key(text.substr(0, equals));
    const std::string_view type = text.substr(equals + 1, colon - equals - 1), value = text.substr(colon + 1);
    if (key.size() > kMostBytes)
        fail(ErrorKind::bad_argument, "the key '{}' has {} bytes, {} are possible", key, key.size(), kMostBytes);
    try {
        if (type == "int") return {key, integer_value(value)};
        if (type == "float") return {key, {GgufType::f32, {}, parse_number(value, -3.4e38, 3.4e38)}};
        if (type == "bool") return {key, boolean_value(value)};
        if (type == "str") return {key, string_value(value)};
    } catch (const Error& e) {
        fail(ErrorKind::bad_argument, "key '{}' of type {}: {}", key, type, e.what());
    }
    fail(ErrorKind::bad_argument, "key '{}' has the type '{}', which is not one of int, float, bool, str", key, type);
}

}  // namespace

std::vector<KeyOverride> parse_overrides(std::string_view text) {
    std::vector<KeyOverride> all;
    for (;;) {
        const size_t comma = text.find(',');
        all.push_back(parse_one(text.substr(0, comma)));
        if (comma == std::string_view::npos) return all;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace powerinfer::tools
