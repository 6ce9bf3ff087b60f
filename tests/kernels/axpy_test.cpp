#include <gtest/gtest.h>

#include <algorithm>

#include "kernel_cases.h"

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
        return {weights.data(), row_bytes(type, n), nullptr, coef.data(), n_rows, n, out};
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

TEST_P(Axpy, EveryIsaMatchesBruteForce) {
    Random random(11);
    std::vector<int64_t> sizes;
    for (int64_t blocks = 1; blocks <= 64; ++blocks) sizes.push_back(blocks * info(GetParam()).block);
    for (const int64_t n : {4096, 11008}) sizes.push_back(n);
    for (const int64_t n : sizes) {
        const Case c(random, GetParam(), 1 + random.below(12), n);
        std::vector<double> sum(c.start.begin(), c.start.end()), magnitude(sum.size());
        for (size_t i = 0; i < sum.size(); ++i) magnitude[i] = std::fabs(sum[i]);
        std::vector<float> w(sum.size());
        for (size_t r = 0; r < c.coef.size(); ++r) {
            quant::format(c.type).decode(c.weights.data() + r * row_bytes(c.type, n), w.data(), n);
            for (size_t i = 0; i < sum.size(); ++i) {
                const double term = static_cast<double>(c.coef[r]) * static_cast<double>(w[i]);
                sum[i] += term;
                magnitude[i] += std::fabs(term);
            }
        }
        for (const auto isa : isas()) {
            const auto out = c.run(table(isa));
            for (size_t i = 0; i < sum.size(); ++i) {
                // At most two roundings per row, each of a partial sum.
                ASSERT_NEAR(out[i], sum[i],
                            2 * static_cast<double>(c.n_rows) * 0x1p-24 * magnitude[i] + 1e-30)
                    << isa << " n " << n << " element " << i;
            }
        }
    }
}

TEST_P(Axpy, CutsIntoColumnsRowsAndListsLeaveNoTrace) {
    Random random(12);
    const Case c(random, GetParam(), 23, 1024);
    std::vector<int32_t> ids(23);
    for (int i = 0; i < 23; ++i) ids[static_cast<size_t>(i)] = i;
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
        out = c.start;
        for (int64_t r = 0; r < c.n_rows;) {
            AxpyArgs a = c.args(out.data());
            a.row_ids = ids.data() + r;
            a.coef += r;
            a.n_rows = std::min<int64_t>(1 + random.below(6), c.n_rows - r);
            r += a.n_rows;
            axpy(a);
        }
        expect_same(out, "rows");
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
