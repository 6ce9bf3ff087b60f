// The one exception type of the library. For C, see powerinfer_c.h: there errors are values.
#pragma once

#include <powerinfer/export.h>

#include <stdexcept>
#include <string>

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
class POWERINFER_API Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& sentence);
    Error(const Error&) noexcept;
    Error& operator=(const Error&) noexcept;
    ~Error() override;
    ErrorKind kind() const noexcept { return kind_; }

  private:
    ErrorKind kind_;
};

}  // namespace powerinfer
