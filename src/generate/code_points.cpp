#include "generate/code_points.h"

#include <algorithm>

#include "tokenizer/utf8.h"

namespace powerinfer::generate {

namespace {

size_t length_at(std::string_view text, size_t place) {
    return std::max<size_t>(1, tokenizer::utf8_length(text, place));
}

}  // namespace

size_t count_code_points(std::string_view text) {
    size_t n = 0;
    for (size_t i = 0; i < text.size(); i += length_at(text, i)) ++n;
    return n;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
    std::vector<std::string_view> parts;
    for (size_t i = 0; i < text.size(); i += parts.back().size())
        parts.push_back(text.substr(i, length_at(text, i)));
    return parts;
}

}  // namespace powerinfer::generate
