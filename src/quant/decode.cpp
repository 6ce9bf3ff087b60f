// Every block format taken apart into codes, scales and minima, written as the layout drawings in the block headers
// read. The decoders to floats follow from that.
#include <bit>

#include "base/half.h"
#include "quant/coded.h"
#include "quant/codecs.h"
#include "quant/scales6.h"

namespace powerinfer::quant {
namespace {

/// Element i of 32 when byte k holds elements k (low half) and k + 16 (high half).
int nibble32(const uint8_t* qs, int i) {
    return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

/// Element i of 256 in the order that the 2-bit fields of Q2_K, Q3_K, Q6_K and TQ2_0 share.
int two_bits(const uint8_t* qs, int i) {
    return (qs[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32)) & 3;
}

/// Element i of 256 in the order that the nibbles of Q4_K and Q5_K share: group pairs in one run of 32 bytes.
int nibble256(const uint8_t* qs, int i) {
    const int g = i / 32;
    const int byte = qs[32 * (g / 2) + i % 32];
    return g % 2 == 0 ? byte & 15 : byte >> 4;
}

/// Digit n of a byte of base-3 digits; the byte is a fraction of 256, so that each multiplication by 3 moves
/// the next digit above the top.
int trit(uint8_t byte, int n) {
    constexpr int kPower[5] = {1, 3, 9, 27, 81};
    return ((byte * kPower[n] & 255) * 3) >> 8;
}

/// One scale and minimum for a whole block.
void set_scale(CodedBlock& out, float scale, float min = 0) {
    out.scale[0] = scale;
    out.min[0] = min;
}

int8_t code(int q) {
    return static_cast<int8_t>(q);
}

void take_apart(const BlockQ4_0& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    for (int i = 0; i < 32; ++i) out.code[i] = code(nibble32(block.qs, i) - 8);
}

void take_apart(const BlockQ4_1& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d), -f16_to_f32(block.m));
    for (int i = 0; i < 32; ++i) out.code[i] = code(nibble32(block.qs, i));
}

void take_apart(const BlockQ5_0& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    for (int i = 0; i < 32; ++i) {
        const int high = (block.qh >> i) & 1;
        out.code[i] = code(nibble32(block.qs, i) + 16 * high - 16);
    }
}

void take_apart(const BlockQ5_1& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d), -f16_to_f32(block.m));
    for (int i = 0; i < 32; ++i) {
        const int high = (block.qh >> i) & 1;
        out.code[i] = code(nibble32(block.qs, i) + 16 * high);
    }
}

void take_apart(const BlockQ8_0& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    for (int i = 0; i < 32; ++i) out.code[i] = block.qs[i];
}

void take_apart(const BlockQ2_K& block, CodedBlock& out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int k = 0; k < 16; ++k) {
        out.scale[k] = d * static_cast<float>(block.scales[k] & 15);
        out.min[k] = dmin * static_cast<float>(block.scales[k] >> 4);
    }
    for (int i = 0; i < 256; ++i) out.code[i] = code(two_bits(block.qs, i));
}

void take_apart(const BlockQ3_K& block, CodedBlock& out) {
    const float d = f16_to_f32(block.d);
    for (int k = 0; k < 16; ++k) {
        out.scale[k] = d * static_cast<float>(scale6(block.scales, k) - 32);
        out.min[k] = 0;
    }
    for (int i = 0; i < 256; ++i) {
        const int high = (block.hmask[i % 32] >> (i / 32)) & 1;
        out.code[i] = code(two_bits(block.qs, i) + 4 * high - 4);
    }
}

void set_scales_and_mins(const uint8_t* packed, uint16_t d_bits, uint16_t dmin_bits, CodedBlock& out) {
    const float d = f16_to_f32(d_bits), dmin = f16_to_f32(dmin_bits);
    for (int g = 0; g < 8; ++g) {
        const ScaleMin s = scale_min6(packed, g);
        out.scale[g] = d * static_cast<float>(s.scale);
        out.min[g] = dmin * static_cast<float>(s.min);
    }
}

void take_apart(const BlockQ4_K& block, CodedBlock& out) {
    set_scales_and_mins(block.scales, block.d, block.dmin, out);
    for (int i = 0; i < 256; ++i) out.code[i] = code(nibble256(block.qs, i));
}

void take_apart(const BlockQ5_K& block, CodedBlock& out) {
    set_scales_and_mins(block.scales, block.d, block.dmin, out);
    for (int i = 0; i < 256; ++i) {
        const int high = (block.qh[i % 32] >> (i / 32)) & 1;
        out.code[i] = code(nibble256(block.qs, i) + 16 * high);
    }
}

void take_apart(const BlockQ6_K& block, CodedBlock& out) {
    const float d = f16_to_f32(block.d);
    for (int k = 0; k < 16; ++k) {
        out.scale[k] = d * static_cast<float>(block.scales[k]);
        out.min[k] = 0;
    }
    for (int i = 0; i < 256; ++i) {
        const int j = i % 128 / 32;
        const int byte = block.ql[64 * (i / 128) + 32 * (j & 1) + i % 32];
        out.code[i] = code((j < 2 ? byte & 15 : byte >> 4) + 16 * two_bits(block.qh, i) - 32);
    }
}

void take_apart(const BlockIQ4_NL& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    for (int i = 0; i < 32; ++i) out.code[i] = code(kIq4Table[nibble32(block.qs, i)]);
}

void take_apart(const BlockIQ4_XS& block, CodedBlock& out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
        const int low = g % 2 == 0 ? block.scales_l[g / 2] & 15 : block.scales_l[g / 2] >> 4;
        out.scale[g] = d * static_cast<float>(low + 16 * ((block.scales_h >> 2 * g) & 3) - 32);
        out.min[g] = 0;
    }
    for (int i = 0; i < 256; ++i) out.code[i] = code(kIq4Table[nibble32(block.qs + 16 * (i / 32), i % 32)]);
}

void take_apart(const BlockMXFP4& block, CodedBlock& out) {
    // 2^(e - 128) from its bits; the two smallest are below the normal range of f32.
    const uint32_t bits = block.e < 2 ? 0x00200000u << block.e : static_cast<uint32_t>(block.e - 1) << 23;
    set_scale(out, std::bit_cast<float>(bits));
    for (int i = 0; i < 32; ++i) out.code[i] = code(kMxfp4Table[nibble32(block.qs, i)]);
}

void take_apart(const BlockTQ1_0& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    int8_t* next = out.code;
    const auto run = [&](const uint8_t* bytes, int n_bytes, int n_digits) {
        for (int n = 0; n < n_digits; ++n) {
            for (int b = 0; b < n_bytes; ++b) *next++ = code(trit(bytes[b], n) - 1);
        }
    };
    run(block.qs, 32, 5);
    run(block.qs + 32, 16, 5);
    run(block.qh, 4, 4);
}

void take_apart(const BlockTQ2_0& block, CodedBlock& out) {
    set_scale(out, f16_to_f32(block.d));
    for (int i = 0; i < 256; ++i) out.code[i] = code(two_bits(block.qs, i) - 1);
}

template <class Block>
void take_block_apart(const void* block, CodedBlock& out) {
    take_apart(*static_cast<const Block*>(block), out);
}

constexpr CodedFormat kCoded[] = {
    {DType::Q4_0, 32, 32, false, -8, 7, true, take_block_apart<BlockQ4_0>},
    {DType::Q4_1, 32, 32, true, 0, 15, true, take_block_apart<BlockQ4_1>},
    {DType::Q5_0, 32, 32, false, -16, 15, true, take_block_apart<BlockQ5_0>},
    {DType::Q5_1, 32, 32, true, 0, 31, true, take_block_apart<BlockQ5_1>},
    {DType::Q8_0, 32, 32, false, -128, 127, true, take_block_apart<BlockQ8_0>},
    {DType::Q2_K, 256, 16, true, 0, 3, false, take_block_apart<BlockQ2_K>},
    {DType::Q3_K, 256, 16, false, -4, 3, false, take_block_apart<BlockQ3_K>},
    {DType::Q4_K, 256, 32, true, 0, 15, false, take_block_apart<BlockQ4_K>},
    {DType::Q5_K, 256, 32, true, 0, 31, false, take_block_apart<BlockQ5_K>},
    {DType::Q6_K, 256, 16, false, -32, 31, false, take_block_apart<BlockQ6_K>},
    {DType::IQ4_NL, 32, 32, false, -127, 113, true, take_block_apart<BlockIQ4_NL>},
    {DType::IQ4_XS, 256, 32, false, -127, 113, false, take_block_apart<BlockIQ4_XS>},
    {DType::MXFP4, 32, 32, false, -12, 12, false, take_block_apart<BlockMXFP4>},
    {DType::TQ1_0, 256, 256, false, -1, 1, true, take_block_apart<BlockTQ1_0>},
    {DType::TQ2_0, 256, 256, false, -1, 2, true, take_block_apart<BlockTQ2_0>},
};

}  // namespace

const CodedFormat* find_coded_format(DType type) {
    for (const CodedFormat& row : kCoded) {
        if (row.type == type) return &row;
    }
    return nullptr;
}

void decode_blocks(const CodedFormat& format, const void* src, float* x, int64_t n) {
    const auto* block = static_cast<const uint8_t*>(src);
    const auto size = static_cast<size_t>(info(format.type).bytes);
    CodedBlock parts;
    for (int64_t at = 0; at < n; at += format.block, block += size) {
        format.take_apart(block, parts);
        for (int i = 0; i < format.block; ++i)
            x[at + i] = parts.scale[i / format.group] * static_cast<float>(parts.code[i]) - parts.min[i / format.group];
    }
}

}  // namespace powerinfer::quant
