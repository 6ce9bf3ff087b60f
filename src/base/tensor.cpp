#include "base/tensor.h"

#include <fmt/format.h>

namespace powerinfer {

std::string shape_text(const std::array<int64_t, 4>& ne) {
    size_t n = ne.size();
    while (n > 1 && ne[n - 1] == 1) --n;
    return fmt::format("{{{}}}", fmt::join(ne.begin(), ne.begin() + static_cast<ptrdiff_t>(n), ", "));
}

}  // namespace powerinfer
