// Which build this is. Not for the version of file formats.
#pragma once

#include <string>

namespace powerinfer::tools {

/// Several lines: version and commit, compiler, instruction sets compiled and available, libraries.
std::string version_text();
const char* build_commit();
int build_number();

}  // namespace powerinfer::tools
