// The one exception type of the library, and a short way to throw it.
// Not for broken invariants of our own code: those are assert().
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace powerinfer {

/// What went wrong, in the few classes a caller can act on.
enum class ErrorKind {
    bad_argument,   ///< an argument, flag or request field has an impossible value
    bad_file,       ///< a file is damaged, truncated or not what it claims to be
    unsupported,    ///< well formed, but something this engine does not do
    io,             ///< the operating system refused: missing, unreadable, disk full
    out_of_memory,  ///< the request does not fit the memory that is there
    cancelled,      ///< the user asked to stop
    internal,       ///< a result that cannot be right, such as NaN logits
};

/// Carries one full sentence that names the file, field or argument and says what would be right.
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
    ErrorKind kind() const { return kind_; }

  private:
    ErrorKind kind_;
};

/// Throws Error{kind, formatted sentence}.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace powerinfer
