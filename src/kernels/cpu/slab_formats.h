// How slab_axpy.h reads each block format: the scales and minima of a row's blocks as floats, and the codes of two
// planes of bytes at a time. A step covers 32 * kLanes columns of a row: two planes of kLanes lanes of 16 columns that
// share a scale. Every format says
//   scales     of eight groups in a row, and their minima; `last` is the last block (for blocks of one group)
//   kGroup     columns per scale        kZero   x = scale * (code - kZero) + min, 0 <= code <= 255
//   column     where in its step a lane of a plane begins;   base   where a step begins
//   load       kRaw registers of a row's bytes for a step, lanes as in the planes
//   planes     bytes of those to codes; every byte by itself, so that rows may be interleaved before
//   kSecond    how planes() leaves the codes of the second plane
// Layouts: quant/blocks_*.h. W and Eight (eight_*.h) supply the vectors. For files compiled for one
// instruction set only, hence the anonymous namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/inline.h"
#include "quant/blocks_k.h"
#include "quant/blocks_legacy.h"
#include "quant/blocks_table.h"
#include "quant/blocks_ternary.h"

namespace powerinfer::kernels {
namespace {

/// Codes as they are, times 16, or times 16 plus the code of the first plane (where both planes share their scales).
enum class Second { as_is, times_16, plus_first };

/// The tables as unsigned codes: plus the zero of their format.
inline constexpr uint8_t kIq4Codes[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
inline constexpr uint8_t kMxfp4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

template <class W>
KERNEL_INLINE typename W::I low_nibbles(typename W::I x) {
    return W::and_(x, W::set8(15));
}
template <class W>
KERNEL_INLINE typename W::I high_nibbles(typename W::I x) {
    return W::and_(W::template shr16<4>(x), W::set8(15));
}

// ---- Scales -------------------------------------------------------------------------------------------------------

using Floats8 = Eight::F;

/// Eight bytes as floats.
KERNEL_INLINE Floats8 floats_8(uint64_t bytes) {
    return Eight::from_bytes(bytes);
}
KERNEL_INLINE uint64_t pair(uint32_t low, uint32_t high) {
    return low | static_cast<uint64_t>(high) << 32;
}
KERNEL_INLINE Floats8 half(uint16_t h) {
    return Eight::from_f16(h);
}
template <class T>
KERNEL_INLINE T read(const uint8_t* p) {
    T x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

/// Eight F16 numbers that lie `stride` bytes apart, those past the last one the last one again. 14 bytes behind each
/// can be read.
KERNEL_INLINE Floats8 halves_8(const uint8_t* p, int64_t stride, int64_t first, int64_t last) {
    const auto at = [&](int64_t i) __attribute__((always_inline)) {
        return p + (first + i < last ? first + i : last) * stride;
    };
    return Eight::from_f16(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
}
/// The same with a check less when there are eight.
KERNEL_INLINE Floats8 halves(const uint8_t* p, int64_t stride, int64_t unit, int64_t last) {
    const int64_t first = 8 * unit;
    return first + 7 <= last ? halves_8(p + first * stride, stride, 0, 7) : halves_8(p, stride, first, last);
}

/// The six-bit scales and minima of Q4_K and Q5_K.
template <class Block>
KERNEL_INLINE Floats8 scales_6(const Block& block, Floats8& min) {
    const auto a = read<uint32_t>(block.scales), b = read<uint32_t>(block.scales + 4);
    const auto c = read<uint32_t>(block.scales + 8);
    constexpr uint32_t k63 = 0x3F3F3F3F, k15 = 0x0F0F0F0F, k48 = 0x30303030;
    min = Eight::mul(Eight::minus(half(block.dmin)), floats_8(pair(b & k63, (c >> 4 & k15) | (b >> 2 & k48))));
    return Eight::mul(half(block.d), floats_8(pair(a & k63, (c & k15) | (a >> 2 & k48))));
}

// ---- Four bits and more: 32 elements, each with a scale of its own ----------------------------------------------------

/// Lane k: block k of the step. The first plane holds its elements 0 to 15, the second one 16 to 31.
template <class BlockType>
struct Nibbles32 {
    using Block = BlockType;
    static constexpr int kSize = 32, kGroup = 32;
    static constexpr bool kHasMin = false;
    static constexpr int kRaw = 1;
    static constexpr Second kSecond = Second::as_is;
    static constexpr int column(int /*lanes*/, int plane, int lane) { return 32 * lane + 16 * plane; }
    KERNEL_INLINE static int64_t base(int lanes, int64_t step) { return 32 * lanes * step; }

    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t last, Floats8&) {
        return halves(row, sizeof(Block), unit, last);
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t last_block, typename W::I raw[1]) {
        raw[0] = load_part<W>(row + offsetof(Block, qs), step, last_block);
    }
    /// 16 bytes from the same place of every block.
    template <class W>
    KERNEL_INLINE static typename W::I load_part(const uint8_t* first, int64_t step, int64_t last_block) {
        const uint8_t* lane[W::kLanes];
        for (int k = 0; k < W::kLanes; ++k) {
            const int64_t block = W::kLanes * step + k;
            lane[k] = first + (block < last_block ? block : last_block) * static_cast<int64_t>(sizeof(Block));
        }
        return W::load_lanes(lane);
    }
};

/// Both planes of a byte at once: the low halves, and the bytes as they are.
template <class Base>
struct PlainNibbles : Base {
    static constexpr Second kSecond = Second::plus_first;
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        first = low_nibbles<W>(raw[0]);
        second = raw[0];
    }
};

struct SlabQ4_0 : PlainNibbles<Nibbles32<quant::BlockQ4_0>> {
    static constexpr int kZero = 8;
};

struct SlabQ4_1 : PlainNibbles<Nibbles32<quant::BlockQ4_1>> {
    static constexpr int kZero = 0;
    static constexpr bool kHasMin = true;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t last, Floats8& min) {
        min = halves(row + offsetof(Block, m), sizeof(Block), unit, last);
        return halves(row, sizeof(Block), unit, last);
    }
};

template <class BlockType>
struct FifthBits32 : Nibbles32<BlockType> {
    static constexpr int kRaw = 2;
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t last_block, typename W::I raw[2]) {
        raw[0] = Nibbles32<BlockType>::template load_part<W>(row + offsetof(BlockType, qs), step, last_block);
        // Bits 0 to 15 of qh to bit 4 of their bytes, bits 16 to 31 to bit 5. qh lies right before qs.
        static_assert(offsetof(BlockType, qs) == offsetof(BlockType, qh) + 4);
        const auto from_qh =
            Nibbles32<BlockType>::template load_part<W>(row + offsetof(BlockType, qh), step, last_block);
        const auto own = W::repeat16(kOwnBit);
        const auto low = W::shuffle(from_qh, W::repeat16(kLowBytes));
        const auto high = W::shuffle(from_qh, W::repeat16(kHighBytes));
        raw[1] = W::or_(W::where(low, own, W::set8(16)), W::where(high, own, W::set8(32)));
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        const auto fifth = W::set8(16);
        first = W::or_(low_nibbles<W>(raw[0]), W::and_(raw[1], fifth));
        second = W::or_(high_nibbles<W>(raw[0]), W::and_(W::template shr16<1>(raw[1]), fifth));
    }
    static constexpr uint8_t kOwnBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    static constexpr uint8_t kLowBytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    static constexpr uint8_t kHighBytes[16] = {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
};

struct SlabQ5_0 : FifthBits32<quant::BlockQ5_0> {
    static constexpr int kZero = 16;
};

struct SlabQ5_1 : FifthBits32<quant::BlockQ5_1> {
    static constexpr int kZero = 0;
    static constexpr bool kHasMin = true;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t last, Floats8& min) {
        min = halves(row + offsetof(Block, m), sizeof(Block), unit, last);
        return halves(row, sizeof(Block), unit, last);
    }
};

/// Codes from a table of 16.
template <class W>
KERNEL_INLINE void look_up(const uint8_t* codes, typename W::I x, typename W::I& first, typename W::I& second) {
    const auto table = W::repeat16(codes);
    first = W::shuffle(table, low_nibbles<W>(x));
    second = W::shuffle(table, high_nibbles<W>(x));
}

struct SlabIQ4_NL : Nibbles32<quant::BlockIQ4_NL> {
    static constexpr int kZero = 128;
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        look_up<W>(kIq4Codes, raw[0], first, second);
    }
};

struct SlabMXFP4 : Nibbles32<quant::BlockMXFP4> {
    static constexpr int kZero = 12;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t last, Floats8&) {
        uint32_t bits[8];
        for (int64_t k = 0; k < 8; ++k) {  // 2^(e - 128), subnormal for the two smallest e
            const int64_t block = 8 * unit + k < last ? 8 * unit + k : last;
            const uint32_t e = row[block * static_cast<int64_t>(sizeof(Block))];
            bits[k] = e >= 2 ? (e - 1) << 23 : 0x00200000u << e;
        }
        return Eight::from_bits(bits);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        look_up<W>(kMxfp4Codes, raw[0], first, second);
    }
};

/// Columns in order: the first plane holds the first half of the step.
struct InOrder {
    static constexpr int column(int lanes, int plane, int lane) { return 16 * lanes * plane + 16 * lane; }
    KERNEL_INLINE static int64_t base(int lanes, int64_t step) { return 32 * lanes * step; }
    static constexpr int kRaw = 2;
    static constexpr Second kSecond = Second::as_is;
};

struct SlabQ8_0 : InOrder {
    using Block = quant::BlockQ8_0;
    static constexpr int kSize = 32, kGroup = 32, kZero = 128;
    static constexpr bool kHasMin = false;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t last, Floats8&) {
        return halves(row, sizeof(Block), unit, last);
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t last_block, typename W::I raw[2]) {
        const auto at = [&](int k) __attribute__((always_inline)) {
            const int64_t block = W::kLanes * step + k;
            return row + (block < last_block ? block : last_block) * static_cast<int64_t>(sizeof(Block)) +
                   offsetof(Block, qs);
        };
        raw[0] = W::load_halves(at(0), at(1));
        raw[1] = W::load_halves(at(W::kLanes / 2), at(W::kLanes / 2 + 1));
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        first = W::xor_(raw[0], W::set8(128));
        second = W::xor_(raw[1], W::set8(128));
    }
};

// ---- 256 elements -----------------------------------------------------------------------------------------------------

/// Where a step of a 256-element row begins in its block.
template <class Block, class W>
struct Step256 {
    static constexpr int kPerBlock = 8 / W::kLanes;  ///< steps
    const uint8_t* block;
    int part;
    KERNEL_INLINE Step256(const uint8_t* row, int64_t step)
        : block(row + step / kPerBlock * static_cast<int64_t>(sizeof(Block))),
          part(static_cast<int>(step % kPerBlock)) {}
};

struct SlabIQ4_XS : Nibbles32<quant::BlockIQ4_XS> {
    static constexpr int kSize = 256, kZero = 128;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8&) {
        const auto& b = reinterpret_cast<const Block*>(row)[unit];
        const auto low = read<uint32_t>(b.scales_l);
        uint64_t nibbles = 0, upper = 0;
        for (int g = 0; g < 8; ++g) {
            nibbles |= static_cast<uint64_t>(low >> 4 * g & 15) << 8 * g;
            upper |= static_cast<uint64_t>(b.scales_h >> 2 * g & 3) << (8 * g + 4);
        }
        return Eight::mul(half(b.d), Eight::sub(floats_8(nibbles | upper), Eight::set(32.0f)));
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[1]) {
        const Step256<Block, W> at(row, step);
        raw[0] = W::load(at.block + offsetof(Block, qs) + 16 * W::kLanes * at.part);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        look_up<W>(kIq4Codes, raw[0], first, second);
    }
};

/// Lanes 2k and 2k + 1: a run of 32 bytes that holds 32 columns in its low halves and the next 32 in its high ones.
struct RunsOf64 {
    static constexpr int kSize = 256, kGroup = 32, kZero = 0;
    static constexpr bool kHasMin = true;
    static constexpr int column(int /*lanes*/, int plane, int lane) { return 64 * (lane / 2) + 32 * plane + 16 * (lane % 2); }
    KERNEL_INLINE static int64_t base(int lanes, int64_t step) { return 32 * lanes * step; }
};

struct SlabQ4_K : RunsOf64 {
    using Block = quant::BlockQ4_K;
    static constexpr int kRaw = 1;
    static constexpr Second kSecond = Second::times_16;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8& min) {
        return scales_6(reinterpret_cast<const Block*>(row)[unit], min);
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[1]) {
        const Step256<Block, W> at(row, step);
        raw[0] = W::load(at.block + offsetof(Block, qs) + 16 * W::kLanes * at.part);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        first = low_nibbles<W>(raw[0]);
        second = W::and_(raw[0], W::set8(0xF0));
    }
};

struct SlabQ5_K : RunsOf64 {
    using Block = quant::BlockQ5_K;
    static constexpr int kRaw = 2;
    static constexpr Second kSecond = Second::as_is;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8& min) {
        return scales_6(reinterpret_cast<const Block*>(row)[unit], min);
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[2]) {
        const Step256<Block, W> at(row, step);
        raw[0] = W::load(at.block + offsetof(Block, qs) + 16 * W::kLanes * at.part);
        const int bit = W::kLanes * at.part;  // group 2r of run r has bit 2r
        raw[1] = W::shr16(W::repeat32(at.block + offsetof(Block, qh)), bit, bit + 2);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        const auto fifth = W::set8(16);
        first = W::or_(low_nibbles<W>(raw[0]), W::and_(W::template shl16<4>(raw[1]), fifth));
        second = W::or_(high_nibbles<W>(raw[0]), W::and_(W::template shl16<3>(raw[1]), fifth));
    }
};

struct SlabQ6_K {
    using Block = quant::BlockQ6_K;
    static constexpr int kSize = 256, kGroup = 16, kZero = 32, kRaw = 2;
    static constexpr bool kHasMin = false;
    static constexpr Second kSecond = Second::as_is;
    // Byte l of a half's 64 of ql: column l in its low half, l + 64 in its high one.
    static constexpr int column(int /*lanes*/, int plane, int lane) { return 64 * plane + 16 * lane; }
    KERNEL_INLINE static int64_t base(int lanes, int64_t step) {
        const int per_half = 4 / lanes;
        return 128 * (step / per_half) + 32 * (step % per_half);
    }
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8&) {
        const auto& b = reinterpret_cast<const Block*>(row)[unit / 2];
        return Eight::mul(half(b.d), Eight::from_signed_bytes(b.scales + unit % 2 * 8));
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[2]) {
        const Step256<Block, W> at(row, step);
        raw[0] = W::load(at.block + offsetof(Block, ql) + 16 * W::kLanes * at.part);
        constexpr int kPerHalf = 4 / W::kLanes;
        const int shift = 2 * (at.part % kPerHalf);
        raw[1] = W::shr16(W::repeat32(at.block + offsetof(Block, qh) + 32 * (at.part / kPerHalf)), shift, shift + 2);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        const auto upper = W::set8(0x30);
        first = W::or_(low_nibbles<W>(raw[0]), W::and_(W::template shl16<4>(raw[1]), upper));
        second = W::or_(high_nibbles<W>(raw[0]), W::and_(raw[1], upper));
    }
};

/// Two bits: a half's 32 bytes hold 32 columns in each of four pairs of bits. A step takes two neighbouring pairs, of
/// both halves in AVX-512, of one half in AVX2.
struct Pairs {
    static constexpr int kSize = 256;
    static constexpr Second kSecond = Second::as_is;
    static constexpr int column(int /*lanes*/, int plane, int lane) {
        return 128 * (lane / 2) + 32 * plane + 16 * (lane % 2);
    }
    KERNEL_INLINE static int64_t base(int lanes, int64_t step) {
        return lanes == 4 ? 256 * (step / 2) + 64 * (step % 2) : 64 * step;
    }
    /// The bytes, moved so that the two pairs of bits are the lowest ones.
    template <class W>
    KERNEL_INLINE static typename W::I load_pairs(const uint8_t* qs, int part) {
        const int shift = 4 * (part % 2);
        return W::shr16(W::load(qs + 32 * (part / 2)), shift, shift);
    }
};

struct SlabQ2_K : Pairs {
    using Block = quant::BlockQ2_K;
    static constexpr int kGroup = 16, kZero = 0, kRaw = 1;
    static constexpr bool kHasMin = true;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8& min) {
        constexpr uint64_t k15 = 0x0F0F0F0F0F0F0F0F;
        const auto& b = reinterpret_cast<const Block*>(row)[unit / 2];
        const auto packed = read<uint64_t>(b.scales + unit % 2 * 8);
        min = Eight::mul(Eight::minus(half(b.dmin)), floats_8(packed >> 4 & k15));
        return Eight::mul(half(b.d), floats_8(packed & k15));
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[1]) {
        const Step256<Block, W> at(row, step);
        raw[0] = load_pairs<W>(at.block + offsetof(Block, qs), at.part);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        first = W::and_(raw[0], W::set8(3));
        second = W::and_(W::template shr16<2>(raw[0]), W::set8(3));
    }
};

struct SlabQ3_K : Pairs {
    using Block = quant::BlockQ3_K;
    static constexpr int kGroup = 16, kZero = 4, kRaw = 2;
    static constexpr bool kHasMin = false;
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8&) {
        constexpr uint32_t k15 = 0x0F0F0F0F, k48 = 0x30303030;
        const auto& b = reinterpret_cast<const Block*>(row)[unit / 2];
        const int second = static_cast<int>(unit % 2);  // the second eight have the high halves and the next pairs of bits
        const uint32_t low = read<uint32_t>(b.scales) >> 4 * second, next = read<uint32_t>(b.scales + 4) >> 4 * second;
        const uint64_t upper = static_cast<uint64_t>(read<uint32_t>(b.scales + 8)) << 4 >> 4 * second;
        const auto bits = [](uint64_t x) __attribute__((always_inline)) { return static_cast<uint32_t>(x) & k48; };
        const Floats8 eight = floats_8(pair((low & k15) | bits(upper), (next & k15) | bits(upper >> 2)));
        return Eight::mul(half(b.d), Eight::sub(eight, Eight::set(32.0f)));
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[2]) {
        const Step256<Block, W> at(row, step);
        raw[0] = load_pairs<W>(at.block + offsetof(Block, qs), at.part);
        const int bit = 2 * at.part;  // bit 4 * half + j; in AVX-512 `part` is below 2 and the other half follows
        raw[1] = W::shr16(W::repeat32(at.block + offsetof(Block, hmask)), bit, bit + 4);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        const auto low = W::set8(3), third = W::set8(4);
        first = W::or_(W::and_(raw[0], low), W::and_(W::template shl16<2>(raw[1]), third));
        second = W::or_(W::and_(W::template shr16<2>(raw[0]), low), W::and_(W::template shl16<1>(raw[1]), third));
    }
};

struct SlabTQ2_0 : Pairs {
    using Block = quant::BlockTQ2_0;
    static constexpr int kGroup = 32, kZero = 1, kRaw = 1;
    static constexpr bool kHasMin = false;
    /// One scale for 256 columns, kept as if 32 shared it.
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8&) {
        return half(reinterpret_cast<const Block*>(row)[unit].d);
    }
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[1]) {
        const Step256<Block, W> at(row, step);
        raw[0] = load_pairs<W>(at.block + offsetof(Block, qs), at.part);
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[1], typename W::I& first, typename W::I& second) {
        SlabQ2_K::planes<W>(raw, first, second);
    }
};

struct SlabTQ1_0 : InOrder {
    using Block = quant::BlockTQ1_0;
    static constexpr int kSize = 256, kGroup = 32, kZero = 1;
    static constexpr bool kHasMin = false;
    /// One scale for 256 columns, kept as if 32 shared it.
    KERNEL_INLINE static Floats8 scales(const uint8_t* row, int64_t unit, int64_t, Floats8&) {
        return half(reinterpret_cast<const Block*>(row)[unit].d);
    }
    /// Columns 16m to 16m + 15 are one digit of 16 bytes; the last 16 are the four digits of four bytes.
    template <class W>
    KERNEL_INLINE static void load(const uint8_t* row, int64_t step, int64_t, typename W::I raw[2]) {
        static constexpr uint8_t kFrom[15] = {0, 16, 0, 16, 0, 16, 0, 16, 0, 16, 32, 32, 32, 32, 32};
        const Step256<Block, W> at(row, step);
        for (int plane = 0; plane < 2; ++plane) {
            const uint8_t *bytes[W::kLanes], *power[W::kLanes];
            uint32_t four[4];
            for (int k = 0; k < W::kLanes; ++k) {
                const int m = W::kLanes * (2 * at.part + plane) + k;
                power[k] = kPower[m];
                if (m < 15) {
                    bytes[k] = at.block + kFrom[m];
                } else {
                    four[0] = four[1] = four[2] = four[3] = read<uint32_t>(at.block + offsetof(Block, qh));
                    bytes[k] = reinterpret_cast<const uint8_t*>(four);
                }
            }
            raw[plane] = digits<W>(W::load_lanes(bytes), W::load_lanes(power));
        }
    }
    template <class W>
    KERNEL_INLINE static void planes(const typename W::I raw[2], typename W::I& first, typename W::I& second) {
        first = raw[0];
        second = raw[1];
    }
    /// A byte is a fraction of 256: times 3^n, what stays below 1 starts with digit n, which times 3 moves above.
    template <class W>
    KERNEL_INLINE static typename W::I digits(typename W::I x, typename W::I power) {
        const auto low = W::set(0x00FF00FF), three = W::set(0x00030003);
        const auto even = W::and_(W::mul16(W::and_(x, low), W::and_(power, low)), low);
        const auto odd = W::and_(W::mul16(W::template shr16<8>(x), W::template shr16<8>(power)), low);
        const auto odd_digit = W::template shl16<8>(W::template shr16<8>(W::mul16(odd, three)));
        return W::or_(W::template shr16<8>(W::mul16(even, three)), odd_digit);
    }
#define SIXTEEN(p) {p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p}
    static constexpr uint8_t kPower[16][16] = {
        SIXTEEN(1),  SIXTEEN(1),  SIXTEEN(3),  SIXTEEN(3), SIXTEEN(9), SIXTEEN(9), SIXTEEN(27), SIXTEEN(27),
        SIXTEEN(81), SIXTEEN(81), SIXTEEN(1),  SIXTEEN(3), SIXTEEN(9), SIXTEEN(27), SIXTEEN(81),
        {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27}};
#undef SIXTEEN
};

}  // namespace
}  // namespace powerinfer::kernels
