// What is wrong on the command line is told before a model is loaded, however large it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "e2e/process.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

void expect_one_line(const Output& o, const std::string& names) {
    EXPECT_EQ(o.status, 1) << o.err;
    EXPECT_THAT(o.out, IsEmpty());
    EXPECT_THAT(o.err, StartsWith("error: "));
    EXPECT_THAT(o.err, HasSubstr(names));
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
}

// The model does not exist either: whichever of the two is named was looked at first.
TEST(EarlyErrors, FilesThatAreNamedAreOpenedBeforeTheModel) {
    for (const char* option : {"-f", "-bf", "-sysf", "--chat-template-file"})
        for (const Words& program : {Words{"main"}, Words{"llama-completion"}, Words{"llama-cli"}, Words{"powerinfer", "run"},
                                     Words{"powerinfer", "chat"}}) {
            SCOPED_TRACE(program.back() + " " + option);
            Words words = program;
            for (const char* w : {"-m", "/nowhere/model.gguf", option, "/nowhere/text.txt"}) words.emplace_back(w);
            expect_one_line(run(words), "/nowhere/text.txt");
        }
    for (const Words& words :
         {Words{"perplexity", "-m", "/nowhere/model.gguf", "-f", "/nowhere/text.txt"},
          Words{"llama-tokenize", "-m", "/nowhere/model.gguf", "-f", "/nowhere/text.txt"},
          Words{"llama-perplexity", "-m", "/nowhere/model.gguf", "--kl-divergence", "--kl-divergence-base", "/nowhere/text.txt"},
          Words{"powerinfer", "inspect", "/nowhere/model.gguf", "--activations", "/nowhere/text.txt"},
          Words{"powerinfer", "profile", "-m", "/nowhere/model.gguf", "-f", "/nowhere/text.txt"},
          Words{"powerinfer", "logits", "-m", "/nowhere/model.gguf", "--ids-file", "/nowhere/text.txt", "-o", "x"}}) {
        SCOPED_TRACE(words[0] + " " + words[1]);
        expect_one_line(run(words), "/nowhere/text.txt");
    }
}

TEST(EarlyErrors, AResultThatCannotBeWrittenIsToldBeforeTheWork) {
    const Output o = run({"powerinfer", "logits", "-m", "/nowhere/model.gguf", "--ids-file", "-", "-o", "/nowhere/out.safetensors"},
                         {.input = "1 2 3"});
    expect_one_line(o, "/nowhere/out.safetensors");
    expect_one_line(run({"powerinfer", "profile", "-m", "/nowhere/model.gguf", "-f", "-", "-o", "/nowhere/profile.gguf"}, {.input = "a b"}),
                    "/nowhere/profile.gguf");
    const Output kept = run({"perplexity", "-m", kModel, "-p", std::string(4000, 'a'), "-c", "64", "--save-all-logits", "/nowhere/x"});
    EXPECT_EQ(kept.status, 1);
    EXPECT_THAT(kept.err, HasSubstr("/nowhere/x"));
    EXPECT_THAT(kept.out, IsEmpty());
}

TEST(EarlyErrors, AMissingModelEndsABenchmarkBeforeTheFirstIsMeasured) {
    expect_one_line(run({"llama-bench", "-m", kModel + ",/nowhere/model.gguf", "--no-bandwidth"}), "/nowhere/model.gguf");
}

TEST(EarlyErrors, ATokenOutsideTheVocabularyIsToldBeforeWeightsArePrepared) {
    for (const char* name : {"main", "llama-completion"}) {
        const Output o = run({name, "-m", kModel, "-p", "x", "-n", "1", "-l", "2048+1"});
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.out, IsEmpty());
        EXPECT_THAT(o.err, HasSubstr("names token 2048; the vocabulary has tokens 0 to 2047"));
        EXPECT_THAT(o.err, Not(HasSubstr("weights")));
        EXPECT_EQ(run({name, "-m", kModel, "-p", "x", "-n", "1", "-l", "2047+1"}).status, 0);
    }
}

TEST(EarlyErrors, ANamedPipeIsNotWaitedFor) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    expect_one_line(run({"main", "-m", folder / "pipe", "-p", "x"}, {.timeout_s = 20}), "is not a regular file");
}

TEST(EarlyErrors, APromptThatDoesNotFitTheContextIsToldBeforeWeightsArePrepared) {
    const std::string prompt = std::string(400, 'z');
    for (const char* name : {"main", "llama-completion"}) {
        const Output o = run({name, "-m", kModel, "-p", prompt, "-n", "1", "-c", "64"});
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.out, IsEmpty());
        EXPECT_THAT(o.err, HasSubstr("at most 60 fit a context of 64"));
        EXPECT_THAT(o.err, Not(HasSubstr("of weights in memory")));
        EXPECT_THAT(run({name, "-m", kModel, "-p", "z", "-n", "1", "-c", "64"}).err, HasSubstr("of weights in memory"));
    }
}

}  // namespace
}  // namespace powerinfer::test
