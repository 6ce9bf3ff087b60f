#include "base/log.h"

#include "base/error.h"

namespace powerinfer {

void report(const Progress& progress, double share, std::string_view what) {
    if (progress && !progress(share, what)) fail(ErrorKind::cancelled, "stopped during: {}", what);
}

}  // namespace powerinfer
