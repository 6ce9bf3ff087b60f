// Numbers written by people: the whole word must be a number, and it must lie in the range asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace powerinfer::tools {

/// Both throw Error{bad_argument} saying what was found and what would be right, without naming the option (the
/// option parser does that).
int64_t parse_integer(std::string_view word, int64_t low, int64_t high);
double parse_number(std::string_view word, double low, double high);

/// Replaces \n \r \t \' \" \\ and \xHH; unknown escapes stay as they are written.
std::string unescape(std::string_view text);

/// The bytes of a file; "-" is standard input. Throws Error{io} naming the path and the system's reason.
std::string read_text_file(const std::string& path);

/// 1234567890 -> "1.15 GiB".
std::string size_text(uint64_t bytes);

}  // namespace powerinfer::tools
