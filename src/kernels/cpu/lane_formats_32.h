// How rows of the formats with blocks of 32 elements become byte codes with one row per 32-bit lane. The bit
// twiddling is the same on every instruction set; V (LanesAvx2, LanesAvx512) supplies the vectors. Layouts:
// quant/blocks_*.h.
//
// A format says: kMaxCode, the largest unsigned code; kZero, the code that stands for 0; kHasMin; and gives
// codes (dword g of a row holds elements 4g .. 4g + 3), a scale and perhaps a minimum:
//   x[i] = scale * (code[i] - kZero) + min.
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/inline.h"
#include "quant/blocks_legacy.h"
#include "quant/blocks_table.h"

namespace powerinfer::kernels {
namespace {

constexpr int32_t bytes_of(int byte) {
    return static_cast<int32_t>(0x01010101u * static_cast<uint32_t>(byte));
}

/// Sixteen bytes of nibbles per row: four dwords from the low halves, four from the high ones.
template <class V, class Rows>
KERNEL_INLINE void split_nibbles(const Rows& row, size_t at, typename V::I* low, typename V::I* high) {
    typename V::I z[4];
    V::load_16_bytes(row, at, z);
    for (int g = 0; g < 4; ++g) {
        low[g] = V::and_(z[g], V::set(bytes_of(15)));
        high[g] = V::and_(V::template shr<4>(z[g]), V::set(bytes_of(15)));
    }
}

/// Adds 16 to the bytes of code[0..7] whose bit is set in the per-row dword `bits` (bit i belongs to byte i).
template <class V>
KERNEL_INLINE void add_fifth_bits(typename V::I bits, typename V::I* code) {
    for (int g = 0; g < 8; ++g) {
        // Multiplying four bits by 1 + 2^7 + 2^14 + 2^21 leaves bit i in bit 8i; here all is shifted up by 4.
        const auto four = V::and_(bits, V::set(15));
        const auto spread = V::mul(four, V::set(0x00204081 << 4));
        code[g] = V::or_(code[g], V::and_(spread, V::set(bytes_of(16))));
        bits = V::template shr<4>(bits);
    }
}

struct LaneQ4_0 {
    using Block = quant::BlockQ4_0;
    static constexpr int kMaxCode = 15, kZero = 8;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneQ4_1 {
    using Block = quant::BlockQ4_1;
    static constexpr int kMaxCode = 15, kZero = 0;
    static constexpr bool kHasMin = true;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F min(const Rows& row, size_t at) {
        return V::load_half(row, at + offsetof(Block, m));
    }
};

struct LaneQ5_0 {
    using Block = quant::BlockQ5_0;
    static constexpr int kMaxCode = 31, kZero = 16;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
        add_fifth_bits<V>(V::load_dword(row, at + offsetof(Block, qh)), code);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneQ5_1 {
    using Block = quant::BlockQ5_1;
    static constexpr int kMaxCode = 31, kZero = 0;
    static constexpr bool kHasMin = true;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
        add_fifth_bits<V>(V::load_dword(row, at + offsetof(Block, qh)), code);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F min(const Rows& row, size_t at) {
        return V::load_half(row, at + offsetof(Block, m));
    }
};

struct LaneQ8_0 {
    using Block = quant::BlockQ8_0;
    static constexpr int kMaxCode = 255, kZero = 128;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        V::load_16_bytes(row, at + offsetof(Block, qs), code);
        V::load_16_bytes(row, at + offsetof(Block, qs) + 16, code + 4);
        for (int g = 0; g < 8; ++g) code[g] = V::xor_(code[g], V::set(bytes_of(0x80)));
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
};

/// Codes of a table of signed values plus `kZero`, which makes them unsigned.
template <class V, int kZero, class Rows>
KERNEL_INLINE void look_up_nibbles(const int8_t* table, const Rows& row, size_t at, typename V::I* code) {
    split_nibbles<V>(row, at, code, code + 4);
    for (int g = 0; g < 8; ++g) code[g] = V::add8(V::look_up(table, code[g]), V::set(bytes_of(kZero)));
}

struct LaneIQ4_NL {
    using Block = quant::BlockIQ4_NL;
    static constexpr int kMaxCode = 255, kZero = 128;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        look_up_nibbles<V, kZero>(quant::kIq4Table, row, at + offsetof(Block, qs), code);
    }
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneMXFP4 {
    using Block = quant::BlockMXFP4;
    static constexpr int kMaxCode = 24, kZero = 12;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, typename V::I* code) {
        look_up_nibbles<V, kZero>(quant::kMxfp4Table, row, at + offsetof(Block, qs), code);
    }
    /// 2^(e - 128) as the product of two powers, because the smallest are subnormal.
    template <class V, class Rows>
    KERNEL_INLINE static typename V::F scale(const Rows& row, size_t at) {
        const auto e = V::load_byte(row, at);
        const auto half = V::template shr<1>(e);
        const auto rest = V::sub(e, half);
        return V::mul(V::as_float(V::template shl<23>(V::add(half, V::set(63)))),
                      V::as_float(V::template shl<23>(V::add(rest, V::set(63)))));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
