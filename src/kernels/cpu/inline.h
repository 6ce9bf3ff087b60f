// What kernel files ask of the compiler: to inline a function whatever its size (called, it would move vectors through
// memory), and to fetch a line ahead of its use.
#pragma once

#define KERNEL_INLINE __attribute__((always_inline)) inline

namespace powerinfer::kernels {
namespace {

/// Asks for the 64 bytes around p, up to the second-level cache only, which leaves the first one to what is in use.
[[maybe_unused]] KERNEL_INLINE void ask_for(const void* p) {
    __builtin_prefetch(p, 0, 2);
}
/// The same up to the first-level cache.
[[maybe_unused]] KERNEL_INLINE void ask_for_soon(const void* p) {
    __builtin_prefetch(p, 0, 3);
}

}  // namespace
}  // namespace powerinfer::kernels
