#include "quant/activation_q8.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace powerinfer::quant {
namespace {

size_t round_up_64(size_t n) {
    return (n + 63) / 64 * 64;
}

/// Encodes one block; returns its scale. Rounding follows the current mode, which is nearest-even.
float encode_block(const float* x, int8_t* q, int64_t n) {
    uint32_t amax_bits =
        0;  // of non-negative floats, the larger number has the larger bits; NaN lies above all
    for (int64_t i = 0; i < n; ++i)
        amax_bits = std::max(amax_bits, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu);
    const auto amax = std::bit_cast<float>(amax_bits);
    if (!(amax >= kSmallestQ8Max && std::isfinite(amax))) {
        std::memset(q, 0, static_cast<size_t>(n));
        return std::isfinite(amax) ? 0 : std::numeric_limits<float>::quiet_NaN();
    }
    const float inverse = 127.0f / amax;
    for (int64_t i = 0; i < n; ++i) q[i] = static_cast<int8_t>(std::nearbyintf(x[i] * inverse));
    return amax / 127.0f;
}

}  // namespace

Q8Parts q8_parts(ActivationEncoding encoding, int64_t n) {
    const auto count = static_cast<size_t>(n);
    const size_t q = round_up_64(count);
    const size_t blocks = count / (encoding == ActivationEncoding::q8_32 ? 32 : 256);
    return {q, q + round_up_64(blocks * sizeof(float))};
}

size_t activation_bytes(ActivationEncoding encoding, int64_t n) {
    const auto count = static_cast<size_t>(n);
    switch (encoding) {
        case ActivationEncoding::f32:
            return round_up_64(count * sizeof(float));
        case ActivationEncoding::q8_32:
            return q8_parts(encoding, n).sum + round_up_64(count / 32 * sizeof(int32_t));
        case ActivationEncoding::q8_256:
            return q8_parts(encoding, n).sum + round_up_64(count / 16 * sizeof(int16_t));
    }
    return 0;
}

void encode_activation(ActivationEncoding encoding, const float* x, void* dst, int64_t n) {
    if (encoding == ActivationEncoding::f32) {
        std::memcpy(dst, x, static_cast<size_t>(n) * sizeof(float));
        return;
    }
    const int64_t block = encoding == ActivationEncoding::q8_32 ? 32 : 256;
    assert(n % block == 0);
    const Q8Parts parts = q8_parts(encoding, n);
    auto* bytes = static_cast<uint8_t*>(dst);
    auto* q = reinterpret_cast<int8_t*>(bytes);
    auto* d = reinterpret_cast<float*>(bytes + parts.d);
    for (int64_t b = 0; b < n / block; ++b) {
        d[b] = encode_block(x + b * block, q + b * block, block);
        if (encoding == ActivationEncoding::q8_32) {
            int sum = 0;
            for (int64_t i = 0; i < block; ++i) sum += q[b * block + i];
            reinterpret_cast<int32_t*>(bytes + parts.sum)[b] = sum;
        } else {
            for (int64_t k = 0; k < 16; ++k) {
                int sum = 0;
                for (int64_t i = 0; i < 16; ++i) sum += q[b * block + 16 * k + i];
                reinterpret_cast<int16_t*>(bytes + parts.sum)[b * 16 + k] = static_cast<int16_t>(sum);
            }
        }
    }
}

void decode_activation(ActivationEncoding encoding, const void* src, float* x, int64_t n) {
    if (encoding == ActivationEncoding::f32) {
        std::memcpy(x, src, static_cast<size_t>(n) * sizeof(float));
        return;
    }
    const int64_t block = encoding == ActivationEncoding::q8_32 ? 32 : 256;
    const auto* bytes = static_cast<const uint8_t*>(src);
    const auto* q = reinterpret_cast<const int8_t*>(bytes);
    const auto* d = reinterpret_cast<const float*>(bytes + q8_parts(encoding, n).d);
    for (int64_t i = 0; i < n; ++i) x[i] = d[i / block] * static_cast<float>(q[i]);
}

}  // namespace powerinfer::quant
