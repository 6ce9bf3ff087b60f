// Where the lanes of a vector find their rows in a strip of interleaved rows (quant/interleave.h). For files
// compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include <cstdint>

namespace powerinfer::kernels {
namespace {

struct Strip {
    const uint8_t* base;
    int first = 0;  ///< row of the first lane
};

}  // namespace
}  // namespace powerinfer::kernels
