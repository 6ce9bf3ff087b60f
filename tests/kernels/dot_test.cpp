#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "avxvnni_in_avx512.h"
#include "kernel_cases.h"
#include "quant/interleave.h"
#include "quant/lane_order.h"

namespace powerinfer::kernels {
namespace {

constexpr float kSentinel = -12345.0f;

class Dot : public testing::TestWithParam<DType> {};

std::string type_name(const testing::TestParamInfo<DType>& param) {
    return std::string(info(param.param).name);
}
INSTANTIATE_TEST_SUITE_P(All, Dot, testing::ValuesIn(kWeightTypes), type_name);

/// Results of a whole case; checks that nothing around them is written.
std::vector<float> run(const Ops& ops, const DotCase& c, bool interleaved = false) {
    const int64_t stride = c.n_rows + 3;
    std::vector<float> out(static_cast<size_t>(c.n_tokens * stride + 2), kSentinel);
    (interleaved ? ops.dot_interleaved : ops.dot)[id(c.type)](c.args(out.data() + 2, stride));
    std::vector<float> result;
    EXPECT_EQ(out[0], kSentinel);
    EXPECT_EQ(out[1], kSentinel);
    for (int64_t t = 0; t < c.n_tokens; ++t) {
        for (int64_t r = 0; r < stride; ++r) {
            const float value = out[static_cast<size_t>(2 + t * stride + r)];
            if (r < c.n_rows) {
                result.push_back(value);
            } else {
                EXPECT_EQ(value, kSentinel);
            }
        }
    }
    return result;
}

TEST_P(Dot, ScalarMatchesBruteForce) {
    Random random(1);
    for (const int64_t blocks : {1, 2, 3, 7, 16}) {
        const DotCase c(random, GetParam(), 3, 2, blocks * info(GetParam()).block);
        const auto out = run(table("scalar"), c);
        for (int64_t t = 0; t < c.n_tokens; ++t) {
            for (int64_t r = 0; r < c.n_rows; ++r) {
                const auto w = c.row(r), x = c.act(t);
                double sum = 0, magnitude = 0;
                for (size_t i = 0; i < w.size(); ++i) {
                    sum += static_cast<double>(w[i]) * static_cast<double>(x[i]);
                    magnitude += std::fabs(static_cast<double>(w[i]) * static_cast<double>(x[i]));
                }
                // Decoded activations were rounded once each, and the result once.
                EXPECT_NEAR(out[static_cast<size_t>(t * c.n_rows + r)], sum, 0x1p-23 * magnitude + 1e-30);
            }
        }
    }
}

TEST_P(Dot, EveryIsaMatchesScalar) {
    Random random(2);
    std::vector<int64_t> sizes;
    for (int64_t blocks = 1; blocks <= 64; ++blocks) sizes.push_back(blocks * info(GetParam()).block);
    for (const int64_t n : {4096, 11008, 14336}) sizes.push_back(n);
    for (const int64_t n : sizes) {
        const DotCase c(random, GetParam(), 1 + random.below(20), 1 + random.below(5), n);
        const auto expected = run(table("scalar"), c);
        for (const auto isa : isas()) {
            const auto out = run(table(isa), c);
            for (size_t i = 0; i < out.size(); ++i) {
                const auto r = static_cast<int64_t>(i) % c.n_rows, t = static_cast<int64_t>(i) / c.n_rows;
                ASSERT_NEAR(out[i], expected[i], c.bound(r, t))
                    << isa << " n " << n << " row " << r << " token " << t;
            }
        }
    }
}

DotCase interleaved(const DotCase& c) {
    DotCase strips = c;
    strips.weights.assign(quant::interleaved_bytes(c.type, c.n, c.n_rows), 0);
    for (int64_t r = 0; r < c.n_rows; r += 16) {
        const auto at = static_cast<size_t>(r) * c.row_stride();
        quant::interleave(c.type, c.weights.data() + at, c.row_stride(), std::min<int64_t>(16, c.n_rows - r), c.n,
                          strips.weights.data() + at);
    }
    return strips;
}

TEST_P(Dot, InterleavedRowsGiveTheSameBits) {
    if (!quant::can_interleave(GetParam())) {
        for (const auto isa : isas()) EXPECT_EQ(table(isa).dot_interleaved[id(GetParam())], nullptr);
        return;
    }
    Random random(5);
    for (const int64_t n_tokens : {1, 2, 3, 13}) {
        for (const int64_t n_rows : {1, 7, 9, 16, 17, 45}) {
            const DotCase c(random, GetParam(), n_rows, n_tokens, 1280);
            const DotCase strips = interleaved(c);
            for (const auto isa : isas()) {
                const auto expected = run(table(isa), c), out = run(table(isa), strips, true);
                for (size_t i = 0; i < out.size(); ++i)
                    ASSERT_TRUE(same_bits(out[i], expected[i]))
                        << isa << " rows " << n_rows << " result " << i;
            }
        }
    }
}

/// What dot_lists gives for the rows of a case with a list of tokens each, and what dot gives for the same pairs.
void expect_lists_agree(const ListsFn lists, const DotFn dot, const DotCase& c, Random& random, std::string_view isa) {
    const auto encoding = quant::format(c.type).activation;
    const size_t stride = quant::lane_order_bytes(encoding, c.n);
    std::vector<uint8_t> acts(static_cast<size_t>(c.n_tokens) * stride, 0xEE);
    for (int64_t t = 0; t < c.n_tokens; ++t)
        quant::to_lane_order(encoding, c.acts.data() + static_cast<size_t>(t) * c.act_stride,
                             acts.data() + static_cast<size_t>(t) * stride, c.n);
    std::vector<int32_t> starts = {0}, tokens;
    for (int64_t r = 0; r < c.n_rows; ++r) {
        const auto list = random.list(random.below(8), static_cast<int>(c.n_tokens));
        tokens.insert(tokens.end(), list.begin(), list.end());
        starts.push_back(static_cast<int32_t>(tokens.size()));
    }
    std::vector<float> out(tokens.size() + 1, kSentinel);
    lists({.weights = c.weights.data(),
           .row_stride = c.row_stride(),
           .n_rows = c.n_rows,
           .n = c.n,
           .acts = acts.data(),
           .act_stride = stride,
           .starts = starts.data(),
           .tokens = tokens.data(),
           .out = out.data()});
    EXPECT_EQ(out.back(), kSentinel);
    for (int32_t r = 0; r < c.n_rows; ++r) {
        for (int32_t k = starts[static_cast<size_t>(r)]; k < starts[static_cast<size_t>(r) + 1]; ++k) {
            float expected = 0;
            DotArgs a = c.args(&expected, 1);
            a.n_rows = a.n_tokens = 1;
            a.row_ids = &r;
            a.token_ids = &tokens[static_cast<size_t>(k)];
            dot(a);
            ASSERT_TRUE(same_bits(out[static_cast<size_t>(k)], expected)) << isa << " n " << c.n << " row " << r << " at " << k;
        }
    }
}

TEST_P(Dot, TokenListsGiveTheSameBits) {
    const bool expected = quant::format(GetParam()).activation != quant::ActivationEncoding::f32;
    Random random(7);
    for (const auto isa : isas()) {
        const Ops& ops = table(isa);
        ASSERT_EQ(ops.dot_lists[id(GetParam())] != nullptr, expected && isa != "scalar") << isa;
        if (!ops.dot_lists[id(GetParam())]) continue;
        for (const int64_t blocks : {1, 3, 4, 8, 15, 16, 17, 24, 32, 37}) {
            const DotCase c(random, GetParam(), 9, 6, blocks * info(GetParam()).block);
            expect_lists_agree(ops.dot_lists[id(GetParam())], ops.dot[id(GetParam())], c, random, isa);
        }
    }
}

TEST_P(Dot, BitsDoNotDependOnTheOtherRowsAndTokens) {
    const int64_t n =
        GetParam() == DType::F32 || GetParam() == DType::F16 || GetParam() == DType::BF16 ? 100 : 768;
    Random random(3);
    const DotCase c(random, GetParam(), 40, 20, n);
    for (const auto isa : isas()) {
        const DotFn dot = table(isa).dot[id(GetParam())];
        std::vector<float> single(static_cast<size_t>(c.n_rows * c.n_tokens));
        for (int32_t t = 0; t < c.n_tokens; ++t) {
            for (int32_t r = 0; r < c.n_rows; ++r) {
                DotArgs a = c.args(&single[static_cast<size_t>(t * c.n_rows + r)], 1);
                a.n_rows = a.n_tokens = 1;
                a.row_ids = &r;
                a.token_ids = &t;
                dot(a);
            }
        }
        for (const int rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33}) {
            for (int tokens = 1; tokens <= 17; ++tokens) {
                const auto row_ids = random.list(rows, 40), token_ids = random.list(tokens, 20);
                for (const bool lists : {false, true}) {
                    std::vector<float> out(static_cast<size_t>(rows * tokens), kSentinel);
                    DotArgs a = c.args(out.data(), rows);
                    a.n_rows = rows;
                    a.n_tokens = tokens;
                    if (lists) {
                        a.row_ids = row_ids.data();
                        a.token_ids = token_ids.data();
                    }
                    dot(a);
                    for (int t = 0; t < tokens; ++t) {
                        for (int r = 0; r < rows; ++r) {
                            const int row = lists ? row_ids[static_cast<size_t>(r)] : r;
                            const int token = lists ? token_ids[static_cast<size_t>(t)] : t;
                            ASSERT_TRUE(same_bits(out[static_cast<size_t>(t * rows + r)],
                                                  single[static_cast<size_t>(token * c.n_rows + row)]))
                                << isa << " rows " << rows << " tokens " << tokens << " at " << r << ", "
                                << t;
                        }
                    }
                }
            }
        }
    }
}

TEST_P(Dot, VectorSetsAgreeBitForBit) {
    const auto all = isas();
    if (all.size() < 3) GTEST_SKIP() << "needs two vector sets";
    Random random(4);
    for (const int64_t blocks : {1, 5, 43}) {
        const DotCase c(random, GetParam(), 19, 11, blocks * std::max(32, info(GetParam()).block));
        const auto best = run(table(all.front()), c);
        for (size_t k = 1; k + 1 < all.size(); ++k) {
            const auto other = run(table(all[k]), c);
            for (size_t i = 0; i < best.size(); ++i)
                ASSERT_TRUE(same_bits(best[i], other[i])) << all[k] << " " << i;
        }
    }
}

#if defined(__x86_64__)
TEST_P(Dot, AvxVnniInTheEncodingOfAvx512AgreesBitForBit) {
    if (!read_cpu_info().avx512) GTEST_SKIP() << "needs AVX-512";
    Ops vnni;
    add_avxvnni_dots_in_avx512(vnni);
    if (!vnni.dot[id(GetParam())]) GTEST_SKIP() << "no format of blocks";
    Random random(6);
    for (const int64_t blocks : {1, 5, 43}) {
        for (const int64_t n_tokens : {1, 7}) {
            const DotCase c(random, GetParam(), 19, n_tokens, blocks * std::max(32, info(GetParam()).block));
            const auto expected = run(table("avx2"), c), out = run(vnni, c);
            for (size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(same_bits(expected[i], out[i])) << i;
            if (!vnni.dot_interleaved[id(GetParam())] || !quant::can_interleave(GetParam())) continue;
            expect_lists_agree(vnni.dot_lists[id(GetParam())], table("avx2").dot[id(GetParam())], c, random, "avxvnni");
            const DotCase strips = interleaved(c);
            const auto of_strips = run(vnni, strips, true);
            for (size_t i = 0; i < out.size(); ++i) ASSERT_TRUE(same_bits(expected[i], of_strips[i])) << i;
        }
    }
}
#endif

TEST_P(Dot, DamagedActivationsShow) {
    Random random(5);
    for (const auto isa : isas()) {
        DotCase c(random, GetParam(), 2, 1, 512);
        auto x = random.floats(512);
        x[77] = std::nanf("");
        table(isa).encode(quant::format(GetParam()).activation, x.data(), c.acts.data(), 512);
        for (const float value : run(table(isa), c)) EXPECT_TRUE(std::isnan(value)) << isa;
    }
}

}  // namespace
}  // namespace powerinfer::kernels
