#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernel_cases.h"

namespace powerinfer::kernels {
namespace {

constexpr GateActivation kActivations[] = {GateActivation::silu,         GateActivation::relu,
                                           GateActivation::relu_squared, GateActivation::gelu,
                                           GateActivation::gelu_quick,   GateActivation::drelu};

double exact(GateActivation act, double x) {
    switch (act) {
        case GateActivation::silu:
            return x / (1 + std::exp(-x));
        case GateActivation::relu:
        case GateActivation::drelu:
            return std::max(x, 0.0);
        case GateActivation::relu_squared:
            return std::max(x, 0.0) * std::max(x, 0.0);
        case GateActivation::gelu:
            return 0.5 * x *
                   (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
        case GateActivation::gelu_quick:
            return x / (1 + std::exp(-1.702 * x));
    }
    return 0;
}

TEST(Vector, GateMatchesExactFormulas) {
    Random random(21);
    for (int64_t n = 1; n <= 67; ++n) {
        auto gate = random.floats(n), up = random.floats(n);
        for (float& x : gate) x *= 4;
        for (const auto isa : isas()) {
            for (const GateActivation act : kActivations) {
                for (const bool gated : {false, true}) {
                    std::vector<float> h(static_cast<size_t>(n + 1), 99.0f);
                    table(isa).gate(act, gate.data(), gated ? up.data() : nullptr, h.data(), n);
                    for (size_t i = 0; i < gate.size(); ++i) {
                        double expected = exact(act, static_cast<double>(gate[i]));
                        if (gated) {
                            const auto u = static_cast<double>(up[i]);
                            expected *= act == GateActivation::drelu ? std::max(u, 0.0) : u;
                        }
                        // The exponent's argument s is rounded (relative 2^-22 at most), which e^-s magnifies
                        // by |s|.
                        const double slack = (8 + 8 * std::fabs(static_cast<double>(gate[i]))) * 0x1p-23;
                        ASSERT_NEAR(
                            h[i], expected,
                            slack * std::fabs(expected) + (act == GateActivation::gelu ? 1e-7 : 1e-37))
                            << isa << " activation " << static_cast<int>(act) << " x " << gate[i];
                    }
                    EXPECT_EQ(h.back(), 99.0f);
                }
            }
        }
    }
}

TEST(Vector, ActivationsAtTheEdges) {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {0.0f, -0.0f, 1e30f, -1e30f, inf, std::nanf(""), -1e-40f, 1e-40f};
    for (const auto isa : isas()) {
        for (const GateActivation act : kActivations) {
            std::vector<float> h(x.size());
            table(isa).gate(act, x.data(), nullptr, h.data(), static_cast<int64_t>(x.size()));
            EXPECT_EQ(h[0], 0.0f);
            EXPECT_EQ(h[1], 0.0f);
            EXPECT_EQ(h[2], act == GateActivation::relu_squared ? inf : 1e30f);
            EXPECT_EQ(h[3], 0.0f) << isa << " " << static_cast<int>(act);
            EXPECT_EQ(h[4], inf);
            EXPECT_TRUE(std::isnan(h[5])) << isa << " " << static_cast<int>(act);
        }
    }
}

TEST(Vector, ReluGivesExactZeros) {
    Random random(22);
    const auto gate = random.floats(1000), up = random.floats(1000);
    for (const auto isa : isas()) {
        for (const GateActivation act :
             {GateActivation::relu, GateActivation::relu_squared, GateActivation::drelu}) {
            std::vector<float> h(1000);
            table(isa).gate(act, gate.data(), up.data(), h.data(), 1000);
            for (size_t i = 0; i < h.size(); ++i) {
                const bool active = gate[i] > 0 && (act != GateActivation::drelu || up[i] > 0);
                ASSERT_EQ(h[i] != 0, active) << isa;
            }
        }
    }
}

TEST(Vector, RmsNormMatchesDouble) {
    Random random(23);
    for (const int64_t n : {1, 2, 15, 16, 17, 63, 64, 100, 4096, 5120}) {
        const auto x = random.floats(n), weight = random.floats(n);
        double sum = 0;
        for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
        const double scale = 1 / std::sqrt(sum / static_cast<double>(n) + 1e-5);
        for (const auto isa : isas()) {
            std::vector<float> y(x);  // in place
            y.push_back(5.0f);
            table(isa).rms_norm(y.data(), weight.data(), y.data(), n, 1e-5f);
            for (size_t i = 0; i < x.size(); ++i) {
                const double expected = static_cast<double>(x[i]) * scale * static_cast<double>(weight[i]);
                const double roundings = static_cast<double>(n) / 16 + 12;
                ASSERT_NEAR(y[i], expected, roundings * 0x1p-24 * std::fabs(expected)) << isa << " n " << n;
            }
            EXPECT_EQ(y.back(), 5.0f);
        }
    }
}

TEST(Vector, AddIsExact) {
    Random random(24);
    for (int64_t n = 1; n <= 67; ++n) {
        const auto x = random.floats(n), start = random.floats(n);
        for (const auto isa : isas()) {
            auto y = start;
            table(isa).add(x.data(), y.data(), n);
            for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], start[i] + x[i]) << isa;
        }
    }
}

TEST(Vector, NarrowingRoundsLikeTheReference) {
    Random random(25);
    std::vector<float> x;
    for (uint32_t bits = 0; bits < 0xFFFF0000u; bits += 0x7FF1) {
        float f;
        std::memcpy(&f, &bits, sizeof f);
        x.push_back(f);
    }
    for (const auto isa : isas()) {
        std::vector<uint16_t> y(x.size());
        table(isa).f32_to_f16(x.data(), y.data(), static_cast<int64_t>(x.size()));
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], f32_to_f16(x[i])) << isa << " " << x[i];
    }
}

TEST(Vector, DecodesEveryFormat) {
    Random random(26);
    for (const DType type : kWeightTypes) {
        const auto rows = random.rows(type, 1, 1024);
        std::vector<float> expected(1024), x(1024);
        quant::format(type).decode(rows.data(), expected.data(), 1024);
        for (const auto isa : isas()) {
            table(isa).decode[id(type)](rows.data(), x.data(), 1024);
            EXPECT_EQ(x, expected) << isa << " " << info(type).name;
        }
    }
}

class Encoder : public testing::TestWithParam<quant::ActivationEncoding> {};
INSTANTIATE_TEST_SUITE_P(All, Encoder,
                         testing::Values(quant::ActivationEncoding::f32, quant::ActivationEncoding::q8_32,
                                         quant::ActivationEncoding::q8_256));

TEST_P(Encoder, EveryIsaGivesTheBytesOfTheReference) {
    Random random(27);
    for (const int64_t n : {256, 512, 768, 4096, 11008, 14336}) {
        for (const float scale : {1.0f, 1e-3f, 1e-36f, 1e20f, 0.0f}) {
            auto x = random.floats(n);
            for (float& v : x) v *= scale;
            x[5] = 1000 * scale;        // an outlier
            x[40] = 0.5f / 127 * x[5];  // ties
            x[41] = 2.5f / 127 * x[5];
            x[250] = std::numeric_limits<float>::denorm_min();
            const size_t bytes = quant::activation_bytes(GetParam(), n);
            std::vector<uint8_t> expected(bytes + 8, 0xAB);
            quant::encode_activation(GetParam(), x.data(), expected.data(), n);
            for (const auto isa : isas()) {
                std::vector<uint8_t> encoded(bytes + 8, 0xAB);
                table(isa).encode(GetParam(), x.data(), encoded.data(), n);
                ASSERT_EQ(encoded, expected) << isa << " n " << n << " scale " << scale;
            }
        }
    }
}

TEST_P(Encoder, MarksBlocksWithInfinityOrNan) {
    if (GetParam() == quant::ActivationEncoding::f32) return;
    Random random(28);
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")}) {
        for (const size_t at : {size_t{0}, size_t{255}, size_t{300}}) {
            auto x = random.floats(512);
            x[at] = bad;
            const size_t bytes = quant::activation_bytes(GetParam(), 512);
            std::vector<uint8_t> expected(bytes), encoded(bytes);
            quant::encode_activation(GetParam(), x.data(), expected.data(), 512);
            std::vector<float> a(512), b(512);
            quant::decode_activation(GetParam(), expected.data(), a.data(), 512);
            EXPECT_TRUE(std::isnan(a[at]));
            for (const auto isa : isas()) {
                table(isa).encode(GetParam(), x.data(), encoded.data(), 512);
                quant::decode_activation(GetParam(), encoded.data(), b.data(), 512);
                for (size_t i = 0; i < 512; ++i) {
                    if (std::isnan(a[i])) {
                        ASSERT_TRUE(std::isnan(b[i])) << isa;
                    } else {
                        ASSERT_EQ(a[i], b[i]) << isa;
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace powerinfer::kernels
