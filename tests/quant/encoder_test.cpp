// What every encoder must do whatever the numbers: bounds, odd inputs, independence of blocks, importance.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "quant/codecs.h"
#include "quant/format.h"

namespace powerinfer::quant {
namespace {

constexpr DType kAll[] = {DType::F32,   DType::F16,   DType::BF16, DType::Q4_0,   DType::Q4_1,
                          DType::Q5_0,  DType::Q5_1,  DType::Q8_0, DType::Q2_K,   DType::Q3_K,
                          DType::Q4_K,  DType::Q5_K,  DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS,
                          DType::MXFP4, DType::TQ1_0, DType::TQ2_0};

std::vector<uint8_t> encoded(DType type, const std::vector<float>& x, const float* importance = nullptr) {
    std::vector<uint8_t> bytes(row_bytes(type, static_cast<int64_t>(x.size())));
    format(type).encode(x.data(), bytes.data(), static_cast<int64_t>(x.size()), importance);
    return bytes;
}

std::vector<float> round_trip(DType type, const std::vector<float>& x, const float* importance = nullptr) {
    const auto bytes = encoded(type, x, importance);
    std::vector<float> y(x.size());
    format(type).decode(bytes.data(), y.data(), static_cast<int64_t>(x.size()));
    return y;
}

std::vector<float> gaussian(size_t n, float sigma, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, sigma);
    std::vector<float> x(n);
    for (float& v : x) v = normal(random);
    return x;
}

double relative_rmse(const std::vector<float>& x, const std::vector<float>& y) {
    double error = 0, power = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        error += std::pow(static_cast<double>(x[i]) - y[i], 2);
        power += static_cast<double>(x[i]) * x[i];
    }
    return std::sqrt(error / power);
}

/// Error over standard deviation that a format must reach on gaussian numbers.
double gaussian_bound(DType type) {
    switch (type) {
        case DType::F32:
            return 0;
        case DType::F16:
            return 0.0003;
        case DType::BF16:
            return 0.002;
        case DType::Q8_0:
            return 0.006;
        case DType::Q6_K:
            return 0.02;
        case DType::Q5_K:
        case DType::Q5_1:
            return 0.04;
        case DType::Q5_0:
            return 0.05;
        case DType::Q4_K:
        case DType::Q4_1:
            return 0.08;
        case DType::Q4_0:
        case DType::IQ4_NL:
        case DType::IQ4_XS:
            return 0.095;
        case DType::MXFP4:
            return 0.13;
        case DType::Q3_K:
            return 0.17;
        case DType::Q2_K:
            return 0.31;
        default:
            return 0.51;  // ternary
    }
}

class Encoder : public testing::TestWithParam<DType> {
  protected:
    DType type() const { return GetParam(); }
};

TEST_P(Encoder, BlockStructHasTheBytesOfTheTable) {
    const std::pair<DType, size_t> sizes[] = {
        {DType::Q4_0, sizeof(BlockQ4_0)},     {DType::Q4_1, sizeof(BlockQ4_1)},
        {DType::Q5_0, sizeof(BlockQ5_0)},     {DType::Q5_1, sizeof(BlockQ5_1)},
        {DType::Q8_0, sizeof(BlockQ8_0)},     {DType::Q2_K, sizeof(BlockQ2_K)},
        {DType::Q3_K, sizeof(BlockQ3_K)},     {DType::Q4_K, sizeof(BlockQ4_K)},
        {DType::Q5_K, sizeof(BlockQ5_K)},     {DType::Q6_K, sizeof(BlockQ6_K)},
        {DType::IQ4_NL, sizeof(BlockIQ4_NL)}, {DType::IQ4_XS, sizeof(BlockIQ4_XS)},
        {DType::MXFP4, sizeof(BlockMXFP4)},   {DType::TQ1_0, sizeof(BlockTQ1_0)},
        {DType::TQ2_0, sizeof(BlockTQ2_0)}};
    for (const auto& [t, size] : sizes) {
        if (t == type()) {
            EXPECT_EQ(static_cast<size_t>(info(t).bytes), size);
        }
    }
    EXPECT_EQ(find_format(type())->type, type());
}

TEST_P(Encoder, KeepsGaussianNumbersAtEveryMagnitude) {
    // From magnitudes where f16 scales begin to lose precision up to large ones.
    for (const float sigma : {0.01f, 1.0f, 300.0f}) {
        const auto x = gaussian(4096, sigma, 1);
        EXPECT_LE(relative_rmse(x, round_trip(type(), x)), gaussian_bound(type())) << sigma;
    }
}

TEST_P(Encoder, TinyNumbersFadeToZeroAtWorst) {
    if (type() == DType::F32 || type() == DType::BF16 || type() == DType::MXFP4) return;
    // Down to and below what an f16 scale can express: the result may degrade to zeros, not to something
    // worse.
    for (const float sigma : {1e-3f, 1e-5f, 1e-6f, 1e-7f, 1e-9f}) {
        const auto x = gaussian(1024, sigma, 2);
        const auto y = round_trip(type(), x);
        double error = 0, power = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            error += std::pow(static_cast<double>(x[i]) - y[i], 2);
            power += static_cast<double>(x[i]) * x[i];
        }
        EXPECT_LE(error, power * 1.0001) << sigma;
    }
}

TEST_P(Encoder, ZerosStayZeros) {
    const std::vector<float> x(512, 0.0f);
    for (const float v : round_trip(type(), x)) EXPECT_EQ(v, 0.0f);
    const std::vector<float> negative(512, -0.0f);
    for (const float v : round_trip(type(), negative)) EXPECT_EQ(v, 0.0f);
}

TEST_P(Encoder, ZeroBlocksBesideOthersStayZero) {
    auto x = gaussian(1024, 1, 3);
    std::fill(x.begin() + 256, x.begin() + 512, 0.0f);
    const auto y = round_trip(type(), x);
    for (size_t i = 256; i < 512; ++i) EXPECT_EQ(y[i], 0.0f);
}

TEST_P(Encoder, ASingleOutlierSurvivesAndTheRestStaysQuiet) {
    for (const float outlier : {5.0f, -5.0f}) {
        for (const size_t at : {0u, 17u, 100u, 255u}) {
            std::vector<float> x(256, 0.0f);
            x[at] = outlier;
            const auto y = round_trip(type(), x);
            for (size_t i = 0; i < 256; ++i) {
                if (i == at) {
                    EXPECT_NEAR(y[i], outlier, (type() == DType::MXFP4 ? 0.2 : 0.02) * 5) << i;
                } else {
                    EXPECT_NEAR(y[i], 0, 0.011 * 5) << i;  // IQ4 has no level at zero
                }
            }
        }
    }
}

TEST_P(Encoder, AConstantRowSurvives) {
    for (const float value : {0.75f, -0.75f}) {
        const std::vector<float> x(256, value);
        for (const float v : round_trip(type(), x)) EXPECT_NEAR(v, value, 0.01) << value;
    }
}

TEST_P(Encoder, BlocksAreIndependentAndDeterministic) {
    const auto x = gaussian(2048, 0.05f, 4);
    const auto importance = gaussian(2048, 1, 5);
    std::vector<float> positive(importance);
    for (float& v : positive) v = std::fabs(v);
    const auto block = static_cast<size_t>(info(type()).block);
    for (const float* weights :
         {static_cast<const float*>(nullptr), static_cast<const float*>(positive.data())}) {
        const auto whole = encoded(type(), x, weights);
        EXPECT_EQ(whole, encoded(type(), x, weights));
        std::vector<uint8_t> pieces;
        for (size_t at = 0; at < x.size(); at += block) {
            const std::vector<float> piece(x.begin() + static_cast<std::ptrdiff_t>(at),
                                           x.begin() + static_cast<std::ptrdiff_t>(at + block));
            const auto bytes = encoded(type(), piece, weights ? weights + at : nullptr);
            pieces.insert(pieces.end(), bytes.begin(), bytes.end());
        }
        EXPECT_EQ(whole, pieces);
    }
}

TEST_P(Encoder, AnyBitPatternIsEncodedWithoutUndefinedBehaviour) {
    constexpr float kInf = std::numeric_limits<float>::infinity(),
                    kNaN = std::numeric_limits<float>::quiet_NaN();
    constexpr float kMax = std::numeric_limits<float>::max(),
                    kDenormal = std::numeric_limits<float>::denorm_min();
    const bool block_format = info(type()).block > 1;
    for (const float odd :
         {kInf, -kInf, kNaN, -kNaN, kMax, -kMax, kDenormal, -kDenormal, 1e-38f, 1e-30f, 1e30f}) {
        for (const float rest : {0.0f, 0.5f, kDenormal}) {
            for (const size_t n_odd : {1u, 40u, 256u}) {
                std::vector<float> x(256, rest);
                std::fill(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n_odd), odd);
                const auto y = round_trip(type(), x);
                if (!block_format) continue;  // plain numbers keep infinities and NaN
                for (const float v : y) EXPECT_TRUE(std::isfinite(v)) << odd << " " << rest << " " << n_odd;
            }
        }
    }
    std::mt19937 random(6);
    std::vector<float> x(4096);
    for (float& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    std::vector<float> importance(x.rbegin(), x.rend());
    for (const float* weights :
         {static_cast<const float*>(nullptr), static_cast<const float*>(importance.data())}) {
        const auto y = round_trip(type(), x, weights);
        if (!block_format) continue;
        for (const float v : y) EXPECT_TRUE(std::isfinite(v));
    }
}

TEST_P(Encoder, NaNCountsAsZeroInBlocks) {
    if (info(type()).block == 1) return;
    auto x = gaussian(512, 1, 7);
    for (size_t i = 3; i < x.size(); i += 50) x[i] = 0;
    const auto clean = encoded(type(), x);
    for (size_t i = 3; i < x.size(); i += 50) x[i] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(encoded(type(), x), clean);
}

TEST_P(Encoder, ImportanceMovesTheErrorToWhereItMattersLess) {
    if (info(type()).block == 1) return;
    const size_t n = 8192;
    const auto x = gaussian(n, 1, 8);
    const auto spread = gaussian(n, 3, 14);
    std::vector<float> a_quarter(n), wide(n);
    for (size_t i = 0; i < n; ++i) a_quarter[i] = i % 4 == 0 ? 50.0f : 1.0f;
    for (size_t i = 0; i < n; ++i)
        wide[i] = std::exp(spread[i]);  // as activations with outlier channels give
    // Formats with one coarse scale have little to move.
    const bool coarse = type() == DType::MXFP4 || type() == DType::TQ1_0 || type() == DType::TQ2_0;
    for (const auto& importance : {a_quarter, wide}) {
        const auto weighted_error = [&](const std::vector<float>& y) {
            double sum = 0;
            for (size_t i = 0; i < n; ++i)
                sum += importance[i] * std::pow(static_cast<double>(x[i]) - y[i], 2);
            return sum;
        };
        EXPECT_LT(weighted_error(round_trip(type(), x, importance.data())),
                  (coarse ? 1.0 : 0.97) * weighted_error(round_trip(type(), x)));
    }
}

TEST_P(Encoder, UselessImportanceIsLikeNone) {
    const auto x = gaussian(256, 1, 9);
    const auto plain = encoded(type(), x);
    for (const float value : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
        const std::vector<float> importance(256, value);
        EXPECT_EQ(encoded(type(), x, importance.data()), plain) << value;
    }
}

TEST_P(Encoder, DecodedNumbersEncodeToThemselvesNearly) {
    const auto x = gaussian(4096, 0.02f, 10);
    const auto once = round_trip(type(), x);
    const auto twice = round_trip(type(), once);
    EXPECT_LE(relative_rmse(once, twice), gaussian_bound(type()) / 4);
}

INSTANTIATE_TEST_SUITE_P(All, Encoder, testing::ValuesIn(kAll),
                         [](const auto& test) { return std::string(powerinfer::info(test.param).name); });

TEST(Ternary, TernaryWeightsAreKeptExactly) {
    std::mt19937 random(11);
    std::vector<float> x(1024);
    for (float& v : x) v = 0.25f * static_cast<float>(static_cast<int>(random() % 3) - 1);
    EXPECT_EQ(round_trip(DType::TQ1_0, x), x);
    EXPECT_EQ(round_trip(DType::TQ2_0, x), x);
}

TEST(Ternary, ScaleIsTheBestOfAll) {
    // Brute force over a fine grid of scales never finds a smaller error than the encoder's, f16 rounding
    // aside.
    const auto x = gaussian(256, 1, 12);
    const auto error_of = [&](float d) {
        double sum = 0;
        for (const float v : x) {
            const float t = std::fabs(v) > d / 2 ? std::copysign(d, v) : 0;
            sum += std::pow(static_cast<double>(v) - t, 2);
        }
        return sum;
    };
    double least = 1e30;
    for (int k = 1; k < 4000; ++k) least = std::min(least, error_of(static_cast<float>(k) * 0.001f));
    const auto y = round_trip(DType::TQ2_0, x);
    double ours = 0;
    for (size_t i = 0; i < x.size(); ++i) ours += std::pow(static_cast<double>(x[i]) - y[i], 2);
    EXPECT_LE(ours, least * 1.0001);
}

TEST(Mxfp4, KeepsItsOwnNumbersOverTheWholeRangeOfScales) {
    std::mt19937 random(13);
    for (int e = 0; e <= 252; ++e) {
        BlockMXFP4 block;
        block.e = static_cast<uint8_t>(e);
        for (uint8_t& q : block.qs) q = static_cast<uint8_t>(random());
        block.qs[0] = 0x77;  // the largest number, so that only one scale fits
        std::vector<float> x(32);
        format(DType::MXFP4).decode(&block, x.data(), 32);
        EXPECT_EQ(round_trip(DType::MXFP4, x), x) << e;
    }
}

TEST(FormatTable, NamesTypesWithoutWeights) {
    EXPECT_EQ(find_format(DType::I32), nullptr);
    EXPECT_EQ(find_format(DType::Q8_K), nullptr);
    try {
        format(DType::I32);
        FAIL() << "I32 has no row";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_NE(std::string(error.what()).find("I32"), std::string::npos);
    }
}

}  // namespace
}  // namespace powerinfer::quant
