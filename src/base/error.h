// A short way to throw the one exception type of the library, which <powerinfer/error.h> shows to the outside.
// Not for broken invariants of our own code: those are assert().
#pragma once

#include <fmt/format.h>
#include <powerinfer/error.h>

#include <utility>

namespace powerinfer {

/// Throws Error{kind, formatted sentence}.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace powerinfer
