// Our decoders and encoders against answers of other projects.
#include "vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/half.h"
#include "quant/format.h"

namespace powerinfer::quant {
namespace {

using test::VectorFile;

/// Same bits, except that any NaN equals any NaN.
void expect_same_values(const std::vector<float>& actual, const std::vector<float>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
        ASSERT_EQ(actual[i], expected[i]) << "element " << i;
    }
}

std::vector<float> decoded(DType type, const std::vector<uint8_t>& bytes) {
    const DTypeInfo& t = info(type);
    std::vector<float> values(bytes.size() / static_cast<size_t>(t.bytes) * static_cast<size_t>(t.block));
    format(type).decode(bytes.data(), values.data(), static_cast<int64_t>(values.size()));
    return values;
}

double rmse(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
    return std::sqrt(sum / static_cast<double>(a.size()));
}

class BlockFormat : public testing::TestWithParam<DType> {};

TEST_P(BlockFormat, DecodesLikeOthers) {
    SHARED_PATH_OR_SKIP(path, "vectors/quant/" + std::string(info(GetParam()).name) + ".safetensors");
    const VectorFile file(path);
    for (const auto& [blocks, values] : {std::pair{"random_blocks", "random_values"},
                                         {"gaussian_encoded", "gaussian_decoded"},
                                         {"heavy_encoded", "heavy_decoded"}}) {
        SCOPED_TRACE(blocks);
        expect_same_values(decoded(GetParam(), file.get<uint8_t>(blocks)), file.get<float>(values));
    }
}

TEST_P(BlockFormat, EncodesAtLeastAsWellAsOthers) {
    SHARED_PATH_OR_SKIP(folder, "vectors/quant");
    const Format& f = format(GetParam());
    if (f.encode == nullptr) GTEST_SKIP() << "read only";
    const std::string name(info(GetParam()).name);
    const auto manifest = nlohmann::json::parse(std::ifstream(folder / "manifest.json"));
    const VectorFile source(folder / "source.safetensors");
    for (const std::string column : {"gaussian", "heavy"}) {
        const auto values = source.get<float>(column);
        const auto n = static_cast<int64_t>(values.size());
        std::vector<uint8_t> bytes(row_bytes(GetParam(), n));
        f.encode(values.data(), bytes.data(), n, nullptr);
        const double ours = rmse(values, decoded(GetParam(), bytes));
        const double theirs = manifest.at(name).at(column + "_rmse");
        std::cout << name << " " << column << ": RMSE " << ours << ", " << ours / theirs
                  << " of the reference\n";
        EXPECT_LE(ours, theirs) << column;
    }
}

INSTANTIATE_TEST_SUITE_P(All, BlockFormat,
                         testing::Values(DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0,
                                         DType::Q2_K, DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K,
                                         DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4, DType::TQ1_0,
                                         DType::TQ2_0),
                         [](const auto& test) { return std::string(powerinfer::info(test.param).name); });

TEST(HalfFormats, ConvertLikeOthers) {
    SHARED_PATH_OR_SKIP(path, "vectors/quant/half.safetensors");
    const VectorFile file(path);
    const auto source = file.get<float>("source");
    for (const auto& [name, type] : {std::pair{"f16", DType::F16}, {"bf16", DType::BF16}}) {
        SCOPED_TRACE(name);
        const auto expected = file.get<uint16_t>(name);
        std::vector<uint16_t> actual(source.size());
        format(type).encode(source.data(), actual.data(), static_cast<int64_t>(source.size()), nullptr);
        std::vector<float> widened(source.size());
        format(type).decode(expected.data(), widened.data(), static_cast<int64_t>(source.size()));
        for (size_t i = 0; i < source.size(); ++i) {
            if (std::isnan(source[i])) {
                EXPECT_TRUE(std::isnan(widened[i]));
                continue;
            }
            EXPECT_EQ(actual[i], expected[i]) << source[i];
            const float wide = type == DType::F16 ? f16_to_f32(actual[i]) : bf16_to_f32(actual[i]);
            EXPECT_EQ(wide, widened[i]);
        }
    }
}

}  // namespace
}  // namespace powerinfer::quant
