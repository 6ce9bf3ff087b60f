// Functions of strings that filters and methods share. Case is changed for the letters of
// ASCII, Latin-1, Greek and Cyrillic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::generate::jinja {

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text);
/// Every word with a capital; a word begins after anything that is not a letter.
std::string titled(std::string_view text);

/// Removes code points of `set` from the chosen ends; an empty set means white space, also that beyond ASCII.
std::string_view stripped(std::string_view text, std::string_view set, bool left, bool right);

/// limit: how many `from` to replace; negative: all. An empty `from` stands between all code points.
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t limit);

/// At white space, runs counting as one. limit: cuts made from the chosen end; negative: no limit.
std::vector<std::string_view> split_at_space(std::string_view text, int64_t limit, bool from_right);
/// separator: not empty.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit,
                                       bool from_right);
std::vector<std::string_view> split_lines(std::string_view text);

std::string html_escaped(std::string_view text);

}  // namespace powerinfer::generate::jinja
