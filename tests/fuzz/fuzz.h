// What all fuzz targets share: errors of the outside are fine, everything else is a find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"

namespace powerinfer::fuzz {

/// Runs f and swallows powerinfer::Error, except `internal`, which says that the library found itself wrong.
template <class F>
void expect_error_or_success(F&& f) {
    try {
        f();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw;
    }
}

/// Reads the first and the last byte, so that a view outside its memory is seen by AddressSanitizer.
inline void touch(const void* data, size_t size) {
    if (size == 0) return;
    const auto* bytes = static_cast<const volatile uint8_t*>(data);
    (void)bytes[0];
    (void)bytes[size - 1];
}

}  // namespace powerinfer::fuzz
