#include "tools/numbers.h"

#include <charconv>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

int64_t parse_integer(std::string_view word, int64_t low, int64_t high) {
    int64_t value = 0;
    const char* begin = word.data();
    const char* end = begin + word.size();
    if (begin != end && *begin == '+') ++begin;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc::invalid_argument || stop != end || word == "+" || word.starts_with("+-"))
        fail(ErrorKind::bad_argument, "'{}' is not a whole number", word);
    if (error == std::errc::result_out_of_range || value < low || value > high)
        fail(ErrorKind::bad_argument, "{} is out of range, {} to {} would be right", word, low, high);
    return value;
}

double parse_number(std::string_view word, double low, double high) {
    const std::string copy(word);  // strtod wants a terminator; from_chars for doubles came with later libraries
    char* stop = nullptr;
    const double value = std::strtod(copy.c_str(), &stop);
    // strtod would also take hexadecimal numbers, "inf", "nan" and leading spaces.
    const bool is_decimal = !copy.empty() && copy.find_first_not_of("+-.0123456789eE") == std::string::npos;
    if (!is_decimal || stop != copy.c_str() + copy.size() || !std::isfinite(value))
        fail(ErrorKind::bad_argument, "'{}' is not a number", word);
    if (value < low || value > high)
        fail(ErrorKind::bad_argument, "{} is out of range, {:g} to {:g} would be right", word, low, high);
    return value;
}

std::string unescape(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char c = text[i + 1];
        if (c == 'x' && i + 3 < text.size() && hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0) {
            out += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
            i += 3;
            continue;
        }
        static constexpr std::string_view kLetters = "nrt'\"\\", kMeanings = "\n\r\t'\"\\";
        const size_t k = kLetters.find(c);
        if (k == std::string_view::npos) out += '\\';
        out += k == std::string_view::npos ? c : kMeanings[k];
        ++i;
    }
    return out;
}

std::string read_text_file(const std::string& path) {
    std::FILE* opened = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    if (!opened) fail(ErrorKind::io, "cannot open '{}': {}", path, std::strerror(errno));
    const auto close = [](std::FILE* f) {
        if (f != stdin) std::fclose(f);
    };
    const std::unique_ptr<std::FILE, decltype(close)> file(opened, close);
    std::string text;
    char buffer[65536];
    while (const size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, n);
    if (std::ferror(file.get())) fail(ErrorKind::io, "cannot read '{}': {}", path, std::strerror(errno));
    return text;
}

std::string size_text(uint64_t bytes) {
    static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = static_cast<double>(bytes);
    while (value >= 1024.0 && unit + 1 < std::size(kUnits)) {
        value /= 1024.0;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

}  // namespace powerinfer::tools
