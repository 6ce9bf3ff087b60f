#include "quant/format.h"

#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "quant/coded.h"
#include "quant/codecs.h"

namespace powerinfer::quant {
namespace {

// Encoded rows may lie at any address inside a mapped file, so plain numbers go through memcpy.
template <class T>
T load(const void* src, int64_t i) {
    T value;
    std::memcpy(&value, static_cast<const uint8_t*>(src) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

template <class T>
void store(T value, void* dst, int64_t i) {
    std::memcpy(static_cast<uint8_t*>(dst) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

void decode_f32(const void* src, float* dst, int64_t n) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
}

void encode_f32(const float* src, void* dst, int64_t n, const float*) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(float));
}

template <float (*widen)(uint16_t)>
void decode_half(const void* src, float* dst, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dst[i] = widen(load<uint16_t>(src, i));
}

template <uint16_t (*narrow)(float)>
void encode_half(const float* src, void* dst, int64_t n, const float*) {
    for (int64_t i = 0; i < n; ++i) store(narrow(src[i]), dst, i);
}

template <DType type>
void decode_row(const void* src, float* dst, int64_t n) {
    static const CodedFormat& coded = *find_coded_format(type);
    decode_blocks(coded, src, dst, n);
}

template <class Block, int block_size>
void encode_row(const float* src, void* dst, int64_t n, const float* importance) {
    auto* blocks = static_cast<Block*>(dst);
    for (int64_t b = 0; b < n / block_size; ++b) {
        const int64_t at = b * block_size;
        encode_block(src + at, importance ? importance + at : nullptr, blocks[b]);
    }
}

template <DType type, class Block, int block_size>
constexpr Format row_of(ActivationEncoding activation) {
    return {type, activation, decode_row<type>, encode_row<Block, block_size>};
}

using enum ActivationEncoding;

constexpr Format kFormats[] = {
    {DType::F32, f32, decode_f32, encode_f32},
    {DType::F16, f32, decode_half<f16_to_f32>, encode_half<f32_to_f16>},
    {DType::BF16, f32, decode_half<bf16_to_f32>, encode_half<f32_to_bf16>},
    row_of<DType::Q4_0, BlockQ4_0, 32>(q8_32),
    row_of<DType::Q4_1, BlockQ4_1, 32>(q8_32),
    row_of<DType::Q5_0, BlockQ5_0, 32>(q8_32),
    row_of<DType::Q5_1, BlockQ5_1, 32>(q8_32),
    row_of<DType::Q8_0, BlockQ8_0, 32>(q8_32),
    row_of<DType::Q2_K, BlockQ2_K, 256>(q8_256),
    row_of<DType::Q3_K, BlockQ3_K, 256>(q8_256),
    row_of<DType::Q4_K, BlockQ4_K, 256>(q8_256),
    row_of<DType::Q5_K, BlockQ5_K, 256>(q8_256),
    row_of<DType::Q6_K, BlockQ6_K, 256>(q8_256),
    row_of<DType::IQ4_NL, BlockIQ4_NL, 32>(q8_32),
    row_of<DType::IQ4_XS, BlockIQ4_XS, 256>(q8_256),
    row_of<DType::MXFP4, BlockMXFP4, 32>(q8_32),
    row_of<DType::TQ1_0, BlockTQ1_0, 256>(q8_256),
    row_of<DType::TQ2_0, BlockTQ2_0, 256>(q8_256),
};

}  // namespace

const Format* find_format(DType type) {
    for (const Format& row : kFormats) {
        if (row.type == type) return &row;
    }
    return nullptr;
}

const Format& format(DType type) {
    if (const Format* row = find_format(type)) return *row;
    fail(
        ErrorKind::unsupported,
        "Tensors of type {} hold no weights that this engine can use; expected F32, F16, BF16 or a quantised "
        "weight format.",
        dtype_id_name(static_cast<uint32_t>(type)));
}

}  // namespace powerinfer::quant
