// The encoders and decoders behind the rows of format.cpp, one pair per format. Not for other rooms: they ask
// format(). Each codes whole blocks; importance is as Format::encode describes.
#pragma once

#include <cstdint>

#include "quant/blocks_k.h"
#include "quant/blocks_legacy.h"
#include "quant/blocks_table.h"
#include "quant/blocks_ternary.h"

namespace powerinfer::quant {

struct CodedFormat;

/// x[0..n) = the values of n elements; n is a multiple of the block size.
void decode_blocks(const CodedFormat& format, const void* src, float* x, int64_t n);

void encode_block(const float* x, const float* importance, BlockQ4_0& block);
void encode_block(const float* x, const float* importance, BlockQ4_1& block);
void encode_block(const float* x, const float* importance, BlockQ5_0& block);
void encode_block(const float* x, const float* importance, BlockQ5_1& block);
void encode_block(const float* x, const float* importance, BlockQ8_0& block);
void encode_block(const float* x, const float* importance, BlockQ2_K& block);
void encode_block(const float* x, const float* importance, BlockQ3_K& block);
void encode_block(const float* x, const float* importance, BlockQ4_K& block);
void encode_block(const float* x, const float* importance, BlockQ5_K& block);
void encode_block(const float* x, const float* importance, BlockQ6_K& block);
void encode_block(const float* x, const float* importance, BlockIQ4_NL& block);
void encode_block(const float* x, const float* importance, BlockIQ4_XS& block);
void encode_block(const float* x, const float* importance, BlockMXFP4& block);
void encode_block(const float* x, const float* importance, BlockTQ1_0& block);
void encode_block(const float* x, const float* importance, BlockTQ2_0& block);

}  // namespace powerinfer::quant
