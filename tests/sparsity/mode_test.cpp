#include "sparsity/mode.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace powerinfer::sparsity {
namespace {

TEST(Mode, NamesGoBothWays) {
    for (const Mode mode : {Mode::off, Mode::exact, Mode::predict, Mode::automatic})
        EXPECT_EQ(mode_from_name(name(mode)), mode);
    EXPECT_THROW(mode_from_name("on"), Error);
    EXPECT_THROW(mode_from_name(""), Error);
}

TEST(Threshold, EnvironmentOverFileOverZero) {
    EXPECT_EQ(resolve_threshold(0.0f, nullptr), 0.0f);
    EXPECT_EQ(resolve_threshold(0.25f, nullptr), 0.25f);
    EXPECT_EQ(resolve_threshold(0.25f, "-1.5"), -1.5f);
    EXPECT_EQ(resolve_threshold(0.25f, "0"), 0.0f);
}

TEST(Threshold, UnparsableEnvironmentIsAnError) {
    for (const char* text : {"", "abc", "0.5x", "nan", "inf", " "}) EXPECT_THROW(resolve_threshold(0.25f, text), Error) << text;
}

}  // namespace
}  // namespace powerinfer::sparsity
