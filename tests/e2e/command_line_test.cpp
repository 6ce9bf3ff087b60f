// What holds for every program before a model is run: names, help, errors, exit statuses, output streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "e2e/process.h"
#include "shared_data.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Words = std::vector<std::string>;

const char* const kLinks[] = {"main",      "quantize",         "perplexity",  "batched",        "llama-cli",
                              "llama-completion", "llama-bench", "llama-quantize", "llama-perplexity",
                              "llama-tokenize"};
const char* const kCommands[] = {"run",      "chat",   "convert",    "quantize", "inspect",
                                 "tokenize", "logits", "perplexity", "bench"};

TEST(CommandLine, EveryNameShowsItsHelpOnStdout) {
    for (const char* name : kLinks) {
        const Output o = run({name, "--help"});
        EXPECT_EQ(o.status, 0) << name << o.err;
        EXPECT_THAT(o.out, HasSubstr(std::string("usage: ") + name)) << name;
        EXPECT_THAT(o.err, IsEmpty()) << name;
    }
    for (const char* name : kCommands) {
        const Output o = run({"powerinfer", name, "-h"});
        EXPECT_EQ(o.status, 0) << name << o.err;
        EXPECT_THAT(o.out, HasSubstr(std::string("usage: powerinfer ") + name));
    }
    EXPECT_THAT(run({"powerinfer", "--help"}).out, HasSubstr("inspect"));
}

TEST(CommandLine, VersionNamesInstructionSetsAndLibraries) {
    const Output own = run({"powerinfer", "--version"});
    EXPECT_EQ(own.status, 0);
    for (const char* part : {"version: ", "built with ", "scalar", "fmt ", "PCRE2 "})
        EXPECT_THAT(own.out, HasSubstr(part));
    const Output other = run({"llama-completion", "--version"});
    EXPECT_EQ(other.status, 0);
    EXPECT_THAT(other.err, StartsWith("version: "));
    EXPECT_THAT(other.out, IsEmpty());
}

TEST(CommandLine, UnknownOptionsAreNamedInTheWordsOfTheProgram) {
    const Output old = run({"main", "--nonsense"});
    EXPECT_EQ(old.status, 1);
    EXPECT_THAT(old.err, StartsWith("error: unknown argument: --nonsense\n"));
    EXPECT_THAT(old.out, HasSubstr("usage: main"));
    const Output newer = run({"llama-completion", "--nonsense"});
    EXPECT_EQ(newer.status, 1);
    EXPECT_EQ(newer.err, "error: invalid argument: --nonsense\n");
    EXPECT_THAT(newer.out, IsEmpty());
}

TEST(CommandLine, BadValuesShowTheOption) {
    const Output o = run({"llama-completion", "-n", "many"});
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, StartsWith("error while handling argument \"-n\": 'many' is not a whole number"));
    EXPECT_THAT(o.err, HasSubstr("--n-predict"));
    EXPECT_EQ(run({"main", "-n"}).status, 1);
}

TEST(CommandLine, UnknownCommandsListTheKnownOnes) {
    const Output o = run({"powerinfer", "sing"});
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, HasSubstr("'sing'"));
    EXPECT_THAT(o.err, HasSubstr("inspect"));
    EXPECT_THAT(o.out, IsEmpty());
    EXPECT_EQ(run({"powerinfer"}).status, 1);
}

TEST(CommandLine, AMissingModelIsOneLineAndStatusOne) {
    for (const Words& words : {Words{"main", "-m", "/nowhere/model.gguf", "-p", "x"},
                               Words{"llama-completion", "-m", "/nowhere/model.gguf", "-p", "x"},
                               Words{"perplexity", "-m", "/nowhere/model.gguf", "-p", "x"},
                               Words{"llama-tokenize", "-m", "/nowhere/model.gguf", "-p", "x"},
                               Words{"llama-bench", "-m", "/nowhere/model.gguf", "--no-bandwidth"},
                               Words{"powerinfer", "inspect", "/nowhere/model.gguf"},
                               Words{"powerinfer", "chat", "-m", "/nowhere/model.gguf"},
                               Words{"batched", "/nowhere/model.gguf"},
                               Words{"quantize", "/nowhere/model.gguf", "/nowhere/out.gguf", "Q4_0"}}) {
        const Output o = run(words);
        EXPECT_EQ(o.status, 1) << words[0];
        EXPECT_THAT(o.out, IsEmpty()) << words[0];
        EXPECT_THAT(o.err, HasSubstr("/nowhere/model.gguf")) << words[0];
        EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    }
    const Output none = run({"llama-completion", "-p", "x"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.err, "error: --model is required\n");
}

TEST(CommandLine, FilesThatAreSomethingElseAreRecognised) {
    const TemporaryFolder folder;
    std::ofstream(folder / "page.gguf") << "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n";
    std::ofstream(folder / "pointer.gguf") << "version https://git-lfs.github.com/spec/v1\noid sha256:"
                                           << std::string(64, 'a') << "\nsize 123456\n";
    const Output page = run({"main", "-m", folder / "page.gguf", "-p", "x"});
    EXPECT_EQ(page.status, 1);
    EXPECT_THAT(page.err, HasSubstr("HTML"));
    const Output pointer = run({"main", "-m", folder / "pointer.gguf", "-p", "x"});
    EXPECT_EQ(pointer.status, 1);
    EXPECT_THAT(pointer.err, HasSubstr("LFS"));
}

TEST(CommandLine, GpuFlagsAreAcceptedWithOneWarningLine) {
    const Output o = run({"main", "-m", "/nowhere/model.gguf", "-ngl", "99", "--vram-budget", "8", "-mg", "0"});
    EXPECT_THAT(o.err,
                StartsWith("warning: this build has no GPU; ignored: --n-gpu-layers, --vram-budget, --main-gpu\n"));
}

TEST(CommandLine, EnvironmentIsReadByTheNewerPrograms) {
    const RunOptions env = {.environment = {{"LLAMA_ARG_MODEL", "/nowhere/from-env.gguf"}}};
    EXPECT_THAT(run({"llama-completion", "-p", "x"}, env).err, HasSubstr("/nowhere/from-env.gguf"));
}

TEST(Tokenize, PrintsIdsPiecesAndCounts) {
    SHARED_PATH_OR_SKIP(vocabulary, "vectors/tokenizers/ggml-vocab-llama-spm.gguf");
    const std::string m = vocabulary.string();
    const Output ids = run({"llama-tokenize", "-m", m, "-p", "Hello world", "--ids"});
    EXPECT_EQ(ids.status, 0) << ids.err;
    EXPECT_EQ(ids.out, "[1, 15043, 3186]\n");
    EXPECT_EQ(run({"powerinfer", "tokenize", "-m", m, "-p", "Hello world", "--ids", "--no-bos"}).out,
              "[15043, 3186]\n");
    EXPECT_EQ(run({"llama-tokenize", "-m", m, "-p", "Hello world", "--show-count"}).out,
              "     1 -> '<s>'\n 15043 -> ' Hello'\n  3186 -> ' world'\nTotal number of tokens: 3\n");
    EXPECT_EQ(run({"llama-tokenize", "-m", m, "--stdin", "--ids"}, {.input = "Hello world"}).out, ids.out);
    EXPECT_EQ(run({"llama-tokenize", "-m", m, "-p", R"(a\nb)", "--ids"}).out,
              run({"llama-tokenize", "-m", m, "-p", "a\nb", "--ids", "--no-escape"}).out);
    EXPECT_EQ(run({"llama-tokenize", "-m", m}).status, 1);
}

TEST(Inspect, ShowsKeysTensorsAndJson) {
    SHARED_PATH_OR_SKIP(vocabulary, "vectors/tokenizers/ggml-vocab-llama-spm.gguf");
    const Output text = run({"powerinfer", "inspect", vocabulary.string()});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("tokenizer.ggml.tokens"));
    EXPECT_THAT(text.out, HasSubstr("32000 values"));
    const Output json = run({"powerinfer", "inspect", vocabulary.string(), "--json"});
    EXPECT_EQ(json.status, 0);
    EXPECT_THAT(json.out, HasSubstr("\"magic\": \"GGUF\""));
}

}  // namespace
}  // namespace powerinfer::test
