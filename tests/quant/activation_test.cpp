// The activation encodings against the same arithmetic in double, written the other way round.
#include "quant/activation_q8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace powerinfer::quant {
namespace {

using enum ActivationEncoding;

struct Encoded {
    ActivationEncoding encoding;
    std::vector<uint8_t> bytes;
    int64_t n;

    Encoded(ActivationEncoding e, const std::vector<float>& x)
        : encoding(e),
          bytes(activation_bytes(e, static_cast<int64_t>(x.size())), 0xAA),
          n(static_cast<int64_t>(x.size())) {
        encode_activation(e, x.data(), bytes.data(), n);
    }
    int q(size_t i) const { return static_cast<int8_t>(bytes[i]); }
    template <class T>
    T at(size_t offset, size_t i) const {
        T value;
        std::memcpy(&value, bytes.data() + offset + i * sizeof(T), sizeof(T));
        return value;
    }
    float d(size_t b) const { return at<float>(q8_parts(encoding, n).d, b); }
    int sum(size_t k) const {
        const size_t offset = q8_parts(encoding, n).sum;
        return encoding == q8_32 ? at<int32_t>(offset, k) : at<int16_t>(offset, k);
    }
    std::vector<float> decoded() const {
        std::vector<float> y(static_cast<size_t>(n));
        decode_activation(encoding, bytes.data(), y.data(), n);
        return y;
    }
};

std::vector<float> numbers(size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = normal(random) * std::exp2f(static_cast<float>(i / 64 % 40) - 20);
    return x;
}

class Q8 : public testing::TestWithParam<ActivationEncoding> {
  protected:
    size_t block() const { return GetParam() == q8_32 ? 32 : 256; }
};

TEST_P(Q8, AgreesWithDouble) {
    const auto x = numbers(4096, 1);
    const Encoded e(GetParam(), x);
    const auto y = e.decoded();
    for (size_t b = 0; b < x.size() / block(); ++b) {
        double amax = 0;
        for (size_t i = b * block(); i < (b + 1) * block(); ++i)
            amax = std::max(amax, std::fabs(double{x[i]}));
        EXPECT_NEAR(e.d(b), amax / 127, amax / 127 * 1e-7);
        for (size_t i = b * block(); i < (b + 1) * block(); ++i) {
            const double exact = x[i] * 127.0 / amax;
            EXPECT_LE(std::fabs(exact - e.q(i)), 0.5 + 1e-4) << i;
            EXPECT_LE(std::abs(e.q(i)), 127);
            EXPECT_EQ(y[i], e.d(b) * static_cast<float>(e.q(i)));
        }
    }
}

TEST_P(Q8, KeepsTheSumsOfItsCodes) {
    const auto x = numbers(1024, 2);
    const Encoded e(GetParam(), x);
    const size_t run = GetParam() == q8_32 ? 32 : 16;
    for (size_t k = 0; k < x.size() / run; ++k) {
        int sum = 0;
        for (size_t i = 0; i < run; ++i) sum += e.q(k * run + i);
        EXPECT_EQ(e.sum(k), sum);
    }
}

TEST_P(Q8, TiesGoToEven) {
    std::vector<float> x(block(), 0.0f);
    x[0] = 127;  // so that the scale is 1
    x[1] = 0.5f;
    x[2] = 1.5f;
    x[3] = -2.5f;
    x[4] = -3.5f;
    const Encoded e(GetParam(), x);
    EXPECT_EQ(e.d(0), 1.0f);
    EXPECT_EQ(e.q(0), 127);
    EXPECT_EQ(e.q(1), 0);
    EXPECT_EQ(e.q(2), 2);
    EXPECT_EQ(e.q(3), -2);
    EXPECT_EQ(e.q(4), -4);
}

TEST_P(Q8, ZeroAndVanishingBlocksAreZero) {
    for (const float v : {0.0f, -0.0f, 1e-40f, 0x1p-101f}) {
        const Encoded e(GetParam(), std::vector<float>(block(), v));
        EXPECT_EQ(e.d(0), 0.0f);
        for (size_t i = 0; i < block(); ++i) EXPECT_EQ(e.q(i), 0);
        for (const float y : e.decoded()) EXPECT_EQ(y, 0.0f);
    }
    const Encoded least(GetParam(), std::vector<float>(block(), kSmallestQ8Max));
    EXPECT_EQ(least.q(0), 127);
}

TEST_P(Q8, DamageIsCarriedOnWithinItsBlockOnly) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> x(2 * block(), 1.0f);
        x[5] = bad;
        const auto y = Encoded(GetParam(), x).decoded();
        for (size_t i = 0; i < block(); ++i) EXPECT_TRUE(std::isnan(y[i]));
        for (size_t i = block(); i < 2 * block(); ++i) EXPECT_FLOAT_EQ(y[i], 1.0f);
    }
}

TEST_P(Q8, PartsLieInsideTheVectorAndAreAligned) {
    for (size_t n = block(); n < 20 * block(); n += block()) {
        const auto count = static_cast<int64_t>(n);
        const Q8Parts parts = q8_parts(GetParam(), count);
        const size_t sums = GetParam() == q8_32 ? n / 32 * sizeof(int32_t) : n / 16 * sizeof(int16_t);
        EXPECT_GE(parts.d, n);
        EXPECT_GE(parts.sum, parts.d + n / block() * sizeof(float));
        EXPECT_GE(activation_bytes(GetParam(), count), parts.sum + sums);
        EXPECT_EQ(activation_bytes(GetParam(), count) % 64, 0u);
        EXPECT_EQ(parts.d % 64, 0u);
        EXPECT_EQ(parts.sum % 64, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(Both, Q8, testing::Values(q8_32, q8_256), [](const auto& test) {
    return std::string(test.param == q8_32 ? "q8_32" : "q8_256");
});

TEST(PlainActivations, AreCopied) {
    const auto x = numbers(96, 3);
    EXPECT_EQ(Encoded(f32, x).decoded(), x);
}

}  // namespace
}  // namespace powerinfer::quant
