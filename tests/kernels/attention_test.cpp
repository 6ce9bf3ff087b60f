#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "kernel_cases.h"

namespace powerinfer::kernels {
namespace {

struct Shape {
    int n_group, head_dim_k, head_dim_v;
    int64_t n_positions;
    float softcap;
};

constexpr DType kCacheTypes[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};

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

/// Keys or values of one head, with a gap after every row; exactly as long as needed, so that a checker of memory
/// accesses sees any read past the end. `meant` is what was encoded, `exact` what that stands for, [position][head_dim].
struct Side {
    int head_dim;
    size_t stride, scale_stride;
    std::vector<uint8_t> rows;
    std::vector<uint16_t> scales;
    std::vector<float> meant, exact;

    Side(Random& random, DType type, int n, int64_t n_positions, size_t gap)
        : head_dim(n), scale_stride(static_cast<size_t>(n_positions) + 5), meant(random.floats(n * n_positions)) {
        const bool apart = type == DType::Q8_0;
        const size_t bytes = apart ? static_cast<size_t>(n) : row_bytes(type, n);
        stride = bytes + gap;
        rows.resize(static_cast<size_t>(n_positions - 1) * stride + bytes);
        if (apart) scales.resize(static_cast<size_t>(n / 32 - 1) * scale_stride + static_cast<size_t>(n_positions));
        exact.resize(meant.size());
        std::vector<uint8_t> encoded(row_bytes(type, n));
        for (size_t p = 0; p < static_cast<size_t>(n_positions); ++p) {
            const size_t first = p * static_cast<size_t>(n);
            quant::format(type).encode(&meant[first], encoded.data(), n, nullptr);
            quant::format(type).decode(encoded.data(), &exact[first], n);
            if (!apart) {
                std::memcpy(&rows[p * stride], encoded.data(), bytes);
                continue;
            }
            for (size_t b = 0; b < static_cast<size_t>(n / 32); ++b) {
                std::memcpy(&scales[b * scale_stride + p], &encoded[34 * b], 2);
                std::memcpy(&rows[p * stride + 32 * b], &encoded[34 * b + 2], 32);
            }
        }
    }
};

struct Case {
    Shape s;
    DType type;
    std::vector<float> queries, exact_queries;  // [n_group][head_dim_k]: as they are, and as they are encoded
    std::vector<uint8_t> q;
    size_t q_stride;
    Side k, v;

    Case(Random& random, Shape shape, DType t, float size = 2)
        : s(shape),
          type(t),
          queries(random.floats(s.n_group * s.head_dim_k)),
          exact_queries(queries.size()),
          k(random, t, s.head_dim_k, s.n_positions, 16),
          v(random, t, s.head_dim_v, s.n_positions, 48) {
        const auto encoding = quant::format(type).activation;
        q_stride = quant::activation_bytes(encoding, s.head_dim_k);
        q.resize(q_stride * static_cast<size_t>(s.n_group));
        for (float& x : queries) x *= size / std::sqrt(static_cast<float>(s.head_dim_k));
        for (size_t g = 0; g < static_cast<size_t>(s.n_group); ++g) {
            const size_t first = g * static_cast<size_t>(s.head_dim_k);
            quant::encode_activation(encoding, &queries[first], &q[g * q_stride], s.head_dim_k);
            quant::decode_activation(encoding, &q[g * q_stride], &exact_queries[first], s.head_dim_k);
        }
    }
    AttentionArgs args(State& state) const {
        AttentionArgs a{};
        a.q = q.data();
        a.q_stride = q_stride;
        a.n_group = s.n_group;
        a.head_dim_k = s.head_dim_k;
        a.head_dim_v = s.head_dim_v;
        a.k = k.rows.data();
        a.v = v.rows.data();
        a.k_stride = k.stride;
        a.v_stride = v.stride;
        a.k_scales = k.scales.data();
        a.v_scales = v.scales.data();
        a.scale_stride = k.scale_stride;
        a.n_positions = s.n_positions;
        a.softcap = s.softcap;
        a.max = state.max.data();
        a.sum = state.sum.data();
        a.acc = state.acc.data();
        return a;
    }
    State run(const Ops& ops) const {
        State state(s.n_group, s.head_dim_v);
        ops.attention[id(type)](args(state));
        return state;
    }
    /// softmax(q k) v in double for head g.
    std::vector<double> softmax(int g, const std::vector<float>& query, const std::vector<float>& keys,
                                const std::vector<float>& values) const {
        std::vector<double> score(static_cast<size_t>(s.n_positions)), out(static_cast<size_t>(s.head_dim_v));
        double max = -1e300, sum = 0;
        for (size_t p = 0; p < score.size(); ++p) {
            for (int i = 0; i < s.head_dim_k; ++i)
                score[p] += static_cast<double>(query[static_cast<size_t>(g * s.head_dim_k + i)]) *
                            static_cast<double>(keys[p * static_cast<size_t>(s.head_dim_k) + static_cast<size_t>(i)]);
            if (s.softcap != 0)
                score[p] = static_cast<double>(s.softcap) * std::tanh(score[p] / static_cast<double>(s.softcap));
            max = std::max(max, score[p]);
        }
        for (double& x : score) sum += x = std::exp(x - max);
        for (size_t i = 0; i < out.size(); ++i) {
            for (size_t p = 0; p < score.size(); ++p)
                out[i] += score[p] / sum * static_cast<double>(values[p * out.size() + i]);
        }
        return out;
    }
    std::vector<double> exact(int g) const { return softmax(g, exact_queries, k.exact, v.exact); }
};

/// Shapes that the type can hold: blocks of 32 divide a head's size.
std::vector<Shape> shapes(DType type) {
    if (type == DType::Q8_0)
        return {{1, 64, 64, 1, 0},    {1, 128, 128, 63, 0},   {4, 128, 128, 64, 0},      {7, 96, 96, 65, 0},
                {3, 32, 160, 200, 0}, {8, 64, 32, 129, 0},    {5, 192, 128, 300, 0},     {2, 256, 256, 1000, 50.0f},
                {1, 32, 32, 17, 5},   {71, 64, 64, 70, 0},    {6, 160, 96, 77, 0},       {1, 224, 224, 130, 0}};
    return {{1, 64, 64, 1, 0},    {1, 128, 128, 63, 0},    {4, 128, 128, 64, 0},      {7, 80, 80, 65, 0},
            {3, 100, 36, 200, 0}, {8, 40, 7, 129, 0},      {5, 192, 128, 300, 0},     {2, 256, 256, 1000, 50.0f},
            {1, 16, 1, 17, 5.0f}, {71, 64, 64, 70, 0},     {6, 32, 32, 77, 0},        {1, 112, 240, 130, 0}};
}

TEST(Attention, EveryIsaMatchesDouble) {
    Random random(31);
    for (const DType type : kCacheTypes) {
        for (const Shape& shape : shapes(type)) {
            const Case c(random, shape, type);
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
                            (16.0 * (shape.head_dim_k / 16.0 + 6) + static_cast<double>(shape.n_positions)) * 0x1p-24;
                        ASSERT_NEAR(out, expected[i], 6 * relative)
                            << info(type).name << " " << isa << " head " << g << " value " << i;
                    }
                }
            }
        }
    }
}

// What the 8-bit cache costs in accuracy, queries included: less than one hundredth of the result where scores spread by
// one. (The error of a score grows with its size, and with random values nothing but chance is left of their mean.)
TEST(Attention, Q8CacheIsCloseToFloats) {
    Random random(36);
    const Case c(random, {4, 128, 128, 500, 0}, DType::Q8_0, 1);
    const State state = c.run(table(isas().front()));
    for (int g = 0; g < 4; ++g) {
        const auto expected = c.softmax(g, c.queries, c.k.meant, c.v.meant);
        double error = 0, size = 0;
        for (size_t i = 0; i < expected.size(); ++i) {
            const auto at = static_cast<size_t>(g);
            const double out = static_cast<double>(state.acc[at * expected.size() + i] / state.sum[at]);
            error += (out - expected[i]) * (out - expected[i]);
            size += expected[i] * expected[i];
        }
        EXPECT_LT(std::sqrt(error / size), 0.01);
    }
}

TEST(Attention, BitsDoNotDependOnTheGroupOrOnCutsAtBlocks) {
    Random random(32);
    for (const DType type : kCacheTypes) {
        for (const Shape& shape : shapes(type)) {
            const Case c(random, shape, type);
            for (const auto isa : isas()) {
                const Ops& ops = table(isa);
                const State whole = c.run(ops);
                State cut(shape.n_group, shape.head_dim_v);
                for (int g = 0; g < shape.n_group; ++g) {
                    for (int64_t p = 0; p < shape.n_positions; p += 2 * kAttentionBlock) {
                        AttentionArgs a = c.args(cut);
                        a.q += static_cast<size_t>(g) * a.q_stride;
                        a.n_group = 1;
                        a.max += g;
                        a.sum += g;
                        a.acc += g * shape.head_dim_v;
                        a.k += static_cast<size_t>(p) * a.k_stride;
                        a.v += static_cast<size_t>(p) * a.v_stride;
                        a.k_scales += p;
                        a.v_scales += p;
                        a.n_positions = std::min<int64_t>(2 * kAttentionBlock, shape.n_positions - p);
                        ops.attention[id(type)](a);
                    }
                }
                EXPECT_TRUE(whole == cut) << info(type).name << " " << isa << " group " << shape.n_group
                                          << " positions " << shape.n_positions;
            }
        }
    }
}

TEST(Attention, LargeScoresNeitherOverflowNorVanish) {
    Random random(33);
    for (const DType type : kCacheTypes) {
        const Case c(random, {2, 64, 64, 150, 0}, type, 1000);
        for (const auto isa : isas()) {
            const State state = c.run(table(isa));
            for (const float s : state.sum) EXPECT_TRUE(s >= 1 && s < 150) << isa << " " << s;
            for (const float x : state.acc) EXPECT_TRUE(std::isfinite(x)) << isa;
        }
    }
}

TEST(Attention, NanReachesTheResult) {
    Random random(34);
    for (const DType type : kCacheTypes) {
        Case c(random, {3, 64, 64, 100, 0}, type);
        const float nan = std::nanf("");
        const uint16_t half_nan = 0x7FFF;
        if (type == DType::Q8_0) c.k.scales[c.k.scale_stride + 70] = half_nan;
        else if (type == DType::F32) std::memcpy(&c.k.rows[70 * c.k.stride], &nan, sizeof nan);
        else std::memcpy(&c.k.rows[70 * c.k.stride], &half_nan, sizeof half_nan);
        for (const auto isa : isas()) {
            const State state = c.run(table(isa));
            for (const float s : state.sum) EXPECT_TRUE(std::isnan(s)) << info(type).name << " " << isa;
        }
    }
}

TEST(Attention, VectorSetsAgreeBitForBit) {
    const auto all = isas();
    if (all.size() < 3) GTEST_SKIP() << "needs two vector sets";
    Random random(35);
    for (const DType type : kCacheTypes) {
        for (const Shape& shape : shapes(type)) {
            const Case c(random, shape, type);
            const State best = c.run(table(all.front()));
            for (size_t k = 1; k + 1 < all.size(); ++k)
                EXPECT_TRUE(best == c.run(table(all[k]))) << all[k] << " " << info(type).name;
        }
    }
}

}  // namespace
}  // namespace powerinfer::kernels
