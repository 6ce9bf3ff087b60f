// Values of a model file's metadata as text for users of the library.
#pragma once

#include <string>

#include "formats/gguf.h"

namespace powerinfer::api {

/// Strings as they are, numbers in the shortest form that reads back, arrays as "[1, 2]" with strings in quotes.
std::string value_text(const formats::GgufValue& value);

}  // namespace powerinfer::api
