#include "formats/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace powerinfer::formats {
namespace {

bool starts_ignoring_case(std::string_view text, std::string_view lower_prefix) {
    if (text.size() < lower_prefix.size()) return false;
    return std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(), [](char want, char have) {
        return std::tolower(static_cast<unsigned char>(have)) == want;
    });
}

}  // namespace

std::string_view recognise(std::span<const uint8_t> bytes) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto is = [&](std::string_view magic) { return all.substr(0, magic.size()) == magic; };
    if (is("version https://git-lfs"))
        return "a Git-LFS pointer, not the file itself; fetch the real file with `git lfs pull`";
    std::string_view text = all.substr(0, 512);
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    const size_t first = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(std::min(first, text.size()));
    if (starts_ignoring_case(text, "<!doctype") || starts_ignoring_case(text, "<html"))
        return "a web page (HTML); the download gave an error or login page instead of the file";
    if (is("GGUF")) return "a GGUF model";
    if (is("PWRI")) return "a PowerInfer model";
    if (is("GGML") || is("lmgg") || is("fmgg") || is("tjgg") || is("algg"))
        return "a GGML file from before GGUF; convert the original model again";
    if (is("FUGG")) return "a byte-swapped GGUF file";
    if (is("PK\x03\x04")) return "a zip archive (a PyTorch checkpoint?)";
    if (all.size() > 8 && all[8] == '{' && all.substr(4, 4) == std::string_view("\0\0\0\0", 4))
        return "a safetensors file";
    if (is("\x80\x02") || is("\x80\x03") || is("\x80\x04")) return "a Python pickle";
    if (text.substr(0, 1) == "{") return "a JSON text";
    return {};
}

std::string describe_start(std::span<const uint8_t> bytes) {
    if (const std::string_view what = recognise(bytes); !what.empty())
        return fmt::format("it looks like {}", what);
    std::string hex;
    for (const uint8_t b : bytes.first(std::min<size_t>(4, bytes.size()))) hex += fmt::format(" {:02x}", b);
    return fmt::format("it starts with the bytes{}", hex);
}

std::string shown(std::string_view name) {
    constexpr size_t kMost = 64;
    std::string out;
    for (const char c : name.substr(0, kMost)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7F)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    if (name.size() > kMost) out += fmt::format("... ({} bytes)", name.size());
    return out;
}

}  // namespace powerinfer::formats
