// What the metadata of a file decides, and what the user decides instead: --override-kv, general.sampling.*
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "e2e/process.h"
#include "formats/gguf.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

Output continued(const std::string& name, const Words& more) {
    Words words = name == "run" ? Words{"powerinfer", "run"} : Words{name};
    for (const char* w : {"-m", kModel.c_str(), "-p", "Once upon a time", "-n", "12", "-s", "3"}) words.emplace_back(w);
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

TEST(OverrideKv, ChangesWhatTheModelIs) {
    const std::string plain = continued("run", {"--temp", "0"}).out;
    const Output epsilon = continued("run", {"--temp", "0", "--override-kv", "llama.attention.layer_norm_rms_epsilon=float:0.5"});
    EXPECT_EQ(epsilon.status, 0) << epsilon.err;
    EXPECT_NE(epsilon.out, plain);
    EXPECT_THAT(epsilon.err, HasSubstr("'llama.attention.layer_norm_rms_epsilon' replaces the file's value"));
    // Given again, the last one holds; several in one word.
    EXPECT_EQ(continued("run", {"--temp", "0", "--override-kv", "powerinfer.activation=str:silu", "--override-kv",
                                "general.name=str:x,powerinfer.activation=str:relu"}).out, plain);
    EXPECT_NE(continued("llama-completion", {"--temp", "0", "--override-kv", "powerinfer.activation=str:silu"}).out, plain);
    const Output added = continued("run", {"--temp", "0", "--override-kv", "my.key=bool:true"});
    EXPECT_EQ(added.out, plain);
    EXPECT_THAT(added.err, HasSubstr("'my.key' is added; the file has no such key"));
}

TEST(OverrideKv, ServesTheOtherProgramsToo) {
    const Words without = {"--override-kv", "tokenizer.ggml.add_bos_token=bool:false"};
    Words ids = {"llama-tokenize", "-m", kModel, "-p", "Once", "--ids"};
    const std::string plain = run(ids).out;
    ids.insert(ids.end(), without.begin(), without.end());
    EXPECT_LT(run(ids).out.size(), plain.size());
    EXPECT_THAT(run({"powerinfer", "inspect", kModel, "--override-kv", "general.name=str:other"}).out, HasSubstr("other"));
    const TemporaryFolder folder;
    const Output made = run({"llama-quantize", "--override-kv", "general.name=str:other,llama.context_length=int:77", kModel,
                             folder / "q.gguf", "Q8_0"});
    ASSERT_EQ(made.status, 0) << made.err;
    const auto file = formats::GgufFile::open(folder / "q.gguf");
    EXPECT_EQ(file.get_string("general.name"), "other");
    EXPECT_EQ(file.get_uint("llama.context_length"), 77u);
    EXPECT_EQ(file.find("llama.context_length")->type, formats::GgufType::u32) << "a key keeps its stored type";
}

TEST(OverrideKv, ErrorsNameKeyAndType) {
    struct { const char* word; const char* says; } const cases[] = {
        {"general.name", "'general.name' is not KEY=TYPE:VALUE"},
        {"=int:1", "is not KEY=TYPE:VALUE"},
        {"a=long:1", "key 'a' has the type 'long', which is not one of int, float, bool, str"},
        {"a=int:1.5", "key 'a' of type int: '1.5' is not a whole number"},
        {"a=float:x", "key 'a' of type float: 'x' is not a number"},
        {"a=bool:1", "key 'a' of type bool: '1' is neither true nor false"},
        {"a=int:1,b", "'b' is not KEY=TYPE:VALUE"},
        {"general.architecture=int:1", "key 'general.architecture' is string in '"},
        {"llama.block_count=str:four", "key 'llama.block_count' is u32 in '"},
        {"llama.block_count=int:-4", "holds 0 to 4294967295, not -4"},
        {"llama.block_count=int:4294967296", "not 4294967296"},
        {"llama.block_count=float:4", "cannot become f32"},
        {"tokenizer.ggml.tokens=str:x", "is array of string in '"},
        {"general.alignment=int:64", "key 'general.alignment' says how the file is laid out"},
        {"split.count=int:2", "key 'split.count' says how the file is laid out"},
        {"llama.block_count=int:5", "blk.4."},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.word);
        const Output o = continued("run", {"--override-kv", c.word});
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.out, IsEmpty());
        EXPECT_THAT(o.err, HasSubstr(c.says));
    }
    EXPECT_EQ(continued("run", {"--override-kv", std::string(128, 'k') + "=int:1"}).status, 1);
    EXPECT_EQ(continued("run", {"--override-kv", std::string(127, 'k') + "=int:1"}).status, 0);
    EXPECT_EQ(continued("run", {"--override-kv", "k=str:" + std::string(128, 'v')}).status, 1);
}

TEST(SamplingOfTheFile, HoldsUnlessTheUserSaysOtherwise) {
    const Words file = {"--override-kv", "general.sampling.temp=float:0,general.sampling.penalty_repeat=float:1.3,"
                                         "general.sampling.penalty_last_n=int:-1,general.sampling.sequence=str:penalties;temperature"};
    const auto with_file = [&](const std::string& name, const Words& more) {
        Words words = file;
        words.insert(words.end(), more.begin(), more.end());
        return continued(name, words);
    };
    const Words flags = {"--temp", "0", "--repeat-penalty", "1.3", "--repeat-last-n", "-1", "--samplers", "penalties;temperature"};
    for (const char* name : {"run", "llama-completion"}) {
        const Output o = with_file(name, {});
        EXPECT_EQ(o.out, continued(name, flags).out) << o.err;
        EXPECT_THAT(o.err, HasSubstr("sampling by the model file: sequence, temp, penalty_last_n, penalty_repeat\n"));
    }
    const std::string usual = continued("run", {}).out;
    EXPECT_NE(with_file("run", {}).out, usual);
    EXPECT_EQ(with_file("run", {"--temp", "0.8", "--repeat-penalty", "1", "--repeat-last-n", "64", "--sampler-seq", "edskypmxt"}).out, usual);
    EXPECT_EQ(with_file("main", {}).out, continued("main", {}).out) << "the programs of 2023 do not know these keys";
}

TEST(SamplingOfTheFile, WhatIsWrongInItNamesTheKey) {
    for (const char* bad : {"top_k=float:1.5", "top_k=str:x", "top_p=float:-1", "min_p=float:2", "mirostat=int:3", "temp=str:hot",
                            "penalty_repeat=float:0", "sequence=str:top_k;nonsense", "sequence=int:1", "xtc_probability=float:1.5"}) {
        SCOPED_TRACE(bad);
        const Output o = continued("run", {"--override-kv", std::string("general.sampling.") + bad});
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.err, HasSubstr("key 'general.sampling."));
    }
}

TEST(Batched, ALengthBeyondTheTrainedContextIsOneWarning) {
    const Output o = run({"batched", kModel, "Once", "1", "20", "1"});
    EXPECT_THAT(o.err, Not(HasSubstr("was trained with a context")));
    const uint64_t trained = formats::GgufFile::open(kModel).get_uint("llama.context_length");
    const TemporaryFolder folder;
    ASSERT_EQ(run({"quantize", "--override-kv", "llama.context_length=int:16", kModel, folder / "short.gguf", "Q8_0"}).status, 0);
    const Output beyond = run({"batched", folder / "short.gguf", "Once", "1", "20", "1"});
    EXPECT_EQ(beyond.status, 0) << beyond.err;
    EXPECT_THAT(beyond.err, HasSubstr("warning: the model was trained with a context of 16 tokens; 20 may not work\n"));
    EXPECT_GT(trained, 20u);
}

}  // namespace
}  // namespace powerinfer::test
