#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

bool prints_as_itself(int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

}  // namespace

size_t utf8_length(std::string_view text, size_t position) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return 1;
    const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || length > text.size() - position) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const uint8_t second = byte(1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second >= 0xA0;
    const bool too_large = lead == 0xF4 && second >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

char32_t utf8_code_point(std::string_view text, size_t position, size_t length) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
    if (length == 1) return byte(0);
    char32_t value = byte(0) & (0x7Fu >> length);
    for (size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3Fu);
    return value;
}

void append_utf8(std::string& out, char32_t c) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | c >> 6);
        tail(0);
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | c >> 12);
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0 | c >> 18);
        tail(12);
        tail(6);
        tail(0);
    }
}

const std::array<std::string, 256>& byte_alphabet() {
    static const std::array<std::string, 256> alphabet = [] {
        std::array<std::string, 256> table;
        char32_t next = 0x100;
        for (int byte = 0; byte < 256; ++byte)
            append_utf8(table[byte], prints_as_itself(byte) ? static_cast<char32_t>(byte) : next++);
        return table;
    }();
    return alphabet;
}

int byte_of(char32_t code_point) {
    static const std::array<int, 0x144> inverse = [] {
        std::array<int, 0x144> table;
        table.fill(-1);
        for (int byte = 0; byte < 256; ++byte) {
            const std::string& text = byte_alphabet()[byte];
            table[utf8_code_point(text, 0, text.size())] = byte;
        }
        return table;
    }();
    return code_point < inverse.size() ? inverse[code_point] : -1;
}

std::string to_byte_alphabet(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) out += byte_alphabet()[static_cast<uint8_t>(c)];
    return out;
}

std::string from_byte_alphabet(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text, i);
        const int byte = length == 0 ? -1 : byte_of(utf8_code_point(text, i, length));
        const size_t size = length == 0 ? 1 : length;
        if (byte >= 0)
            out += static_cast<char>(byte);
        else
            out += text.substr(i, size);
        i += size;
    }
    return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    size_t begin = 0;
    for (size_t at; (at = text.find(from, begin)) != std::string_view::npos; begin = at + from.size()) {
        out += text.substr(begin, at - begin);
        out += to;
    }
    return out += text.substr(begin);
}

}  // namespace powerinfer::tokenizer
