#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "engine/relay.h"
#include "kernels/ops.h"
#include "quant/activation_q8.h"
#include "quant/coded.h"
#include "quant/format.h"

namespace powerinfer::kernels {
namespace {

struct Case {
    DType type;
    int64_t n_ff, n_embd;
};

class Grouped : public testing::TestWithParam<Case> {};

TEST_P(Grouped, EqualsTheDecodedMatrixTimesTheDecodedActivations) {
    const auto [type, n_ff, n_embd] = GetParam();
    const auto& format = quant::format(type);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    // {n_ff, n_embd}: n_embd rows of n_ff elements.
    std::vector<float> w(static_cast<size_t>(n_ff * n_embd));
    for (float& v : w) v = normal(random);
    std::vector<uint8_t> blocks(row_bytes(type, n_ff) * static_cast<size_t>(n_embd));
    for (int64_t i = 0; i < n_embd; ++i) {
        uint8_t* row = blocks.data() + static_cast<size_t>(i) * row_bytes(type, n_ff);
        format.encode(w.data() + i * n_ff, row, n_ff, nullptr);
        format.decode(row, w.data() + i * n_ff, n_ff);
    }
    // One in six neurons is active.
    std::vector<float> h(static_cast<size_t>(n_ff), 0.0f);
    std::vector<int32_t> ids;
    for (int64_t j = 0; j < n_ff; ++j) {
        if (random() % 6 != 0) continue;
        h[static_cast<size_t>(j)] = std::fabs(normal(random));
        ids.push_back(static_cast<int32_t>(j));
    }
    std::vector<uint8_t> encoded(quant::activation_bytes(format.activation, n_ff));
    quant::encode_activation(format.activation, h.data(), encoded.data(), n_ff);
    quant::decode_activation(format.activation, encoded.data(), h.data(), n_ff);

    ThreadPool pool(2);
    AlignedBuffer memory;
    const GroupedMatrix m =
        engine::group_by_neuron({blocks.data(), type, {n_ff, n_embd, 1, 1}}, memory, pool);
    const CpuInfo cpu = read_cpu_info();
    std::vector<float> scalar;
    for (const std::string_view isa : {std::string_view("scalar"), available_isas(cpu).front()}) {
        const Ops& o = ops(cpu, isa);
        std::vector<float> out(static_cast<size_t>(n_embd) + 2, 0.5f);
        const GroupedArgs args{.matrix = &m,
                               .ids = ids.data(),
                               .n_ids = static_cast<int64_t>(ids.size()),
                               .q = reinterpret_cast<const int8_t*>(encoded.data()),
                               .d = reinterpret_cast<const float*>(encoded.data() + quant::q8_parts(format.activation, n_ff).d),
                               .d_block = format.activation == quant::ActivationEncoding::q8_32 ? 32 : 256,
                               .column = 0,
                               .n = n_embd,
                               .out = out.data() + 1};
        o.grouped_axpy(args);
        EXPECT_EQ(out.front(), 0.5f);
        EXPECT_EQ(out.back(), 0.5f);
        for (int64_t i = 0; i < n_embd; ++i) {
            double expected = 0.5, magnitude = 0.5;
            for (const int32_t j : ids) {
                const double term = static_cast<double>(h[static_cast<size_t>(j)]) * static_cast<double>(w[static_cast<size_t>(i * n_ff + j)]);
                expected += term;
                magnitude += std::fabs(term);
            }
            // A few roundings per group; minima cancel against codes, so the parts may be larger than their sum.
            const double bound = 1e-6 * static_cast<double>(n_ff) * 0.2 * magnitude;
            ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(i) + 1]), expected, bound + 1e-5) << isa << " column " << i;
        }
        // By tiles of columns and by chunks of neurons: the same bits as long as chunks are added in order.
        std::vector<float> tiled(static_cast<size_t>(n_embd), 0.5f);
        for (int64_t column = 0; column < n_embd; column += 64) {
            GroupedArgs tile = args;
            tile.column = column;
            tile.n = std::min<int64_t>(64, n_embd - column);
            tile.out = tiled.data() + column;
            o.grouped_axpy(tile);
        }
        EXPECT_TRUE(std::equal(tiled.begin(), tiled.end(), out.begin() + 1));
        if (scalar.empty()) scalar = tiled;
        EXPECT_EQ(tiled, scalar) << isa;
    }
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const DType type : {DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K, DType::Q3_K,
                             DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4,
                             DType::TQ1_0, DType::TQ2_0}) {
        for (const int64_t n_embd : {1, 40, 128}) list.push_back({type, 512, n_embd});
    }
    return list;
}
INSTANTIATE_TEST_SUITE_P(Formats, Grouped, testing::ValuesIn(cases()), [](const auto& p) {
    return std::string(powerinfer::info(p.param.type).name) + "_" + std::to_string(p.param.n_embd);
});

TEST(CodedFormats, CoverAllBlockFormatsAndStayInRange) {
    std::mt19937 random(3);
    for (uint32_t id = 0; id < kDTypeIdEnd; ++id) {
        const auto type = find_dtype(id);
        if (!type || quant::find_format(*type) == nullptr || info(*type).block == 1) continue;
        const quant::CodedFormat* coded = quant::find_coded_format(*type);
        ASSERT_NE(coded, nullptr) << info(*type).name;
        std::vector<uint8_t> block(static_cast<size_t>(info(*type).bytes));
        for (int round = 0; round < 100; ++round) {
            for (uint8_t& b : block) b = static_cast<uint8_t>(random());
            quant::CodedBlock parts;
            coded->take_apart(block.data(), parts);
            for (int i = 0; i < coded->block; ++i) {
                EXPECT_GE(parts.code[i], coded->lowest) << info(*type).name;
                EXPECT_LE(parts.code[i], coded->highest) << info(*type).name;
            }
        }
    }
}

}  // namespace
}  // namespace powerinfer::kernels
