// A fingerprint of results, printed beside every speed so that a change of behaviour is visible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace powerinfer {

/// FNV-1a, 64 bits. Start with the default and pass the last result on to hash several pieces as one.
inline uint64_t fnv1a(const void* data, size_t size, uint64_t hash = 0xCBF29CE484222325u) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ p[i]) * 0x100000001B3u;
    return hash;
}

}  // namespace powerinfer
