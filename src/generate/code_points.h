// Strings as the code points that template functions count and cut. Broken bytes count as one each.
#pragma once

#include <string_view>
#include <vector>

namespace powerinfer::generate {

size_t count_code_points(std::string_view text);
/// The text as one piece per code point.
std::vector<std::string_view> split_code_points(std::string_view text);

}  // namespace powerinfer::generate
