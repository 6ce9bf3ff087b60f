// How the rows of each quantised format become byte codes with one row per 32-bit lane. The bit twiddling is
// the same on every instruction set; V (LanesAvx2, LanesAvx512) supplies the vectors. Layouts:
// quant/blocks_*.h.
//
// A format says: kBytes per block; kMaxCode, the largest unsigned code; kZero, the code that stands for 0;
// kHasMin. Formats of 32 elements give codes (dword g of a row holds elements 4g .. 4g + 3), a scale and
// perhaps a minimum:
//   x[i] = scale * (code[i] - kZero) + min.
// Formats of 256 elements give codes, a small whole scale and minimum per kGroup elements, and two floats:
//   x[i] = d * scale[i / kGroup] * (code[i] - kZero) - dmin * min[i / kGroup].
// For files compiled for one instruction set only, hence the anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/blocks_k.h"
#include "quant/blocks_legacy.h"
#include "quant/blocks_table.h"
#include "quant/blocks_ternary.h"

namespace powerinfer::kernels {
namespace {

constexpr int32_t bytes_of(int byte) {
    return static_cast<int32_t>(0x01010101u * static_cast<uint32_t>(byte));
}

/// Sixteen bytes of nibbles per row: four dwords from the low halves, four from the high ones.
template <class V>
void split_nibbles(const uint8_t* const* row, size_t at, typename V::I* low, typename V::I* high) {
    typename V::I z[4];
    V::load_16_bytes(row, at, z);
    for (int g = 0; g < 4; ++g) {
        low[g] = V::and_(z[g], V::set(bytes_of(15)));
        high[g] = V::and_(V::template shr<4>(z[g]), V::set(bytes_of(15)));
    }
}

/// Adds 16 to the bytes of code[0..7] whose bit is set in the per-row dword `bits` (bit i belongs to byte i).
template <class V>
void add_fifth_bits(typename V::I bits, typename V::I* code) {
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
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneQ4_1 {
    using Block = quant::BlockQ4_1;
    static constexpr int kMaxCode = 15, kZero = 0;
    static constexpr bool kHasMin = true;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
    template <class V>
    static typename V::F min(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at + offsetof(Block, m));
    }
};

struct LaneQ5_0 {
    using Block = quant::BlockQ5_0;
    static constexpr int kMaxCode = 31, kZero = 16;
    static constexpr bool kHasMin = false;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
        add_fifth_bits<V>(V::load_dword(row, at + offsetof(Block, qh)), code);
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneQ5_1 {
    using Block = quant::BlockQ5_1;
    static constexpr int kMaxCode = 31, kZero = 0;
    static constexpr bool kHasMin = true;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        split_nibbles<V>(row, at + offsetof(Block, qs), code, code + 4);
        add_fifth_bits<V>(V::load_dword(row, at + offsetof(Block, qh)), code);
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
    template <class V>
    static typename V::F min(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at + offsetof(Block, m));
    }
};

struct LaneQ8_0 {
    using Block = quant::BlockQ8_0;
    static constexpr int kMaxCode = 255, kZero = 128;
    static constexpr bool kHasMin = false;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        V::load_16_bytes(row, at + offsetof(Block, qs), code);
        V::load_16_bytes(row, at + offsetof(Block, qs) + 16, code + 4);
        for (int g = 0; g < 8; ++g) code[g] = V::xor_(code[g], V::set(bytes_of(0x80)));
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
};

/// Codes of a table of signed values plus `kZero`, which makes them unsigned.
template <class V, int kZero>
void look_up_nibbles(const int8_t* table, const uint8_t* const* row, size_t at, typename V::I* code) {
    split_nibbles<V>(row, at, code, code + 4);
    for (int g = 0; g < 8; ++g) code[g] = V::add8(V::look_up(table, code[g]), V::set(bytes_of(kZero)));
}

struct LaneIQ4_NL {
    using Block = quant::BlockIQ4_NL;
    static constexpr int kMaxCode = 255, kZero = 128;
    static constexpr bool kHasMin = false;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        look_up_nibbles<V, kZero>(quant::kIq4Table, row, at + offsetof(Block, qs), code);
    }
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        return V::load_half(row, at);
    }
};

struct LaneMXFP4 {
    using Block = quant::BlockMXFP4;
    static constexpr int kMaxCode = 24, kZero = 12;
    static constexpr bool kHasMin = false;
    template <class V>
    static void codes(const uint8_t* const* row, size_t at, typename V::I* code) {
        look_up_nibbles<V, kZero>(quant::kMxfp4Table, row, at + offsetof(Block, qs), code);
    }
    /// 2^(e - 128) as the product of two powers, because the smallest are subnormal.
    template <class V>
    static typename V::F scale(const uint8_t* const* row, size_t at) {
        const auto e = V::load_byte(row, at);
        const auto half = V::template shr<1>(e);
        const auto rest = V::sub(e, half);
        return V::mul(V::as_float(V::template shl<23>(V::add(half, V::set(63)))),
                      V::as_float(V::template shl<23>(V::add(rest, V::set(63)))));
    }
};

/// One block of 256 elements of every row, as unpacked by the formats below.
template <class V>
struct Unpacked256 {
    typename V::I code[64];
    typename V::I scale[16];  ///< int32; 256 / kGroup of them
    typename V::I min[16];    ///< int32; likewise, with kHasMin
    typename V::F d, dmin;
};

/// Byte j of every lane as a number.
template <class V, int j>
typename V::I byte_of(typename V::I x) {
    return V::and_(V::template shr<8 * j>(x), V::set(255));
}

/// out[4q + j] = byte j of z[q].
template <class V>
void spread_bytes(typename V::I z, typename V::I* out) {
    out[0] = byte_of<V, 0>(z);
    out[1] = byte_of<V, 1>(z);
    out[2] = byte_of<V, 2>(z);
    out[3] = byte_of<V, 3>(z);
}

/// The 2-bit fields of 64 bytes in the order of Q2_K, Q3_K and TQ2_0.
template <class V>
void two_bit_codes(const uint8_t* const* row, size_t at, typename V::I* code) {
    for (int half = 0; half < 2; ++half) {
        typename V::I z[8];
        V::load_16_bytes(row, at + static_cast<size_t>(32 * half), z);
        V::load_16_bytes(row, at + static_cast<size_t>(32 * half + 16), z + 4);
        for (int j = 0; j < 4; ++j) {
            for (int g = 0; g < 8; ++g) {
                code[32 * half + 8 * j + g] = V::and_(z[g], V::set(bytes_of(3)));
                z[g] = V::template shr<2>(z[g]);
            }
        }
    }
}

/// code[8g + i] |= bit g of byte l of `at`, moved to bit kBit, for the eight groups g of 32.
template <class V, int kBit>
void add_group_bits(const uint8_t* const* row, size_t at, typename V::I* code) {
    typename V::I h[8];
    V::load_16_bytes(row, at, h);
    V::load_16_bytes(row, at + 16, h + 4);
    for (int g = 0; g < 8; ++g) {
        for (int i = 0; i < 8; ++i) {
            const auto bit = V::and_(h[i], V::set(bytes_of(1)));
            code[8 * g + i] = V::or_(code[8 * g + i], V::template shl<kBit>(bit));
            h[i] = V::template shr<1>(h[i]);
        }
    }
}

/// The nibbles of 128 bytes in the order of Q4_K and Q5_K.
template <class V>
void nibble_codes_256(const uint8_t* const* row, size_t at, typename V::I* code) {
    for (int run = 0; run < 4; ++run) {
        for (int h = 0; h < 2; ++h) {
            typename V::I* to = code + 16 * run + 4 * h;
            split_nibbles<V>(row, at + static_cast<size_t>(32 * run + 16 * h), to, to + 8);
        }
    }
}

/// The 6-bit scales and minima of Q4_K and Q5_K, and the two floats before them.
template <class V>
void scales_q4_k(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
    u.d = V::load_half(row, at);
    u.dmin = V::load_half(row, at + 2);
    typename V::I z[4];  // [d dmin][s0..3][s4..7][s8..11]
    V::load_16_bytes(row, at, z);
    const auto low6 = V::set(bytes_of(63)), low4 = V::set(bytes_of(15)), high2 = V::set(bytes_of(0x30));
    spread_bytes<V>(V::and_(z[1], low6), u.scale);
    spread_bytes<V>(V::and_(z[2], low6), u.min);
    spread_bytes<V>(V::or_(V::and_(z[3], low4), V::and_(V::template shr<2>(z[1]), high2)), u.scale + 4);
    spread_bytes<V>(V::or_(V::and_(V::template shr<4>(z[3]), low4), V::and_(V::template shr<2>(z[2]), high2)),
                    u.min + 4);
}

struct LaneQ2_K {
    using Block = quant::BlockQ2_K;
    static constexpr int kMaxCode = 3, kZero = 0, kGroup = 16;
    static constexpr bool kHasMin = true;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        two_bit_codes<V>(row, at + offsetof(Block, qs), u.code);
        typename V::I z[4];
        V::load_16_bytes(row, at + offsetof(Block, scales), z);
        for (int q = 0; q < 4; ++q) {
            spread_bytes<V>(V::and_(z[q], V::set(bytes_of(15))), u.scale + 4 * q);
            spread_bytes<V>(V::and_(V::template shr<4>(z[q]), V::set(bytes_of(15))), u.min + 4 * q);
        }
        u.d = V::load_half(row, at + offsetof(Block, d));
        u.dmin = V::load_half(row, at + offsetof(Block, dmin));
    }
};

struct LaneQ3_K {
    using Block = quant::BlockQ3_K;
    static constexpr int kMaxCode = 7, kZero = 4, kGroup = 16;
    static constexpr bool kHasMin = false;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        two_bit_codes<V>(row, at + offsetof(Block, qs), u.code);
        add_group_bits<V, 2>(row, at + offsetof(Block, hmask), u.code);
        const auto low4 = V::set(bytes_of(15)), up2 = V::set(bytes_of(0x30));
        const auto s0 = V::load_dword(row, at + offsetof(Block, scales));
        const auto s1 = V::load_dword(row, at + offsetof(Block, scales) + 4);
        const auto s2 = V::load_dword(row, at + offsetof(Block, scales) + 8);
        const auto high = [](auto x) { return V::template shr<4>(x); };
        spread_bytes<V>(V::or_(V::and_(s0, low4), V::and_(V::template shl<4>(s2), up2)), u.scale);
        spread_bytes<V>(V::or_(V::and_(s1, low4), V::and_(V::template shl<2>(s2), up2)), u.scale + 4);
        spread_bytes<V>(V::or_(V::and_(high(s0), low4), V::and_(s2, up2)), u.scale + 8);
        spread_bytes<V>(V::or_(V::and_(high(s1), low4), V::and_(V::template shr<2>(s2), up2)), u.scale + 12);
        for (int k = 0; k < 16; ++k) u.scale[k] = V::sub(u.scale[k], V::set(32));
        u.d = V::load_half(row, at + offsetof(Block, d));
    }
};

struct LaneQ4_K {
    using Block = quant::BlockQ4_K;
    static constexpr int kMaxCode = 15, kZero = 0, kGroup = 32;
    static constexpr bool kHasMin = true;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        nibble_codes_256<V>(row, at + offsetof(Block, qs), u.code);
        scales_q4_k<V>(row, at, u);
    }
};

struct LaneQ5_K {
    using Block = quant::BlockQ5_K;
    static constexpr int kMaxCode = 31, kZero = 0, kGroup = 32;
    static constexpr bool kHasMin = true;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        nibble_codes_256<V>(row, at + offsetof(Block, qs), u.code);
        add_group_bits<V, 4>(row, at + offsetof(Block, qh), u.code);
        scales_q4_k<V>(row, at, u);
    }
};

struct LaneQ6_K {
    using Block = quant::BlockQ6_K;
    static constexpr int kMaxCode = 63, kZero = 32, kGroup = 16;
    static constexpr bool kHasMin = false;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        for (int half = 0; half < 2; ++half) {
            for (int h = 0; h < 2; ++h) {
                typename V::I up[4];  // four 2-bit fields per byte, for the quarters j = 0 .. 3
                V::load_16_bytes(row, at + offsetof(Block, qh) + static_cast<size_t>(32 * half + 16 * h), up);
                typename V::I* to = u.code + 32 * half + 4 * h;
                const size_t ql = at + static_cast<size_t>(64 * half + 16 * h);
                split_nibbles<V>(row, ql, to, to + 16);
                split_nibbles<V>(row, ql + 32, to + 8, to + 24);
                const auto mask = V::set(bytes_of(0x30));
                for (int g = 0; g < 4; ++g) {
                    to[g] = V::or_(to[g], V::and_(V::template shl<4>(up[g]), mask));
                    to[8 + g] = V::or_(to[8 + g], V::and_(V::template shl<2>(up[g]), mask));
                    to[16 + g] = V::or_(to[16 + g], V::and_(up[g], mask));
                    to[24 + g] = V::or_(to[24 + g], V::and_(V::template shr<2>(up[g]), mask));
                }
            }
        }
        typename V::I z[4];
        V::load_16_bytes(row, at + offsetof(Block, scales), z);
        for (int q = 0; q < 4; ++q)  // signed bytes, by way of unsigned ones 128 larger
            spread_bytes<V>(V::xor_(z[q], V::set(bytes_of(0x80))), u.scale + 4 * q);
        for (int k = 0; k < 16; ++k) u.scale[k] = V::sub(u.scale[k], V::set(128));
        u.d = V::load_half(row, at + offsetof(Block, d));
    }
};

struct LaneIQ4_XS {
    using Block = quant::BlockIQ4_XS;
    static constexpr int kMaxCode = 255, kZero = 128, kGroup = 32;
    static constexpr bool kHasMin = false;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        typename V::I z[4];  // [d scales_h][scales_l] ...
        V::load_16_bytes(row, at, z);
        auto high = V::template shr<16>(z[0]), low = z[1];
        for (int g = 0; g < 8; ++g) {
            const auto up = V::and_(V::template shl<4>(high), V::set(0x30));
            u.scale[g] = V::sub(V::or_(V::and_(low, V::set(15)), up), V::set(32));
            high = V::template shr<2>(high);
            low = V::template shr<4>(low);
            const size_t qs = at + offsetof(Block, qs) + static_cast<size_t>(16 * g);
            look_up_nibbles<V, kZero>(quant::kIq4Table, row, qs, u.code + 8 * g);
        }
        u.d = V::load_half(row, at);
    }
};

struct LaneTQ2_0 {
    using Block = quant::BlockTQ2_0;
    static constexpr int kMaxCode = 3, kZero = 1, kGroup = 32;
    static constexpr bool kHasMin = false;
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        two_bit_codes<V>(row, at + offsetof(Block, qs), u.code);
        for (int g = 0; g < 8; ++g) u.scale[g] = V::set(1);
        u.d = V::load_half(row, at + offsetof(Block, d));
    }
};

struct LaneTQ1_0 {
    using Block = quant::BlockTQ1_0;
    static constexpr int kMaxCode = 2, kZero = 1, kGroup = 32;
    static constexpr bool kHasMin = false;

    /// code[step * n] = digit n of every byte of z, for kDigits digits: the byte is a fraction of 256, and
    /// each multiplication by 3 moves the next digit above the top. Two bytes per dword at a time, in 16 bits
    /// each.
    template <class V, int kDigits>
    static void digits(typename V::I z, typename V::I* code, int step) {
        const auto bytes = V::set(0x00FF00FF), three = V::set(0x00030003);
        auto even = V::and_(z, bytes), odd = V::and_(V::template shr<8>(z), bytes);
        for (int n = 0; n < kDigits; ++n) {
            even = V::mul16(even, three);
            odd = V::mul16(odd, three);
            code[step * n] = V::or_(V::template shr16<8>(even), V::and_(odd, V::set(int32_t(0xFF00FF00))));
            even = V::and_(even, bytes);
            odd = V::and_(odd, bytes);
        }
    }
    template <class V>
    static void unpack(const uint8_t* const* row, size_t at, Unpacked256<V>& u) {
        typename V::I z[4];
        for (int h = 0; h < 2; ++h) {
            V::load_16_bytes(row, at + static_cast<size_t>(16 * h), z);
            for (int g = 0; g < 4; ++g) digits<V, 5>(z[g], u.code + 4 * h + g, 8);
        }
        V::load_16_bytes(row, at + 32, z);
        for (int g = 0; g < 4; ++g) digits<V, 5>(z[g], u.code + 40 + g, 4);
        digits<V, 4>(V::load_dword(row, at + offsetof(Block, qh)), u.code + 60, 1);
        for (int g = 0; g < 8; ++g) u.scale[g] = V::set(1);
        u.d = V::load_half(row, at + offsetof(Block, d));
    }
};

}  // namespace
}  // namespace powerinfer::kernels
