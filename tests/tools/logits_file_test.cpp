#include "tools/logits_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

class LogitsFile : public testing::Test {
  protected:
    LogitsFile() : path_(std::filesystem::temp_directory_path() / "powerinfer-logits-test.bin") {}
    ~LogitsFile() override { std::filesystem::remove(path_); }
    std::filesystem::path path_;
};

TEST_F(LogitsFile, RowsComeBackAsLogProbabilities) {
    const std::vector<int32_t> tokens = {1, 2, 0, 2};
    const float logits[] = {0.0f, 1.0f, -30.0f};
    {
        LogitsFileWriter writer(path_.string(), 4, 3, tokens);
        writer.add(logits);
        writer.finish();
    }
    LogitsFileReader reader(path_.string());
    EXPECT_EQ(reader.n_ctx(), 4);
    EXPECT_EQ(reader.n_vocab(), 3);
    EXPECT_EQ(reader.n_windows(), 1);
    EXPECT_THAT(reader.tokens(), testing::ElementsAreArray(tokens));
    const auto row = reader.log_probs(0);
    const double norm = std::log(1 + std::exp(1.0) + std::exp(-30.0));
    EXPECT_NEAR(row[0], -norm, 2e-4);
    EXPECT_NEAR(row[1], 1 - norm, 2e-4);
    EXPECT_NEAR(row[2], 1 - 16 - norm, 2e-4) << "no more than 16 below the best";
}

TEST_F(LogitsFile, DamageIsNamed) {
    std::vector<int32_t> tokens(8, 1);
    const float logits[] = {0.0f, 1.0f};
    {
        LogitsFileWriter writer(path_.string(), 8, 2, tokens);
        for (int i = 0; i < 3; ++i) writer.add(logits);
        writer.finish();
    }
    EXPECT_NO_THROW(LogitsFileReader(path_.string()));
    const auto size = std::filesystem::file_size(path_);
    for (const auto wrong : {size - 1, size - 12, size_t{19}, size_t{8}, size_t{0}}) {
        std::filesystem::resize_file(path_, wrong);
        EXPECT_THROW(LogitsFileReader(path_.string()), Error) << wrong;
    }
}

}  // namespace
}  // namespace powerinfer::tools
