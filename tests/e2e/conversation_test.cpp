// Talking at a terminal: what Ctrl-C does in which program, and which programs talk by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/terminal.h"

namespace powerinfer::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";
const std::string kPrompt = "Once upon a time";

/// Program, options, and an answer that does not end by itself.
Words endless(Words words, const Words& more) {
    for (const char* w : {"-m", kModel.c_str(), "-p", kPrompt.c_str(), "-n", "-1", "-c", "4096", "--ignore-eos"}) words.emplace_back(w);
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(Terminal, CtrlCStopsTheAnswerAndASecondOneEndsWithStatus130) {
    const TemporaryFolder home;
    for (const Words& words : {endless({"main"}, {"-i"}), endless({"llama-completion"}, {"-i"}), endless({"llama-completion"}, {"-cnv"}),
                               endless({"llama-cli"}, {}), endless({"llama-cli"}, {"--simple-io"}), endless({"main"}, {"-cnv", "--chat-template", "chatml"})}) {
        SCOPED_TRACE(words[0] + " " + words.back());
        Terminal t(words, home.path().string());
        ASSERT_TRUE(t.see(kPrompt)) << t.all();
        ASSERT_TRUE(t.see(50)) << t.all();
        t.ctrl_c();
        ASSERT_TRUE(t.see("\n> ")) << t.all();
        t.ctrl_c();
        EXPECT_EQ(t.status(), 130) << t.all();
    }
}

TEST(Terminal, AfterCtrlCTheUserGoesOn) {
    const TemporaryFolder home;
    Terminal t(endless({"main"}, {"-i"}), home.path().string());
    ASSERT_TRUE(t.see(kPrompt)) << t.all();
    ASSERT_TRUE(t.see(50)) << t.all();
    t.ctrl_c();
    ASSERT_TRUE(t.see("\n> ")) << t.all();
    t.type("The fox said:\r");
    ASSERT_TRUE(t.see("The fox said:")) << t.all();
    ASSERT_TRUE(t.see(50)) << t.all();
    t.ctrl_c();
    ASSERT_TRUE(t.see("\n> ")) << t.all();
    t.ctrl_d();
    EXPECT_EQ(t.status(), 0) << t.all();
}

TEST(Terminal, OurOwnChatAsksTwiceAndEndsInGoodOrder) {
    const TemporaryFolder home;
    Terminal chat({"powerinfer", "chat", "-m", kModel, "--chat-template", "chatml", "-n", "-1", "--ignore-eos", "-c", "4096"},
                  home.path().string());
    ASSERT_TRUE(chat.see("\n> ")) << chat.all();
    chat.type("Tell me a story\r");
    ASSERT_TRUE(chat.see("Tell me a story")) << chat.all();
    ASSERT_TRUE(chat.see(50)) << chat.all();
    chat.ctrl_c();
    ASSERT_TRUE(chat.see("(stopped)")) << chat.all();
    ASSERT_TRUE(chat.see("\n> ")) << chat.all();
    chat.ctrl_c();
    ASSERT_TRUE(chat.see("(Ctrl-C once more")) << chat.all();
    ASSERT_TRUE(chat.see("\n> ")) << chat.all();
    chat.ctrl_c();
    EXPECT_EQ(chat.status(), 0) << chat.all();
}

TEST(LlamaCli, AlwaysTalks) {
    const Words words = {"llama-cli", "-m", kModel, "-p", "Hello", "-n", "5", "--temp", "0", "-st"};
    const Output o = run(words);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.out, StartsWith("\n> Hello\n")) << "the demo model has no template; ChatML is used";
    EXPECT_THAT(o.err, EndsWith(" t/s ]\n"));
    EXPECT_THAT(o.err, Not(HasSubstr("sampler chain"))) << "only errors are told unless asked for";
    Words quiet = words;
    quiet.emplace_back("--no-show-timings");
    EXPECT_EQ(run(quiet).err, "");
    Words loud = words;
    for (const char* w : {"-lv", "2"}) loud.emplace_back(w);
    EXPECT_THAT(run(loud).err, HasSubstr("has no chat template; chatml is used"));
}

TEST(LlamaCli, StillObeysOldScripts) {
    const Output plain = run({"llama-cli", "-m", kModel, "-p", kPrompt, "-n", "5", "--temp", "0", "-no-cnv"});
    EXPECT_EQ(plain.status, 0) << plain.err;
    EXPECT_THAT(plain.out, StartsWith(kPrompt));
    const Words common = {"-m", kModel, "-p", kPrompt, "-n", "5", "--temp", "0", "--repeat-penalty", "1"};
    for (const char* name : {"llama-completion", "main"}) {
        Words words = {name};
        words.insert(words.end(), common.begin(), common.end());
        EXPECT_EQ(run(words).out, plain.out) << name << " talks only with a model that has a template, or never";
    }
}

// The two answers differ, although question, seed and sampler are the same.
TEST(Conversation, AFixedSeedDoesNotReplayTheSameNumbersInTheNextTurn) {
    const Words words = {"powerinfer", "chat", "-m", kModel, "--chat-template", "chatml", "-n", "24", "--temp", "1.5",
                         "--top-k", "0", "--top-p", "1", "--min-p", "0", "-s", "7", "--ignore-eos"};
    const Output o = run(words, {.input = "Hello\n/clear\nHello\n"});
    ASSERT_EQ(o.status, 0) << o.err;
    const std::string once = run(words, {.input = "Hello\n"}).out;
    EXPECT_THAT(o.out, StartsWith(once)) << "the seed decides the first answer";
    EXPECT_NE(o.out.substr(once.size()), once);
    EXPECT_EQ(run(words, {.input = "Hello\n/clear\nHello\n"}).out, o.out);
}

}  // namespace
}  // namespace powerinfer::test
