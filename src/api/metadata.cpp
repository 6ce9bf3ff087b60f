#include "api/metadata.h"

#include <fmt/format.h>

namespace powerinfer::api {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string number(double v, formats::GgufType type) {
    return type == formats::GgufType::f32 ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
}

template <class Items, class Text>
std::string list(const Items& items, const Text& text) {
    std::string out = "[";
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        out += text(items[i]);
    }
    return out + "]";
}

}  // namespace

std::string value_text(const formats::GgufValue& value) {
    return std::visit(
        [&](const auto& v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, std::string>) return v;
            else if constexpr (std::is_same_v<T, double>) return number(v, value.type);
            else if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", v);
            else if constexpr (std::is_same_v<T, std::vector<std::string>>) return list(v, quoted);
            else if constexpr (std::is_same_v<T, std::vector<double>>)
                return list(v, [&](double x) { return number(x, value.element); });
            else if constexpr (std::is_same_v<T, std::vector<bool>>)
                return list(v, [](bool x) { return std::string(x ? "true" : "false"); });
            else return list(v, [](auto x) { return fmt::format("{}", x); });
        },
        value.data);
}

}  // namespace powerinfer::api
