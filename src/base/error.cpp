#include "base/error.h"

namespace powerinfer {

Error::Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
Error::Error(const Error&) noexcept = default;
Error& Error::operator=(const Error&) noexcept = default;
Error::~Error() = default;

}  // namespace powerinfer
