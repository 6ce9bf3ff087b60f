// How much memory the machine has to spare.
#pragma once

#include <cstdint>

namespace powerinfer {

/// Bytes that could be taken without making the system swap, file pages that it would drop included; 0 where it does
/// not say.
uint64_t available_memory();

}  // namespace powerinfer
