// How sixteen stored numbers become floats: F32, F16 and BF16.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include <cstdint>

namespace powerinfer::kernels {
namespace {

struct ElementF32 {
    using Stored = float;
    template <class W>
    static typename W::F load(const float* p) {
        return W::load(p);
    }
    template <class W>
    static typename W::F load(const float* p, int count) {
        return W::load(p, count);
    }
};

struct ElementF16 {
    using Stored = uint16_t;
    template <class W>
    static typename W::F load(const uint16_t* p) {
        return W::load_f16(p);
    }
    template <class W>
    static typename W::F load(const uint16_t* p, int count) {
        return W::load_f16(p, count);
    }
};

struct ElementBF16 {
    using Stored = uint16_t;
    template <class W>
    static typename W::F load(const uint16_t* p) {
        return W::load_bf16(p);
    }
    template <class W>
    static typename W::F load(const uint16_t* p, int count) {
        return W::load_bf16(p, count);
    }
};

}  // namespace
}  // namespace powerinfer::kernels
