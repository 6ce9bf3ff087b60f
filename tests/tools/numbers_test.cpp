#include "tools/numbers.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

TEST(Numbers, WholeWordsInRange) {
    EXPECT_EQ(parse_integer("42", 0, 100), 42);
    EXPECT_EQ(parse_integer("+7", 0, 100), 7);
    EXPECT_EQ(parse_integer("-3", -3, 3), -3);
    EXPECT_EQ(parse_integer("9223372036854775807", 0, INT64_MAX), INT64_MAX);
    for (const char* wrong : {"", "+", "-", "+-1", "4 2", "42.0", "101", "9223372036854775808", "१"})
        EXPECT_THROW(parse_integer(wrong, 0, 100), Error) << wrong;
    EXPECT_EQ(parse_number("1e-3", 0, 1), 1e-3);
    EXPECT_EQ(parse_number(".5", 0, 1), 0.5);
    for (const char* wrong : {"", ".", "nan", "inf", "-inf", "1,5", "0.5x", "2"})
        EXPECT_THROW(parse_number(wrong, 0, 1), Error) << wrong;
}

TEST(Numbers, Escapes) {
    EXPECT_EQ(unescape(R"(a\nb\tc\\d\"e\'f\x41)"), "a\nb\tc\\d\"e'fA");
    EXPECT_EQ(unescape(R"(\q\)"), R"(\q\)");
    EXPECT_EQ(unescape(R"(\x4)"), R"(\x4)");
    EXPECT_EQ(unescape(R"(\xzz)"), R"(\xzz)");
    EXPECT_EQ(unescape(R"(\x00)"), std::string(1, '\0'));
}

TEST(Numbers, Sizes) {
    EXPECT_EQ(size_text(0), "0 B");
    EXPECT_EQ(size_text(1023), "1023 B");
    EXPECT_EQ(size_text(1536), "1.50 KiB");
    EXPECT_EQ(size_text(3ull << 30), "3.00 GiB");
}

TEST(Numbers, MissingFilesAreNamed) {
    try {
        read_text_file("/nowhere/at/all");
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::io);
        EXPECT_NE(std::string(e.what()).find("/nowhere/at/all"), std::string::npos);
    }
}

}  // namespace
}  // namespace powerinfer::tools
