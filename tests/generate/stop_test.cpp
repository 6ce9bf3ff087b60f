#include "generate/stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "error_message.h"

namespace powerinfer::generate {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> release(StopStrings stops, const std::vector<std::string>& pieces) {
    std::vector<std::string> out;
    for (const std::string& piece : pieces) out.push_back(stops.push(piece));
    out.push_back(stops.finish());
    return out;
}

TEST(StopStrings, PartialMatchesAreHeldBack) {
    EXPECT_THAT(release(StopStrings({"STOP"}), {"go S", "T", "O", "nly"}),
                ElementsAre("go ", "", "", "STOnly", ""));
    EXPECT_THAT(release(StopStrings({"STOP"}), {"go S", "T", "OP", "more"}),
                ElementsAre("go ", "", "", "", ""));
    EXPECT_THAT(release(StopStrings({"STOP"}), {"the ST"}), ElementsAre("the ", "ST"))
        << "the end gives it back";
    EXPECT_THAT(release(StopStrings({"aab"}), {"aa", "ab", "x"}), ElementsAre("", "a", "", ""));
    EXPECT_THAT(release(StopStrings({"\n\nUser:", "\n\nUs"}), {"hi\n", "\nUs"}), ElementsAre("hi", "", ""));
}

TEST(StopStrings, TheEarliestMatchWinsAndMayBeKept) {
    EXPECT_THAT(release(StopStrings({"cd", "bc"}), {"abcde"}), ElementsAre("a", ""));
    EXPECT_THAT(release(StopStrings({"cd", "bc"}, true), {"abcde"}), ElementsAre("abc", ""));
    StopStrings none({"", ""});
    EXPECT_EQ(none.push("text"), "text");
    EXPECT_FALSE(none.matched());
}

TEST(StopStrings, Utf8SequencesAreReleasedWhole) {
    const std::string smile = "\xF0\x9F\x98\x80", umlaut = "\xC3\xA4";
    EXPECT_THAT(release(StopStrings({}), {"x\xF0", "\x9F", "\x98", "\x80y"}),
                ElementsAre("x", "", "", smile + "y", ""));
    EXPECT_THAT(release(StopStrings({}), {"\xC3", "\xA4"}), ElementsAre("", umlaut, ""));
    EXPECT_THAT(release(StopStrings({}), {"a\xE2\x82"}), ElementsAre("a", "\xE2\x82"))
        << "a broken end is not lost";
    EXPECT_THAT(release(StopStrings({}), {"\x80\x80", "\xFF", "\xC0"}),
                ElementsAre("\x80\x80", "\xFF", "\xC0", ""))
        << "bytes that cannot begin a sequence are not waited for";
}

TEST(StopStrings, AgreeWithSearchingTheWholeText) {
    std::mt19937 random(5);
    int matches = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (int i = static_cast<int>(random() % 30); i > 0; --i)
            text += static_cast<char>('a' + random() % 2);
        std::vector<std::string> stops(random() % 3);
        for (std::string& stop : stops)
            for (int i = 1 + static_cast<int>(random() % 6); i > 0; --i)
                stop += static_cast<char>('a' + random() % 2);
        size_t first_end = std::string::npos, cut = text.size();
        for (const std::string& stop : stops) {  // what is complete first ends the text
            const size_t place = text.find(stop);
            if (place == std::string::npos || place + stop.size() > first_end) continue;
            if (place + stop.size() == first_end)
                cut = std::min(cut, place);
            else
                cut = place;
            first_end = place + stop.size();
        }
        StopStrings watch(stops);
        std::string got;
        for (const char c : text) got += watch.push(std::string(1, c));
        got += watch.finish();
        ASSERT_EQ(got, text.substr(0, cut));
        ASSERT_EQ(watch.matched(), first_end != std::string::npos);
        matches += watch.matched();
    }
    EXPECT_GT(matches, 500);
}

TEST(StopRules, CountTokensExactly) {
    for (const int n : {0, 1, 2, 7}) {
        StopRules rules({.n_predict = n, .strings = {}}, {}, {});
        int made = 0;
        while (!rules.reason()) {
            rules.push(5, "x");
            ++made;
        }
        EXPECT_EQ(made, n);
        EXPECT_EQ(rules.reason(), FinishReason::length);
    }
    StopRules endless({.n_predict = -1, .strings = {}}, {}, {});
    for (int i = 0; i < 1000; ++i) endless.push(5, "x");
    EXPECT_FALSE(endless.reason());
    EXPECT_EQ(test::message_of([] { validate({.n_predict = -3, .strings = {}}); }).substr(0, 29),
              "The option n_predict is -3; i");
}

TEST(StopRules, ANaturalEndCountsBeforeTheLimit) {
    StopRules end({.n_predict = 1, .strings = {}}, {9, 2}, {});
    EXPECT_EQ(end.push(2, "</s>"), "") << "its text is not shown";
    EXPECT_EQ(end.reason(), FinishReason::end_of_generation);
    StopRules text({.n_predict = 1, .strings = {"b"}}, {}, {});
    EXPECT_EQ(text.push(4, "ab"), "a");
    EXPECT_EQ(text.reason(), FinishReason::stop_string);
    EXPECT_EQ(text.match(), "b");
}

TEST(StopRules, ControlTokensMayStop) {
    StopRules control({.strings = {}}, {}, {7});
    control.push(7, "");
    EXPECT_EQ(control.reason(), FinishReason::stop_string);
}

TEST(StopRules, HeldTextComesAtTheLimit) {
    StopRules rules({.n_predict = 1, .strings = {"ST"}}, {}, {});
    EXPECT_EQ(rules.push(3, "xS"), "x");
    EXPECT_EQ(rules.finish(), "S");
}

}  // namespace
}  // namespace powerinfer::generate
