#include "quant/interleave.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "quant/format.h"

namespace powerinfer::quant {
namespace {

constexpr DType kBlockTypes[] = {DType::Q4_0,  DType::Q4_1,   DType::Q5_0,   DType::Q5_1,  DType::Q8_0,
                                 DType::Q2_K,  DType::Q3_K,   DType::Q4_K,   DType::Q5_K,  DType::Q6_K,
                                 DType::MXFP4, DType::IQ4_NL, DType::IQ4_XS, DType::TQ1_0, DType::TQ2_0};

std::vector<uint8_t> random_bytes(size_t n) {
    std::mt19937 random(7);
    std::vector<uint8_t> bytes(n);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    return bytes;
}

TEST(Interleave, TakesBackEveryRowOfEveryFormat) {
    for (const DType type : kBlockTypes) {
        const int64_t n = 3 * info(type).block;
        const size_t stride = row_bytes(type, n);
        for (const int64_t n_rows : {1, 7, 16}) {
            const auto rows = random_bytes(static_cast<size_t>(n_rows) * stride);
            std::vector<uint8_t> strip(interleaved_bytes(type, n, n_rows), 0xAA), row(stride);
            ASSERT_EQ(strip.size(), 16 * stride);
            interleave(type, rows.data(), stride, n_rows, n, strip.data());
            for (int64_t r = 0; r < 16; ++r) {
                take_row(type, strip.data(), r, n, row.data());
                for (size_t i = 0; i < stride; ++i) {
                    const uint8_t expected = r < n_rows ? rows[static_cast<size_t>(r) * stride + i] : 0;
                    ASSERT_EQ(row[i], expected) << info(type).name << " row " << r << " byte " << i;
                }
            }
        }
    }
}

// The places by hand: Q8_0 is an F16 and 32 bytes; Q6_K ends in an F16 at byte 208.
TEST(Interleave, PutsPiecesWhereTheHeaderSays) {
    const size_t stride = 2 * 34;
    const auto rows = random_bytes(16 * stride);
    std::vector<uint8_t> strip(16 * stride);
    interleave(DType::Q8_0, rows.data(), stride, 16, 64, strip.data());
    EXPECT_EQ(strip[2 * 5 + 1], rows[5 * stride + 1]);               // scale of row 5, high byte
    EXPECT_EQ(strip[16 * 2 + 4 * 5 + 3], rows[5 * stride + 2 + 3]);  // its fourth code
    EXPECT_EQ(strip[16 * (34 + 2 + 8) + 4 * 9],
              rows[9 * stride + 34 + 2 + 8]);  // row 9, second block, ninth code
    const auto k = random_bytes(16 * 210);
    std::vector<uint8_t> k_strip(16 * 210);
    interleave(DType::Q6_K, k.data(), 210, 16, 256, k_strip.data());
    EXPECT_EQ(k_strip[16 * 208 + 2 * 3], k[3 * 210 + 208]);
    EXPECT_EQ(k_strip[16 * 204 + 4 * 3 + 2], k[3 * 210 + 206]);
}

TEST(Interleave, IsForBlocks) {
    EXPECT_TRUE(can_interleave(DType::Q4_0));
    EXPECT_FALSE(can_interleave(DType::F16));
    EXPECT_FALSE(can_interleave(DType::I32));
    EXPECT_EQ(interleaved_bytes(DType::Q4_0, 64, 17), size_t{32 * 36});
}

}  // namespace
}  // namespace powerinfer::quant
