#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/aligned.h"
#include "kernel_cases.h"
#include "quant/coded.h"

namespace powerinfer::kernels {
namespace {

constexpr float kSentinel = 777.0f;

class Axpy : public testing::TestWithParam<DType> {};

std::string type_name(const testing::TestParamInfo<DType>& param) {
    return std::string(info(param.param).name);
}
INSTANTIATE_TEST_SUITE_P(All, Axpy, testing::ValuesIn(kWeightTypes), type_name);

struct Case {
    DType type;
    int64_t n_rows, n;
    std::vector<uint8_t> weights;
    std::vector<float> coef, start;
    Case(Random& random, DType t, int64_t rows, int64_t elements)
        : type(t),
          n_rows(rows),
          n(elements),
          weights(random.rows(t, rows, elements)),
          coef(random.floats(rows)),
          start(random.floats(elements)) {
        for (float& c : coef) {
            if (random.below(3) == 0) c = 0;
        }
        start[0] = -0.0f;
    }
    AxpyArgs args(float* out) const {
        return {weights.data(), row_bytes(type, n), nullptr, coef.data(), n_rows, n, out, 0};
    }
    bool of_blocks() const { return quant::find_coded_format(type) != nullptr; }
    /// The sum in double, and what `run` may be off by: roundings of floats, and for block formats those of whole
    /// coefficients, half a step of the largest one of the slab per unit of a code.
    void expect(std::vector<double>& sum, std::vector<double>& bound) const {
        sum.assign(start.begin(), start.end());
        bound.assign(sum.size(), 0);
        std::vector<double> magnitude(sum.size());
        for (size_t i = 0; i < sum.size(); ++i) magnitude[i] = std::fabs(sum[i]);
        const quant::CodedFormat* format = quant::find_coded_format(type);
        const int64_t block = format ? format->block : 1;
        quant::CodedBlock parts{};
        for (int64_t b = 0; b < n / block; ++b) {
            // By slab: [group] the largest coefficient, [element] the sum of the codes' magnitudes.
            for (int64_t first = 0; first < n_rows; first += kAxpySlab) {
                double largest[16] = {}, codes[256] = {};
                for (int64_t r = first; r < std::min(first + kAxpySlab, n_rows); ++r) {
                    const uint8_t* row = weights.data() + static_cast<size_t>(r) * row_bytes(type, n);
                    const double c = coef[static_cast<size_t>(r)];
                    float w = 0;
                    if (format) {
                        format->take_apart(row + row_bytes(type, b * block), parts);
                    } else {
                        quant::format(type).decode(row + row_bytes(type, b), &w, 1);
                    }
                    for (int64_t i = 0; i < block; ++i) {
                        const auto at = static_cast<size_t>(b * block + i);
                        const int64_t g = format ? i / format->group : 0;
                        const double product = format ? c * parts.scale[g] * parts.code[i] : c * w;
                        const double min = format ? c * parts.min[g] : 0;
                        sum[at] += product - min;
                        magnitude[at] += std::fabs(product) + std::fabs(min);
                        if (!format) continue;
                        largest[g] = std::max(largest[g], std::fabs(c * parts.scale[g]));
                        codes[i] += std::abs(parts.code[i]);
                    }
                }
                for (int64_t i = 0; format && i < block; ++i)
                    bound[static_cast<size_t>(b * block + i)] +=
                        largest[i / format->group] * codes[i] / (2 * kAxpyLargest) * 1.001;
            }
        }
        for (size_t i = 0; i < sum.size(); ++i)
            bound[i] += 2 * (static_cast<double>(n_rows) + 4) * 0x1p-24 * magnitude[i] + 1e-27;
    }
    std::vector<float> run(const Ops& ops) const {
        std::vector<float> out(start);
        out.insert(out.begin(), kSentinel);
        out.push_back(kSentinel);
        ops.axpy[id(type)](args(out.data() + 1));
        EXPECT_EQ(out.front(), kSentinel);
        EXPECT_EQ(out.back(), kSentinel);
        return {out.begin() + 1, out.end() - 1};
    }
};

void expect_right(const Case& c) {
    std::vector<double> sum, bound;
    c.expect(sum, bound);
    std::vector<float> first;
    for (const auto isa : isas()) {
        const auto out = c.run(table(isa));
        for (size_t i = 0; i < sum.size(); ++i)
            ASSERT_NEAR(out[i], sum[i], bound[i]) << isa << " rows " << c.n_rows << " n " << c.n << " element " << i;
        // Block formats: the same bits everywhere.
        if (first.empty()) first = out;
        for (size_t i = 0; c.of_blocks() && i < out.size(); ++i)
            ASSERT_TRUE(same_bits(out[i], first[i])) << isa << " rows " << c.n_rows << " n " << c.n << " element " << i;
    }
}

TEST_P(Axpy, EveryIsaMatchesBruteForce) {
    Random random(11);
    std::vector<int64_t> sizes;
    for (int64_t blocks = 1; blocks <= 64; ++blocks) sizes.push_back(blocks * info(GetParam()).block);
    for (const int64_t n : {4096, 11008}) sizes.push_back(n);
    for (const int64_t n : sizes) expect_right(Case(random, GetParam(), 1 + random.below(12), n));
}

TEST_P(Axpy, ManyRows) {
    Random random(14);
    for (const int64_t rows : {63, 64, 65, 300, 511, 512, 513, 1100}) expect_right(Case(random, GetParam(), rows, 512));
}

TEST_P(Axpy, CoefficientsOfAllMagnitudes) {
    Random random(15);
    for (int i = 0; i < 20; ++i) {
        Case c(random, GetParam(), 40, 512);
        for (float& x : c.coef) x *= std::pow(10.0f, static_cast<float>(random.below(i < 10 ? 12 : 60) - 30));
        if (i % 2) std::fill(c.start.begin(), c.start.end(), 0.0f);
        expect_right(c);
    }
}

// Whole numbers at their largest: a slab full of the codes furthest from zero, all with the largest coefficient.
TEST_P(Axpy, LargestSumsFit) {
    Random random(16);
    for (const int byte : {0x00, 0x7F, 0x80, 0xFF}) {
        Case c(random, GetParam(), kAxpySlab, 256);
        if (!c.of_blocks()) return;  // floats are not summed in whole numbers
        std::fill(c.weights.begin(), c.weights.end(), static_cast<uint8_t>(byte));
        const auto block = static_cast<size_t>(info(c.type).bytes);
        for (size_t at = 0; at < c.weights.size(); at += block) {
            for (const size_t offset : half_offsets(c.type)) {
                const uint16_t one = f32_to_f16(1.0f);
                std::memcpy(&c.weights[at + offset], &one, sizeof one);
            }
            if (c.type == DType::MXFP4) c.weights[at] = 127;
        }
        std::fill(c.coef.begin(), c.coef.end(), byte == 0x7F ? -3.0f : 3.0f);
        expect_right(c);
    }
}

TEST_P(Axpy, InfAndNanAreNotLost) {
    Random random(17);
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
        Case c(random, GetParam(), 7, 512);
        c.coef[3] = bad;
        for (const auto isa : isas()) {
            const auto out = c.run(table(isa));
            for (size_t i = 0; i < out.size(); ++i) EXPECT_FALSE(std::isfinite(out[i])) << isa << " " << i;
        }
    }
}

TEST_P(Axpy, CutsIntoColumnsSlabsAndListsLeaveNoTrace) {
    Random random(12);
    const Case c(random, GetParam(), 1100, 1024);
    std::vector<int32_t> ids(static_cast<size_t>(c.n_rows));
    std::iota(ids.begin(), ids.end(), 0);
    for (const auto isa : isas()) {
        const auto whole = c.run(table(isa));
        const AxpyFn axpy = table(isa).axpy[id(c.type)];
        const auto expect_same = [&](const std::vector<float>& out, const char* what) {
            for (size_t i = 0; i < out.size(); ++i)
                ASSERT_TRUE(same_bits(out[i], whole[i])) << isa << " " << what << " " << i;
        };
        auto out = c.start;
        for (int64_t at = 0; at < c.n; at += 256) {
            AxpyArgs a = c.args(out.data() + at);
            a.weights += row_bytes(c.type, at);
            a.n = 256;
            axpy(a);
        }
        expect_same(out, "columns");
        for (const bool listed : {true, false}) {
            out = c.start;
            for (int64_t r = 0; r < c.n_rows; r += kAxpySlab) {
                AxpyArgs a = c.args(out.data());
                if (listed) a.row_ids = ids.data() + r;
                a.first_row = r;
                a.coef += r;
                a.n_rows = std::min(kAxpySlab, c.n_rows - r);
                axpy(a);
            }
            expect_same(out, "slabs");
        }
        out = c.start;  // a list without the rows whose coefficient is zero
        std::vector<int32_t> some;
        std::vector<float> coef;
        for (const int32_t i : ids) {
            if (c.coef[static_cast<size_t>(i)] == 0) continue;
            some.push_back(i);
            coef.push_back(c.coef[static_cast<size_t>(i)]);
        }
        AxpyArgs a = c.args(out.data());
        a.row_ids = some.data();
        a.coef = coef.data();
        a.n_rows = static_cast<int64_t>(some.size());
        axpy(a);
        expect_same(out, "list");
    }
}

TEST_P(Axpy, PreparedRowsGiveTheSameBits) {
    Random random(19);
    const int64_t block = std::max(32, info(GetParam()).block);
    for (const int64_t n : {block, 96 / block * block, 160 / block * block, kPreparedColumns}) {
        const Case c(random, GetParam(), 600, n == 0 ? block : n);
        std::vector<int32_t> ids;
        for (int32_t i = 64; i < c.n_rows; ++i) {
            if (random.below(3) == 0) ids.push_back(i);
        }
        for (const auto isa : isas()) {
            const PreparedAxpy& prepared = table(isa).prepared_axpy[id(c.type)];
            ASSERT_EQ(prepared.prepare != nullptr, c.of_blocks() && isa != "scalar") << isa;
            if (!prepared.prepare) continue;
            AlignedBuffer rows(static_cast<size_t>(c.n_rows - 64) * prepared.row_bytes);
            const size_t stride = row_bytes(c.type, c.n);
            prepared.prepare({.weights = c.weights.data() + 64 * stride,
                              .row_stride = stride,
                              .n_rows = c.n_rows - 64,
                              .n = c.n,
                              .dst = rows.data()});
            for (const bool listed : {true, false}) {
                auto expected = c.start, out = c.start;
                AxpyArgs a = c.args(expected.data());
                a.row_ids = listed ? ids.data() : nullptr;
                a.first_row = 64;
                a.n_rows = listed ? static_cast<int64_t>(ids.size()) : c.n_rows - 64;
                table(isa).axpy[id(c.type)](a);
                a.weights = rows.data();
                a.row_stride = prepared.row_bytes;
                a.base_row = 64;
                a.out = out.data();
                prepared.axpy(a);
                for (size_t i = 0; i < out.size(); ++i)
                    ASSERT_TRUE(same_bits(out[i], expected[i])) << isa << " n " << c.n << " listed " << listed << " " << i;
            }
        }
    }
}

// One row listed more often than a slab is long.
TEST_P(Axpy, RepeatedRows) {
    Random random(18);
    Case c(random, GetParam(), 1, 256);
    c.coef[0] = 0.5f;
    const std::vector<int32_t> ids(700, 0);
    const std::vector<float> coef(700, 0.5f);
    std::vector<float> w(256);
    quant::format(c.type).decode(c.weights.data(), w.data(), c.n);
    for (const auto isa : isas()) {
        std::vector<float> out(256, 0.0f);
        AxpyArgs a = c.args(out.data());
        a.row_ids = ids.data();
        a.coef = coef.data();
        a.n_rows = 700;
        table(isa).axpy[id(c.type)](a);
        for (size_t i = 0; i < out.size(); ++i)
            EXPECT_NEAR(out[i], 350 * w[i], 1e-4 * std::fabs(350 * w[i]) + 1e-3) << isa << " " << i;
    }
}

TEST_P(Axpy, ZeroCoefficientsLeaveEveryValue) {
    Random random(13);
    Case c(random, GetParam(), 9, 256);
    std::fill(c.coef.begin(), c.coef.end(), 0.0f);
    c.coef[3] = -0.0f;
    for (const auto isa : isas()) {
        const auto out = c.run(table(isa));
        for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], c.start[i]) << isa << " " << i;  // -0 may become 0
    }
}

}  // namespace
}  // namespace powerinfer::kernels
