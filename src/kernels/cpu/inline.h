// How kernel files ask for a function to be inlined whatever its size: called, it would move vectors through
// memory.
#pragma once

#define KERNEL_INLINE __attribute__((always_inline)) inline
