#include "generate/jinja_strings.h"

#include <algorithm>

#include "generate/code_points.h"
#include "tokenizer/utf8.h"

namespace powerinfer::generate::jinja {

namespace {

bool between(char32_t c, char32_t first, char32_t last) {
    return c >= first && c <= last;
}

char32_t to_upper(char32_t c) {
    if (between(c, 'a', 'z') || (between(c, 0xE0, 0xFE) && c != 0xF7)) return c - 0x20;
    if ((between(c, 0x3B1, 0x3C9) && c != 0x3C2) || between(c, 0x430, 0x44F)) return c - 0x20;
    return between(c, 0x450, 0x45F) ? c - 0x50 : c;
}

char32_t to_lower(char32_t c) {
    if (between(c, 'A', 'Z') || (between(c, 0xC0, 0xDE) && c != 0xD7)) return c + 0x20;
    if ((between(c, 0x391, 0x3A9) && c != 0x3A2) || between(c, 0x410, 0x42F)) return c + 0x20;
    return between(c, 0x400, 0x40F) ? c + 0x50 : c;
}

/// change(letter, is_first, follows_a_letter)
template <class Change>
std::string changed(std::string_view text, Change change) {
    std::string out;
    bool is_first = true, inside = false;
    for (const std::string_view letter : split_code_points(text)) {
        if (tokenizer::utf8_length(letter, 0) == 0) {  // a broken byte stays
            out += letter;
            continue;
        }
        const char32_t c = tokenizer::utf8_code_point(letter, 0, letter.size());
        tokenizer::append_utf8(out, change(c, is_first, inside));
        is_first = false;
        inside = to_upper(c) != c || to_lower(c) != c || c >= 0x80;
    }
    return out;
}

bool is_white(std::string_view letter) {
    if (letter.size() == 1) {  // ASCII or a broken byte
        const auto c = static_cast<unsigned char>(letter[0]);
        return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    }
    const char32_t c = tokenizer::utf8_code_point(letter, 0, letter.size());
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

std::string upper(std::string_view text) {
    return changed(text, [](char32_t c, bool, bool) { return to_upper(c); });
}

std::string lower(std::string_view text) {
    return changed(text, [](char32_t c, bool, bool) { return to_lower(c); });
}

std::string capitalized(std::string_view text) {
    return changed(text,
                   [](char32_t c, bool is_first, bool) { return is_first ? to_upper(c) : to_lower(c); });
}

std::string titled(std::string_view text) {
    return changed(text, [](char32_t c, bool, bool inside) { return inside ? to_lower(c) : to_upper(c); });
}

std::string_view stripped(std::string_view text, std::string_view set, bool left, bool right) {
    const std::vector<std::string_view> letters = split_code_points(text);
    const std::vector<std::string_view> wanted = split_code_points(set);
    const auto goes = [&](std::string_view letter) {
        return set.empty() ? is_white(letter)
                           : std::find(wanted.begin(), wanted.end(), letter) != wanted.end();
    };
    size_t begin = 0, end = letters.size();
    while (left && begin < end && goes(letters[begin])) ++begin;
    while (right && end > begin && goes(letters[end - 1])) --end;
    if (begin == end) return {};
    const size_t from = static_cast<size_t>(letters[begin].data() - text.data());
    const size_t to = static_cast<size_t>(letters[end - 1].data() - text.data()) + letters[end - 1].size();
    return text.substr(from, to - from);
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t limit) {
    std::string out;
    int64_t n = 0;
    if (from.empty()) {
        for (const std::string_view letter : split_code_points(text)) {
            if (limit < 0 || n++ < limit) out += to;
            out += letter;
        }
        if (limit < 0 || n < limit) out += to;
        return out;
    }
    for (;;) {
        const size_t place = limit >= 0 && n++ >= limit ? std::string_view::npos : text.find(from);
        out += text.substr(0, place);
        if (place == std::string_view::npos) return out;
        out += to;
        text.remove_prefix(place + from.size());
    }
}

std::vector<std::string_view> split_at_space(std::string_view text, int64_t limit, bool from_right) {
    std::vector<std::string_view> parts;
    text = stripped(text, "", true, true);
    while (!text.empty()) {
        const std::vector<std::string_view> letters = split_code_points(text);
        size_t begin = std::string_view::npos, end = 0;
        if (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
            const auto found =
                from_right ? letters.rend() - std::find_if(letters.rbegin(), letters.rend(), is_white)
                           : std::find_if(letters.begin(), letters.end(), is_white) - letters.begin() + 1;
            const auto place = static_cast<size_t>(found);
            if (place >= 1 && place <= letters.size()) {
                begin = static_cast<size_t>(letters[place - 1].data() - text.data());
                end = begin + letters[place - 1].size();
            }
        }
        if (begin == std::string_view::npos) {
            parts.push_back(text);
            break;
        }
        parts.push_back(from_right ? text.substr(end) : text.substr(0, begin));
        text = from_right ? stripped(text.substr(0, begin), "", false, true)
                          : stripped(text.substr(end), "", true, false);
    }
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit,
                                       bool from_right) {
    std::vector<std::string_view> parts;
    while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
        const size_t place = from_right ? text.rfind(separator) : text.find(separator);
        if (place == std::string_view::npos) break;
        const std::string_view before = text.substr(0, place), after = text.substr(place + separator.size());
        parts.push_back(from_right ? after : before);
        text = from_right ? before : after;
    }
    parts.push_back(text);
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const size_t end = std::min(text.find_first_of("\n\r"), text.size());
        lines.push_back(text.substr(0, end));
        const bool pair = text.substr(end, 2) == "\r\n";
        text.remove_prefix(std::min(end + (pair ? 2 : 1), text.size()));
    }
    return lines;
}

std::string html_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&#34;";
        else if (c == '\'')
            out += "&#39;";
        else
            out += c;
    }
    return out;
}

}  // namespace powerinfer::generate::jinja
