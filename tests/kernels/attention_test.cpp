#include <gtest/gtest.h>

#include <limits>

#include "kernel_cases.h"

namespace powerinfer::kernels {
namespace {

struct Shape {
    int n_group, head_dim_k, head_dim_v;
    int64_t n_positions;
    float softcap;
};

struct State {
    std::vector<float> max, sum, acc;
    State(int n_group, int head_dim_v)
        : max(static_cast<size_t>(n_group), -std::numeric_limits<float>::infinity()),
          sum(static_cast<size_t>(n_group)),
          acc(static_cast<size_t>(n_group * head_dim_v)) {}
    bool operator==(const State& other) const {
        const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
        };
        return same(max, other.max) && same(sum, other.sum) && same(acc, other.acc);
    }
};

/// Cached keys and values with a gap after every row, and queries.
struct Case {
    Shape s;
    bool half;
    size_t element, k_stride, v_stride;
    std::vector<float> q;
    std::vector<uint8_t> k, v;

    Case(Random& random, Shape shape, bool f16) : s(shape), half(f16), element(f16 ? 2 : 4) {
        k_stride = static_cast<size_t>(s.head_dim_k + 8) * element;
        v_stride = static_cast<size_t>(s.head_dim_v + 24) * element;
        q = random.floats(s.n_group * s.head_dim_k);
        for (float& x : q) x *= 2.0f / std::sqrt(static_cast<float>(s.head_dim_k));
        const quant::Format& format = quant::format(half ? DType::F16 : DType::F32);
        k.resize(static_cast<size_t>(s.n_positions) * k_stride);
        v.resize(static_cast<size_t>(s.n_positions) * v_stride);
        for (int64_t p = 0; p < s.n_positions; ++p) {
            const auto key = random.floats(s.head_dim_k), value = random.floats(s.head_dim_v);
            format.encode(key.data(), &k[static_cast<size_t>(p) * k_stride], s.head_dim_k, nullptr);
            format.encode(value.data(), &v[static_cast<size_t>(p) * v_stride], s.head_dim_v, nullptr);
        }
    }
    float at(const std::vector<uint8_t>& bytes, size_t offset) const {
        float x;
        quant::format(half ? DType::F16 : DType::F32).decode(&bytes[offset], &x, 1);
        return x;
    }
    AttentionArgs args(State& state) const {
        AttentionArgs a{};
        a.q = q.data();
        a.n_group = s.n_group;
        a.head_dim_k = s.head_dim_k;
        a.head_dim_v = s.head_dim_v;
        a.k = k.data();
        a.v = v.data();
        a.k_stride = k_stride;
        a.v_stride = v_stride;
        a.n_positions = s.n_positions;
        a.softcap = s.softcap;
        a.max = state.max.data();
        a.sum = state.sum.data();
        a.acc = state.acc.data();
        return a;
    }
    State run(const Ops& ops) const {
        State state(s.n_group, s.head_dim_v);
        (half ? ops.attention_f16 : ops.attention_f32)(args(state));
        return state;
    }
    /// softmax(q k) v in double for head g.
    std::vector<double> exact(int g) const {
        std::vector<double> score(static_cast<size_t>(s.n_positions)), out(static_cast<size_t>(s.head_dim_v));
        double max = -1e300, sum = 0;
        for (size_t p = 0; p < score.size(); ++p) {
            for (int i = 0; i < s.head_dim_k; ++i)
                score[p] += static_cast<double>(q[static_cast<size_t>(g * s.head_dim_k + i)]) *
                            static_cast<double>(at(k, p * k_stride + static_cast<size_t>(i) * element));
            if (s.softcap != 0)
                score[p] =
                    static_cast<double>(s.softcap) * std::tanh(score[p] / static_cast<double>(s.softcap));
            max = std::max(max, score[p]);
        }
        for (double& x : score) sum += x = std::exp(x - max);
        for (int i = 0; i < s.head_dim_v; ++i) {
            for (size_t p = 0; p < score.size(); ++p)
                out[static_cast<size_t>(i)] +=
                    score[p] / sum *
                    static_cast<double>(at(v, p * v_stride + static_cast<size_t>(i) * element));
        }
        return out;
    }
};

constexpr Shape kShapes[] = {{1, 64, 64, 1, 0},     {1, 128, 128, 63, 0},       {4, 128, 128, 64, 0},
                             {7, 80, 80, 65, 0},    {3, 100, 36, 200, 0},       {8, 40, 7, 129, 0},
                             {5, 192, 128, 300, 0}, {2, 256, 256, 1000, 50.0f}, {1, 16, 1, 17, 5.0f},
                             {71, 64, 64, 70, 0}};

TEST(Attention, EveryIsaMatchesDouble) {
    Random random(31);
    for (const Shape& shape : kShapes) {
        for (const bool half : {false, true}) {
            const Case c(random, shape, half);
            for (const auto isa : isas()) {
                const State state = c.run(table(isa));
                for (int g = 0; g < shape.n_group; ++g) {
                    const auto expected = c.exact(g);
                    for (size_t i = 0; i < expected.size(); ++i) {
                        const float out = state.acc[static_cast<size_t>(g) * expected.size() + i] /
                                          state.sum[static_cast<size_t>(g)];
                        // Scores are sums of head_dim_k products of total size below 16, so off by 16 * 2^-24
                        // * (head_dim_k / 16 + 6) at most, which exp turns into a relative error; values are
                        // below 6.
                        const double relative =
                            (16.0 * (shape.head_dim_k / 16.0 + 6) + static_cast<double>(shape.n_positions)) *
                            0x1p-24;
                        ASSERT_NEAR(out, expected[i], 6 * relative) << isa << " head " << g << " value " << i;
                    }
                }
            }
        }
    }
}

TEST(Attention, BitsDoNotDependOnTheGroupOrOnCutsAtBlocks) {
    Random random(32);
    for (const Shape& shape : kShapes) {
        for (const bool half : {false, true}) {
            const Case c(random, shape, half);
            for (const auto isa : isas()) {
                const Ops& ops = table(isa);
                const auto attention = half ? ops.attention_f16 : ops.attention_f32;
                const State whole = c.run(ops);
                State cut(shape.n_group, shape.head_dim_v);
                for (int g = 0; g < shape.n_group; ++g) {
                    for (int64_t p = 0; p < shape.n_positions; p += 2 * kAttentionBlock) {
                        AttentionArgs a = c.args(cut);
                        a.q += g * shape.head_dim_k;
                        a.n_group = 1;
                        a.max += g;
                        a.sum += g;
                        a.acc += g * shape.head_dim_v;
                        a.k += static_cast<size_t>(p) * a.k_stride;
                        a.v += static_cast<size_t>(p) * a.v_stride;
                        a.n_positions = std::min<int64_t>(2 * kAttentionBlock, shape.n_positions - p);
                        attention(a);
                    }
                }
                EXPECT_TRUE(whole == cut)
                    << isa << " group " << shape.n_group << " positions " << shape.n_positions;
            }
        }
    }
}

TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
    Random random(33);
    Case c(random, {2, 64, 64, 150, 0}, false);
    for (float& x : c.q) x *= 500;
    for (const auto isa : isas()) {
        const State state = c.run(table(isa));
        for (const float s : state.sum) EXPECT_TRUE(s >= 1 && s < 150) << isa << " " << s;
        for (const float x : state.acc) EXPECT_TRUE(std::isfinite(x)) << isa;
    }
}

TEST(Attention, NanReachesTheResult) {
    Random random(34);
    Case c(random, {3, 64, 64, 100, 0}, false);
    const float nan = std::nanf("");
    std::memcpy(&c.k[70 * c.k_stride], &nan, sizeof nan);
    for (const auto isa : isas()) {
        const State state = c.run(table(isa));
        for (const float s : state.sum) EXPECT_TRUE(std::isnan(s)) << isa;
    }
}

TEST(Attention, VectorSetsAgreeBitForBit) {
    if (isas().size() < 3) GTEST_SKIP() << "needs AVX-512";
    Random random(35);
    for (const Shape& shape : kShapes) {
        const Case c(random, shape, true);
        EXPECT_TRUE(c.run(table("avx2")) == c.run(table("avx512")));
    }
}

}  // namespace
}  // namespace powerinfer::kernels
