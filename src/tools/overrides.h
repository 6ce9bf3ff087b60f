// --override-kv: values that the user gives to keys of the model file.
// Not for applying them: GgufFile::override_key does that.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"

namespace powerinfer::tools {

using KeyOverride = std::pair<std::string, formats::GgufValue>;

/// "KEY=TYPE:VALUE", several separated by commas; TYPE is int, float, bool or str. A string therefore has no comma.
/// Throws Error{bad_argument} naming key and type.
std::vector<KeyOverride> parse_overrides(std::string_view text);

}  // namespace powerinfer::tools
