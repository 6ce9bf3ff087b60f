// Telling what a file really is when it is not what its name promises, and showing its names in messages.
// Not a parser: looks at the first bytes only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace powerinfer::formats {

/// What the bytes look like ("a web page", "a Git-LFS pointer ..."), or empty when nothing is recognised.
std::string_view recognise(std::span<const uint8_t> bytes);

/// A sentence part for a file with the wrong start: what it looks like, or its first bytes in hex.
std::string describe_start(std::span<const uint8_t> bytes);

/// A name from a file, fit for one line of a message: at most 64 of its bytes, plain ASCII.
std::string shown(std::string_view name);

}  // namespace powerinfer::formats
