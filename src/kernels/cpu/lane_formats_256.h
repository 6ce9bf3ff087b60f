// How rows of the formats with blocks of 256 elements become byte codes with one row per 32-bit lane. As for
// lane_formats_32.h, V supplies the vectors. Layouts: quant/blocks_*.h.
//
// A format says: kMaxCode, the largest unsigned code; kZero, the code that stands for 0; kGroup, the elements
// that share a small whole scale (16 or 32); kScaleZero, the scale byte that stands for 0; kHasMin; and
//   x[i] = d * (scale[i / kGroup] - kScaleZero) * (code[i] - kZero) - dmin * min[i / kGroup].
// It gives the scales (and minima) as bytes, and the codes in pieces to a function emit(Piece<n, first>,
// codes): n dwords that hold the elements 4 first .. 4 (first + n) - 1. So one user multiplies pieces while
// they are in registers and another stores them. For files compiled for one instruction set only, hence the
// anonymous namespace.
#pragma once

#include "kernels/cpu/lane_formats_32.h"
#include "quant/blocks_k.h"
#include "quant/blocks_ternary.h"

namespace powerinfer::kernels {
namespace {

/// Scale k of a row is byte k % 4 of scale[k / 4]; likewise for the minima.
template <class V>
struct Scales256 {
    typename V::I scale[4], min[4];
    typename V::F d, dmin;
};

template <int n, int first>
struct Piece {};

/// Two groups of 32 from the nibbles of 32 bytes, in the order of Q4_K and Q5_K.
template <class V, int run, class Rows>
KERNEL_INLINE void nibble_run(const Rows& row, size_t at, typename V::I* low, typename V::I* high) {
    split_nibbles<V>(row, at + 32 * run, low, high);
    split_nibbles<V>(row, at + 32 * run + 16, low + 4, high + 4);
}

/// Sets bit kBit of the codes whose byte in h has its lowest bit set, and moves h on to its next bit.
template <class V, int kBit>
KERNEL_INLINE void add_group_bit(typename V::I* h, typename V::I* code) {
    for (int i = 0; i < 8; ++i) {
        code[i] = V::or_(code[i], V::template shl<kBit>(V::and_(h[i], V::set(bytes_of(1)))));
        h[i] = V::template shr<1>(h[i]);
    }
}

/// The next 2-bit field of every byte, which z is moved past.
template <class V>
KERNEL_INLINE void next_two_bits(typename V::I* z, typename V::I* code) {
    for (int i = 0; i < 8; ++i) {
        code[i] = V::and_(z[i], V::set(bytes_of(3)));
        z[i] = V::template shr<2>(z[i]);
    }
}

template <class V, class Rows>
KERNEL_INLINE void load_32_bytes(const Rows& row, size_t at, typename V::I* z) {
    V::load_16_bytes(row, at, z);
    V::load_16_bytes(row, at + 16, z + 4);
}

/// The 6-bit scales and minima of Q4_K and Q5_K, and the two floats before them.
template <class V, class Rows>
KERNEL_INLINE void scales_q4_k(const Rows& row, size_t at, Scales256<V>& s) {
    typename V::I z[4];  // [d dmin][s0..3][s4..7][s8..11]
    V::load_16_bytes(row, at, z);
    s.d = V::low_half(z[0]);
    s.dmin = V::high_half(z[0]);
    const auto low6 = V::set(bytes_of(63)), low4 = V::set(bytes_of(15)), high2 = V::set(bytes_of(0x30));
    s.scale[0] = V::and_(z[1], low6);
    s.min[0] = V::and_(z[2], low6);
    s.scale[1] = V::or_(V::and_(z[3], low4), V::and_(V::template shr<2>(z[1]), high2));
    s.min[1] = V::or_(V::and_(V::template shr<4>(z[3]), low4), V::and_(V::template shr<2>(z[2]), high2));
}

struct LaneQ2_K {
    using Block = quant::BlockQ2_K;
    static constexpr int kMaxCode = 3, kZero = 0, kGroup = 16, kScaleZero = 0;
    static constexpr bool kHasMin = true;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        typename V::I z[4];
        V::load_16_bytes(row, at + offsetof(Block, scales), z);
        for (int q = 0; q < 4; ++q) {
            s.scale[q] = V::and_(z[q], V::set(bytes_of(15)));
            s.min[q] = V::and_(V::template shr<4>(z[q]), V::set(bytes_of(15)));
        }
        const auto both = V::load_dword(row, at + offsetof(Block, d));
        s.d = V::low_half(both);
        s.dmin = V::high_half(both);
    }
    template <class V, int half, class Rows, class Emit>
    KERNEL_INLINE static void half_codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I z[8], code[8];
        load_32_bytes<V>(row, at + 32 * half, z);
        next_two_bits<V>(z, code);
        emit(Piece<8, 32 * half>(), code);
        next_two_bits<V>(z, code);
        emit(Piece<8, 32 * half + 8>(), code);
        next_two_bits<V>(z, code);
        emit(Piece<8, 32 * half + 16>(), code);
        next_two_bits<V>(z, code);
        emit(Piece<8, 32 * half + 24>(), code);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        half_codes<V, 0>(row, at + offsetof(Block, qs), emit);
        half_codes<V, 1>(row, at + offsetof(Block, qs), emit);
    }
};

struct LaneQ3_K {
    using Block = quant::BlockQ3_K;
    static constexpr int kMaxCode = 7, kZero = 4, kGroup = 16, kScaleZero = 32;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        const auto low4 = V::set(bytes_of(15)), up2 = V::set(bytes_of(0x30));
        const auto s0 = V::load_dword(row, at + offsetof(Block, scales));
        const auto s1 = V::load_dword(row, at + offsetof(Block, scales) + 4);
        const auto s2 = V::load_dword(row, at + offsetof(Block, scales) + 8);
        const auto h0 = V::template shr<4>(s0), h1 = V::template shr<4>(s1);
        s.scale[0] = V::or_(V::and_(s0, low4), V::and_(V::template shl<4>(s2), up2));
        s.scale[1] = V::or_(V::and_(s1, low4), V::and_(V::template shl<2>(s2), up2));
        s.scale[2] = V::or_(V::and_(h0, low4), V::and_(s2, up2));
        s.scale[3] = V::or_(V::and_(h1, low4), V::and_(V::template shr<2>(s2), up2));
        s.d = V::load_half(row, at + offsetof(Block, d));
    }
    template <class V, int half, class Rows, class Emit>
    KERNEL_INLINE static void half_codes(const Rows& row, size_t at, typename V::I* h, Emit& emit) {
        typename V::I z[8], code[8];
        load_32_bytes<V>(row, at + offsetof(Block, qs) + 32 * half, z);
        next_two_bits<V>(z, code);
        add_group_bit<V, 2>(h, code);
        emit(Piece<8, 32 * half>(), code);
        next_two_bits<V>(z, code);
        add_group_bit<V, 2>(h, code);
        emit(Piece<8, 32 * half + 8>(), code);
        next_two_bits<V>(z, code);
        add_group_bit<V, 2>(h, code);
        emit(Piece<8, 32 * half + 16>(), code);
        next_two_bits<V>(z, code);
        add_group_bit<V, 2>(h, code);
        emit(Piece<8, 32 * half + 24>(), code);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I h[8];
        load_32_bytes<V>(row, at + offsetof(Block, hmask), h);
        half_codes<V, 0>(row, at, h, emit);
        half_codes<V, 1>(row, at, h, emit);
    }
};

struct LaneQ4_K {
    using Block = quant::BlockQ4_K;
    static constexpr int kMaxCode = 15, kZero = 0, kGroup = 32, kScaleZero = 0;
    static constexpr bool kHasMin = true;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        scales_q4_k<V>(row, at, s);
    }
    template <class V, int run, class Rows, class Emit>
    KERNEL_INLINE static void run_codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I low[8], high[8];
        nibble_run<V, run>(row, at + offsetof(Block, qs), low, high);
        emit(Piece<8, 16 * run>(), low);
        emit(Piece<8, 16 * run + 8>(), high);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        run_codes<V, 0>(row, at, emit);
        run_codes<V, 1>(row, at, emit);
        run_codes<V, 2>(row, at, emit);
        run_codes<V, 3>(row, at, emit);
    }
};

struct LaneQ5_K {
    using Block = quant::BlockQ5_K;
    static constexpr int kMaxCode = 31, kZero = 0, kGroup = 32, kScaleZero = 0;
    static constexpr bool kHasMin = true;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        scales_q4_k<V>(row, at, s);
    }
    template <class V, int run, class Rows, class Emit>
    KERNEL_INLINE static void run_codes(const Rows& row, size_t at, typename V::I* h, Emit& emit) {
        typename V::I low[8], high[8];
        nibble_run<V, run>(row, at + offsetof(Block, qs), low, high);
        add_group_bit<V, 4>(h, low);
        emit(Piece<8, 16 * run>(), low);
        add_group_bit<V, 4>(h, high);
        emit(Piece<8, 16 * run + 8>(), high);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I h[8];
        load_32_bytes<V>(row, at + offsetof(Block, qh), h);
        run_codes<V, 0>(row, at, h, emit);
        run_codes<V, 1>(row, at, h, emit);
        run_codes<V, 2>(row, at, h, emit);
        run_codes<V, 3>(row, at, h, emit);
    }
};

struct LaneQ6_K {
    using Block = quant::BlockQ6_K;
    static constexpr int kMaxCode = 63, kZero = 32, kGroup = 16, kScaleZero = 128;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        V::load_16_bytes(row, at + offsetof(Block, scales), s.scale);
        for (int q = 0; q < 4; ++q) s.scale[q] = V::xor_(s.scale[q], V::set(bytes_of(0x80)));
        s.d = V::load_half(row, at + offsetof(Block, d));
    }
    /// Sixteen elements of each of the four quarters of a half.
    template <class V, int half, int h, class Rows, class Emit>
    KERNEL_INLINE static void part_codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I up[4], a[4], b[4], c[4], d[4];
        V::load_16_bytes(row, at + offsetof(Block, qh) + 32 * half + 16 * h, up);
        split_nibbles<V>(row, at + 64 * half + 16 * h, a, c);
        split_nibbles<V>(row, at + 64 * half + 32 + 16 * h, b, d);
        const auto mask = V::set(bytes_of(0x30));
        for (int g = 0; g < 4; ++g) {
            a[g] = V::or_(a[g], V::and_(V::template shl<4>(up[g]), mask));
            b[g] = V::or_(b[g], V::and_(V::template shl<2>(up[g]), mask));
            c[g] = V::or_(c[g], V::and_(up[g], mask));
            d[g] = V::or_(d[g], V::and_(V::template shr<2>(up[g]), mask));
        }
        emit(Piece<4, 32 * half + 4 * h>(), a);
        emit(Piece<4, 32 * half + 4 * h + 8>(), b);
        emit(Piece<4, 32 * half + 4 * h + 16>(), c);
        emit(Piece<4, 32 * half + 4 * h + 24>(), d);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        part_codes<V, 0, 0>(row, at, emit);
        part_codes<V, 0, 1>(row, at, emit);
        part_codes<V, 1, 0>(row, at, emit);
        part_codes<V, 1, 1>(row, at, emit);
    }
};

struct LaneIQ4_XS {
    using Block = quant::BlockIQ4_XS;
    static constexpr int kMaxCode = 255, kZero = 128, kGroup = 32, kScaleZero = 32;
    static constexpr bool kHasMin = false;

    /// The four 2-bit fields of the lowest byte, each in bits 4 and 5 of a byte of its own.
    template <class V>
    KERNEL_INLINE static typename V::I spread_fields(typename V::I x) {
        const auto field = [](auto shifted, int at) { return V::and_(shifted, V::set(0x30 << at)); };
        return V::or_(V::or_(field(V::template shl<4>(x), 0), field(V::template shl<10>(x), 8)),
                      V::or_(field(V::template shl<16>(x), 16), field(V::template shl<22>(x), 24)));
    }
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        typename V::I z[4];  // [d scales_h][scales_l] ...
        V::load_16_bytes(row, at, z);
        const auto even = V::and_(z[1], V::set(bytes_of(15)));  // groups 0, 2, 4, 6
        const auto odd = V::and_(V::template shr<4>(z[1]), V::set(bytes_of(15)));
        s.scale[0] =
            V::or_(V::or_(V::template bytes<0, -1, 1, -1>(even), V::template bytes<-1, 0, -1, 1>(odd)),
                   spread_fields<V>(V::template shr<16>(z[0])));
        s.scale[1] =
            V::or_(V::or_(V::template bytes<2, -1, 3, -1>(even), V::template bytes<-1, 2, -1, 3>(odd)),
                   spread_fields<V>(V::template shr<24>(z[0])));
        s.d = V::low_half(z[0]);
    }
    template <class V, int g, class Rows, class Emit>
    KERNEL_INLINE static void group_codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I code[8];
        look_up_nibbles<V, kZero>(quant::kIq4Table, row, at + offsetof(Block, qs) + 16 * g, code);
        emit(Piece<8, 8 * g>(), code);
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        group_codes<V, 0>(row, at, emit);
        group_codes<V, 1>(row, at, emit);
        group_codes<V, 2>(row, at, emit);
        group_codes<V, 3>(row, at, emit);
        group_codes<V, 4>(row, at, emit);
        group_codes<V, 5>(row, at, emit);
        group_codes<V, 6>(row, at, emit);
        group_codes<V, 7>(row, at, emit);
    }
};

struct LaneTQ2_0 {
    using Block = quant::BlockTQ2_0;
    static constexpr int kMaxCode = 3, kZero = 1, kGroup = 32, kScaleZero = 0;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        s.scale[0] = s.scale[1] = V::set(bytes_of(1));
        s.d = V::load_half(row, at + offsetof(Block, d));
    }
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        LaneQ2_K::half_codes<V, 0>(row, at + offsetof(Block, qs), emit);
        LaneQ2_K::half_codes<V, 1>(row, at + offsetof(Block, qs), emit);
    }
};

struct LaneTQ1_0 {
    using Block = quant::BlockTQ1_0;
    static constexpr int kMaxCode = 2, kZero = 1, kGroup = 32, kScaleZero = 0;
    static constexpr bool kHasMin = false;
    template <class V, class Rows>
    KERNEL_INLINE static void scales(const Rows& row, size_t at, Scales256<V>& s) {
        s.scale[0] = s.scale[1] = V::set(bytes_of(1));
        s.d = V::load_half(row, at + offsetof(Block, d));
    }

    /// code[step * n] = digit n of every byte of z, for kDigits digits: the byte is a fraction of 256, and
    /// each multiplication by 3 moves the next digit above the top. Two bytes per dword at a time, in 16 bits
    /// each.
    template <class V, int kDigits>
    KERNEL_INLINE static void digits(typename V::I z, typename V::I* code, int step) {
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
    template <class V, class Rows, class Emit>
    KERNEL_INLINE static void codes(const Rows& row, size_t at, Emit& emit) {
        typename V::I z[8], code[64];
        load_32_bytes<V>(row, at, z);
        for (int g = 0; g < 8; ++g) digits<V, 5>(z[g], code + g, 8);
        V::load_16_bytes(row, at + 32, z);
        for (int g = 0; g < 4; ++g) digits<V, 5>(z[g], code + 40 + g, 4);
        digits<V, 4>(V::load_dword(row, at + offsetof(Block, qh)), code + 60, 1);
        emit(Piece<8, 0>(), code);
        emit(Piece<8, 8>(), code + 8);
        emit(Piece<8, 16>(), code + 16);
        emit(Piece<8, 24>(), code + 24);
        emit(Piece<8, 32>(), code + 32);
        emit(Piece<8, 40>(), code + 40);
        emit(Piece<8, 48>(), code + 48);
        emit(Piece<8, 56>(), code + 56);
    }
};

}  // namespace
}  // namespace powerinfer::kernels
