#include "base/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace powerinfer {

std::string shape_text(const std::array<int64_t, 4>& ne) {
    size_t n = ne.size();
    while (n > 1 && ne[n - 1] == 1) --n;
    return fmt::format("{{{}}}", fmt::join(ne.begin(), ne.begin() + static_cast<ptrdiff_t>(n), ", "));
}

uint64_t sampled_hash(const TensorView& tensor, uint64_t hash) {
    hash = fnv1a(&tensor.type, sizeof(tensor.type), hash);
    hash = fnv1a(tensor.ne.data(), sizeof(tensor.ne), hash);
    if (!tensor) return hash;
    const size_t size = tensor.n_bytes(), piece = std::min<size_t>(size, 64);
    for (const size_t begin : {size_t{0}, (size - piece) / 2, size - piece})
        hash = fnv1a(static_cast<const uint8_t*>(tensor.data) + begin, piece, hash);
    return hash;
}

}  // namespace powerinfer
