#include "quant/lane_order.h"

#include <algorithm>
#include <cstring>

namespace powerinfer::quant {
namespace {

int64_t block_of(ActivationEncoding encoding) {
    return encoding == ActivationEncoding::q8_32 ? 32 : 256;
}

int64_t groups_of(ActivationEncoding encoding, int64_t n) {
    const int64_t values = kLaneBlocks * block_of(encoding);
    return (n + values - 1) / values;
}

/// dst[group][g][lane] = src[group * kLaneBlocks + lane][g], in dwords; lanes without a block get zeros.
void transpose(const uint8_t* src, uint8_t* dst, int64_t n_blocks, int64_t dwords) {
    for (int64_t first = 0; first < n_blocks; first += kLaneBlocks) {
        const int64_t count = std::min(kLaneBlocks, n_blocks - first);
        uint8_t* group = dst + first * dwords * 4;
        if (count < kLaneBlocks) std::memset(group, 0, static_cast<size_t>(kLaneBlocks * dwords * 4));
        for (int64_t lane = 0; lane < count; ++lane) {
            const uint8_t* block = src + (first + lane) * dwords * 4;
            for (int64_t g = 0; g < dwords; ++g) std::memcpy(group + (g * kLaneBlocks + lane) * 4, block + g * 4, 4);
        }
    }
}

}  // namespace

Q8Parts lane_order_parts(ActivationEncoding encoding, int64_t n) {
    const auto groups = static_cast<size_t>(groups_of(encoding, n));
    const auto q = groups * static_cast<size_t>(kLaneBlocks * block_of(encoding));
    return {q, q + groups * kLaneBlocks * sizeof(float)};
}

size_t lane_order_bytes(ActivationEncoding encoding, int64_t n) {
    const auto groups = static_cast<size_t>(groups_of(encoding, n));
    const size_t sums = encoding == ActivationEncoding::q8_32 ? sizeof(int32_t) : 16 * sizeof(int16_t);
    return lane_order_parts(encoding, n).sum + groups * kLaneBlocks * sums;
}

void to_lane_order(ActivationEncoding encoding, const void* src, void* dst, int64_t n) {
    const auto* from = static_cast<const uint8_t*>(src);
    auto* to = static_cast<uint8_t*>(dst);
    const int64_t n_blocks = n / block_of(encoding);
    const Q8Parts here = q8_parts(encoding, n), there = lane_order_parts(encoding, n);
    transpose(from, to, n_blocks, block_of(encoding) / 4);
    transpose(from + here.d, to + there.d, n_blocks, 1);
    transpose(from + here.sum, to + there.sum, n_blocks, encoding == ActivationEncoding::q8_32 ? 1 : 8);
}

}  // namespace powerinfer::quant
