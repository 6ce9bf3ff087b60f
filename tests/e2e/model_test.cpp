// The programs with the demo model: what is on which stream, that the ways to the same text agree, Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "e2e/process.h"
#include "formats/safetensors.h"
#include "shared_data.h"

namespace powerinfer::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";
const std::string kPrompt = "Once upon a time";

bool matches(const std::string& text, const std::string& pattern) {
    return std::regex_search(text, std::regex(pattern));
}

/// The hash of the summary line, or nothing.
std::string hash_of(const Output& o) {
    std::smatch m;
    return std::regex_search(o.err, m, std::regex("hash ([0-9a-f]{16})")) ? m[1].str() : "";
}

Output greedy(Words words, const Words& more = {}) {
    for (const char* w : {"-m", kModel.c_str(), "-p", kPrompt.c_str(), "-n", "16", "--temp", "0", "--repeat-penalty", "1"})
        words.emplace_back(w);
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

/// A story of many sentences, for windows of text.
void write_story(const std::string& path, int n) {
    std::ofstream file(path);
    for (int i = 0; i < n; ++i)
        file << "Once upon a time there was a king who had " << i << " daughters, and the youngest of them was so "
             << "beautiful that the sun itself wondered whenever it shone upon her face.\n";
}

TEST(Run, TextOnStdoutEverythingElseOnStderr) {
    const Output o = greedy({"main"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.out, StartsWith(kPrompt));
    EXPECT_GT(o.out.size(), kPrompt.size() + 20);
    for (const char* elsewhere : {"llama_", "powerinfer", "seed", "hash"}) EXPECT_THAT(o.out, Not(HasSubstr(elsewhere)));
    EXPECT_THAT(o.err, HasSubstr("main: seed  = "));
    for (const char* line : {R"(\nllama_print_timings: +load time = +\d+\.\d\d ms\n)",
                             R"(\nllama_print_timings: +sample time = +\d+\.\d\d ms / +16 runs   \( *\d+\.\d\d ms per token, +\d+\.\d\d tokens per second\)\n)",
                             R"(\nllama_print_timings: prompt eval time = +\d+\.\d\d ms / +\d+ tokens \()",
                             R"(\nllama_print_timings: +eval time = +\d+\.\d\d ms / +15 runs   \()",
                             R"(\nllama_print_timings: +total time = +\d+\.\d\d ms\n)",
                             R"(\npowerinfer: decode \d+\.\d tokens/s, \d+\.\d GB/s, active share \d+\.\d %, hash [0-9a-f]{16}\n)"})
        EXPECT_TRUE(matches(o.err, line)) << line << "\n" << o.err;
}

TEST(Run, EveryNameAndModeGivesTheSameGreedyText) {
    const Output first = greedy({"main"});
    EXPECT_EQ(greedy({"llama-completion", "-no-cnv"}).out, first.out);
    EXPECT_EQ(greedy({"llama-cli", "-no-cnv"}).out, first.out);
    EXPECT_EQ(greedy({"powerinfer", "run"}).out, first.out);
    EXPECT_EQ(greedy({"powerinfer", "run"}, {"--sparsity", "off"}).out, first.out);
    EXPECT_THAT(greedy({"llama-completion"}).err, HasSubstr("common_perf_print:"));
    EXPECT_EQ(greedy({"llama-completion"}, {"--no-display-prompt"}).out, first.out.substr(kPrompt.size()));
}

TEST(Run, TheHashDoesNotDependOnThreadsOrBatches) {
    const std::string hash = hash_of(greedy({"main"}, {"-t", "1"}));
    EXPECT_EQ(hash.size(), 16u);
    EXPECT_EQ(hash_of(greedy({"main"}, {"-t", "2"})), hash);
    EXPECT_EQ(hash_of(greedy({"main"}, {"-t", "3", "-b", "2"})), hash);
}

TEST(Run, EscapesAreReadWhereTheProgramsReadThem) {
    EXPECT_THAT(run({"main", "-m", kModel, "-p", R"(a\nb)", "-n", "1"}).out, StartsWith(R"(a\nb)"));
    EXPECT_THAT(run({"main", "-m", kModel, "-e", "-p", R"(a\nb)", "-n", "1"}).out, StartsWith("a\nb"));
    EXPECT_THAT(run({"llama-completion", "-m", kModel, "-p", R"(a\nb)", "-n", "1"}).out, StartsWith("a\nb"));
}

TEST(Run, PromptsFromFilesLoseOneLineBreak) {
    const TemporaryFolder folder;
    std::ofstream(folder / "prompt.txt") << kPrompt << "\n";
    const Output o = run({"main", "-m", kModel, "-f", folder / "prompt.txt", "-n", "4", "--temp", "0"});
    EXPECT_THAT(o.out, StartsWith(kPrompt));
    EXPECT_NE(o.out[kPrompt.size()], '\n');
    EXPECT_EQ(run({"main", "-m", kModel, "-f", "-", "-n", "4", "--temp", "0"}, {.input = kPrompt}).out, o.out);
}

TEST(Run, StopsAtAReversePromptAndKeepsIt) {
    const Output free = greedy({"main"});
    const std::string word = free.out.substr(kPrompt.size() + 8, 5);
    const Output o = greedy({"main"}, {"-r", word});
    EXPECT_TRUE(o.out.ends_with(word)) << o.out;
    EXPECT_LT(o.out.size(), free.out.size());
}

TEST(Run, ContextShiftsOrStopsAsTheProgramIsUsedTo) {
    const Output shifts = run({"main", "-m", kModel, "-p", kPrompt, "-c", "32", "-n", "60", "--ignore-eos", "--temp", "0"});
    EXPECT_EQ(shifts.status, 0) << shifts.err;
    EXPECT_TRUE(matches(shifts.err, R"( eval time = .* 59 runs)")) << shifts.err;
    const Output stops = run({"llama-completion", "-m", kModel, "-p", kPrompt, "-c", "32", "-n", "60", "--ignore-eos"});
    EXPECT_EQ(stops.status, 0);
    EXPECT_THAT(stops.err, HasSubstr("context of 32 tokens is full"));
    const Output too_long = run({"main", "-m", kModel, "-c", "8", "-p", kPrompt + kPrompt, "-n", "4"});
    EXPECT_EQ(too_long.status, 1);
    EXPECT_THAT(too_long.err, HasSubstr("prompt is too long"));
    EXPECT_THAT(too_long.out, IsEmpty());
}

TEST(Run, RefusesWhatTheModelCannot) {
    const Output o = greedy({"main"}, {"--sparsity", "predict"});
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, HasSubstr("error: "));
    const RunOptions env = {.environment = {{"LLAMA_SPARSE_PRED_THRESHOLD", "low"}}};
    const Output threshold = run({"main", "-m", kModel, "-p", kPrompt, "-n", "1"}, env);
    EXPECT_EQ(threshold.status, 1);
    EXPECT_THAT(threshold.err, HasSubstr("LLAMA_SPARSE_PRED_THRESHOLD"));
    const RunOptions isa = {.environment = {{"POWERINFER_ISA", "z80"}}};
    EXPECT_EQ(run({"main", "-m", kModel, "-p", kPrompt, "-n", "1"}, isa).status, 1);
}

TEST(Run, CtrlCEndsAPlainRunLikeAnyProgram) {
    const RunOptions options = {.timeout_s = 60, .on_output = [](const Output& o) { return o.out.size() > 40 ? SIGINT : 0; }};
    const Output o = run({"main", "-m", kModel, "-p", kPrompt, "-n", "100000", "--ignore-eos"}, options);
    EXPECT_EQ(o.status, 130);
}

TEST(Interactive, InputIsWrappedAndEndsWithTheInput) {
    const Output o = run({"main", "-m", kModel, "-p", "The king said:", "-i", "-r", "King:", "-n", "8", "--temp", "0",
                          "--interactive-first", "--in-prefix", "<", "--in-suffix", ">"},
                         {.input = "Good morning\n"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.out, StartsWith("The king said:<>"));
}

TEST(Interactive, CtrlCGivesControlAndASecondOneEnds) {
    int sent = 0;
    std::string input;
    RunOptions options = {.timeout_s = 60, .on_output = [&](const Output& o) {
                              if (sent == 0 && o.out.size() > 40) return ++sent, SIGINT;
                              return 0;
                          }};
    // Input ends at once here, so that control given to the user ends the program in good order.
    const Output o = run({"main", "-m", kModel, "-p", kPrompt, "-i", "-n", "100000", "--ignore-eos"}, options);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("llama_print_timings:"));
}

TEST(Chat, AnswersEveryMessageAndObeysCommands) {
    const Output o = run({"powerinfer", "chat", "-m", kModel, "--chat-template", "chatml", "-n", "6", "--temp", "0"},
                         {.input = "Hello\n/help\n/regen\n/nonsense\nAnd \\\nthen?\n/exit\n"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("/regen"));
    EXPECT_THAT(o.err, HasSubstr("no command /nonsense"));
    EXPECT_GE(std::count(o.out.begin(), o.out.end(), '\n'), 3);
    const Output none = run({"powerinfer", "chat", "-m", kModel});
    EXPECT_EQ(none.status, 1) << "the demo model has no template";
    EXPECT_THAT(none.err, HasSubstr("chatml"));
}

TEST(Chat, FilesGoBeforeTheNextMessage) {
    const TemporaryFolder folder;
    for (const char* name : {"b.txt", "a.txt", "c.md"}) std::ofstream(folder / name) << "content of " << name;
    std::filesystem::create_directory(folder / "d.txt");
    const auto talk = [&](const std::string& input) {
        return run({"powerinfer", "chat", "-m", kModel, "--chat-template", "chatml", "-n", "1", "--temp", "0", "--verbose-prompt"},
                   {.input = input, .folder = folder.path()});
    };
    const auto prompt_of = [](const Output& o) {
        const size_t begin = o.err.find("number of tokens in prompt"), end = o.err.find("powerinfer: ");
        return begin < end ? o.err.substr(begin, end - begin) : "none in " + o.err;
    };
    const Output typed = talk("content of a.txt\\\ncontent of b.txt\\\nHello\n");
    const Output read = talk("/read a.txt\n/read b.txt\nHello\n"), matched = talk("/glob *.txt\nHello\n");
    EXPECT_THAT(typed.err, HasSubstr("number of tokens in prompt"));
    EXPECT_EQ(prompt_of(read), prompt_of(typed));
    EXPECT_EQ(prompt_of(matched), prompt_of(typed));
    EXPECT_THAT(matched.err, HasSubstr("16 bytes of 'b.txt'"));
    EXPECT_THAT(talk("/glob *.cpp\n").err, HasSubstr("No file is called '*.cpp'"));
    EXPECT_THAT(talk("/read d.txt\n").err, HasSubstr("cannot read 'd.txt'"));
    EXPECT_THAT(talk("/read -\nHello\n").err, HasSubstr("number of tokens in prompt"));
}

TEST(Batched, EveryStreamContinuesThePrompt) {
    const Output o = run({"batched", kModel, kPrompt, "3", "16", "2"});
    EXPECT_EQ(o.status, 0) << o.err;
    for (const char* head : {"sequence 0:\n\nOnce upon a time", "sequence 1:\n\nOnce upon a time", "sequence 2:\n\nOnce upon a time"})
        EXPECT_THAT(o.out, HasSubstr(head));
    EXPECT_THAT(o.err, HasSubstr("main: n_len = 16"));
    EXPECT_THAT(o.err, HasSubstr("main: stream 2 finished at n_cur = 16"));
    EXPECT_TRUE(matches(o.err, R"(main: decoded \d+ tokens in \d+\.\d\d s, speed: \d+\.\d\d t/s)"));
    EXPECT_EQ(run({"batched"}).status, 1);
}

TEST(Quantize, MakesAFileThatRuns) {
    const TemporaryFolder folder;
    const Output made = run({"quantize", kModel, folder / "small.gguf", "q4_0"});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(folder.files(), ElementsAre("small.gguf"));
    EXPECT_LT(std::filesystem::file_size(folder / "small.gguf"), std::filesystem::file_size(kModel) / 2);
    EXPECT_THAT(run({"main", "-m", folder / "small.gguf", "-p", kPrompt, "-n", "8"}).out, StartsWith(kPrompt));
    std::filesystem::copy(kModel, folder / "in.gguf");
    EXPECT_EQ(run({"llama-quantize", folder / "in.gguf", "Q8_0"}).status, 0);
    EXPECT_TRUE(std::filesystem::exists(folder / "ggml-model-Q8_0.gguf"));
    const Output wrong = run({"quantize", kModel, folder / "x.gguf", "Q9"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.err, HasSubstr("Q4_K_M"));
    EXPECT_EQ(run({"quantize", kModel}).status, 1);
}

TEST(Quantize, CtrlCLeavesNothingBehind) {
    const TemporaryFolder folder;
    const RunOptions options = {.on_output = [](const Output& o) { return o.err.empty() ? 0 : SIGINT; }};
    const Output o = run({"quantize", kModel, folder / "out.gguf", "Q4_K_M", "1"}, options);
    EXPECT_EQ(o.status, 130) << o.err;
    EXPECT_THAT(folder.files(), IsEmpty());
}

TEST(Perplexity, PrintsRunningValuesAndTheEstimate) {
    const TemporaryFolder folder;
    write_story(folder / "story.txt", 20);
    const Output o = run({"perplexity", "-m", kModel, "-f", folder / "story.txt", "-c", "128", "--chunks", "3"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(matches(o.out, R"(^\[1\]\d+\.\d{4},\[2\]\d+\.\d{4},\[3\]\d+\.\d{4},\nFinal estimate: PPL = \d+\.\d{4} \+/- \d+\.\d{5}\n$)")) << o.out;
    const Output lines = run({"llama-perplexity", "-m", kModel, "-f", folder / "story.txt", "-c", "128", "--chunks", "2",
                              "--ppl-output-type", "1"});
    EXPECT_TRUE(matches(lines.out, R"(^ +0  \d+\.\d{4}  \d+\.\d+  \d+\.\d+\n +128  )")) << lines.out;
    const Output stride = run({"perplexity", "-m", kModel, "-f", folder / "story.txt", "-c", "128", "--chunks", "2",
                               "--ppl-stride", "32"});
    EXPECT_TRUE(matches(stride.out, R"(^ +0  \d+\.\d{4}\n +32  \d+\.\d{4}\n)")) << stride.out;
    const Output few = run({"perplexity", "-m", kModel, "-p", "Too short", "-c", "128"});
    EXPECT_EQ(few.status, 1);
    EXPECT_THAT(few.err, HasSubstr("needs at least 256"));
}

TEST(Perplexity, AModelDoesNotDivergeFromItself) {
    const TemporaryFolder folder;
    write_story(folder / "story.txt", 20);
    const Words common = {"llama-perplexity", "-m", kModel, "-c", "128", "--chunks", "2"};
    Words base = common, same = common;
    for (const std::string& w : {std::string("-f"), folder / "story.txt", std::string("--save-all-logits"), folder / "base.bin"})
        base.push_back(w);
    for (const std::string& w : {std::string("--kl-divergence"), std::string("--kl-divergence-base"), folder / "base.bin"})
        same.push_back(w);
    const Output first = run(base);
    ASSERT_EQ(first.status, 0) << first.err;
    const Output o = run(same);
    ASSERT_EQ(o.status, 0) << o.err;
    std::smatch m;
    ASSERT_TRUE(std::regex_search(o.out, m, std::regex(R"(Mean    KLD: +(-?\d+\.\d+))"))) << o.out;
    EXPECT_LT(std::fabs(std::stod(m[1])), 1e-4);
    EXPECT_THAT(o.out, HasSubstr("Same top p: 100.000"));
    std::smatch ppl, again;
    ASSERT_TRUE(std::regex_search(first.out, ppl, std::regex(R"(PPL = (\d+\.\d+))")));
    ASSERT_TRUE(std::regex_search(o.out, again, std::regex(R"(Mean PPL\(Q\) +: +(\d+\.\d+))")));
    EXPECT_NEAR(std::stod(ppl[1]), std::stod(again[1]), 1e-3);
    std::ofstream(folder / "bad.bin") << "_logits_ and nothing more";
    EXPECT_EQ(run({"llama-perplexity", "-m", kModel, "--kl-divergence", "--kl-divergence-base", folder / "bad.bin"}).status, 1);
}

TEST(Bench, JsonHasTheFieldsThatScriptsRead) {
    const Output o = run({"llama-bench", "-m", kModel, "-p", "16", "-n", "4", "-r", "2", "-o", "json", "--no-bandwidth"});
    ASSERT_EQ(o.status, 0) << o.err;
    const auto rows = nlohmann::json::parse(o.out);
    ASSERT_EQ(rows.size(), 2u);
    for (const char* field : {"build_commit", "cpu_info", "model_filename", "model_type", "model_size", "model_n_params",
                              "n_batch", "n_ubatch", "n_threads", "type_k", "n_gpu_layers", "n_prompt", "n_gen", "n_depth",
                              "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts",
                              "gb_per_s", "active_share", "hash"})
        EXPECT_TRUE(rows[0].contains(field)) << field;
    EXPECT_EQ(rows[0]["n_prompt"], 16);
    EXPECT_EQ(rows[1]["n_gen"], 4);
    EXPECT_EQ(rows[1]["samples_ns"].size(), 2u);
    EXPECT_GT(rows[1]["avg_ts"], 0);
}

// The cache is filled once and gone back to; what is computed from it must be the same each time.
TEST(Bench, RepetitionsFromAFilledCacheAreAlike) {
    const auto rows = [](const char* repetitions, const char* depth) {
        const Output o = run({"llama-bench", "-m", kModel, "-p", "0", "-n", "3", "-d", depth, "-npl", "1,3", "-r", repetitions,
                              "-o", "json", "--no-bandwidth", "--fma"});
        EXPECT_EQ(o.status, 0) << o.err;
        return nlohmann::json::parse(o.out);
    };
    const auto once = rows("1", "16"), thrice = rows("3", "16"), shallow = rows("1", "0");
    ASSERT_EQ(once.size(), 2u);
    for (size_t i = 0; i < once.size(); ++i) {
        EXPECT_EQ(once[i]["hash"], thrice[i]["hash"]);
        EXPECT_NE(once[i]["hash"], shallow[i]["hash"]);
        EXPECT_EQ(once[i]["bytes_per_pass"], thrice[i]["bytes_per_pass"]);
        EXPECT_GT(once[i]["fma_gflops"], 0.1);
    }
    EXPECT_EQ(once[1]["n_parallel"], 3);
    const double ns = once[1]["samples_ns"][0], tokens_per_s = once[1]["samples_ts"][0];
    EXPECT_NEAR(tokens_per_s, 9 / (ns / 1e9), 1e-6 * tokens_per_s);
}

TEST(Bench, TheOtherForms) {
    const Words base = {"llama-bench", "-m", kModel, "-p", "8", "-n", "0", "-r", "1", "--no-bandwidth", "-o"};
    const auto form = [&](const char* name) {
        Words words = base;
        words.emplace_back(name);
        return run(words).out;
    };
    EXPECT_THAT(form("csv"), StartsWith("build_commit,build_number,cpu_info,gpu_info,backends,model_filename,"));
    EXPECT_THAT(form("md"), StartsWith("| model                          |       size |     params | backend    | threads |"));
    EXPECT_THAT(form("md"), HasSubstr(" pp8 |"));
    EXPECT_THAT(form("sql"), HasSubstr("INSERT INTO test (build_commit, "));
    EXPECT_EQ(nlohmann::json::parse(form("jsonl"))["n_prompt"], 8);
}

TEST(Convert, LogitsEqualThoseOfTheTrainingProgram) {
    SHARED_PATH_OR_SKIP(source, "models/fable-relu");
    const TemporaryFolder folder;
    const Output made = run({"powerinfer", "convert", source.string(), "-o", folder / "fable.gguf", "--outtype", "f32"});
    ASSERT_EQ(made.status, 0) << made.err;
    const auto expected = formats::SafeTensorsFile::open((source / "expected.safetensors").string());
    const std::vector<int64_t> ids = expected.at("prompt_ids").to_ints();
    const std::vector<float> wanted = expected.at("logits").to_floats();
    std::ofstream file(folder / "ids.txt");
    for (const int64_t id : ids) file << id << ",\n";
    file.close();
    for (const char* mode : {"off", "exact"}) {
        const Output o = run({"powerinfer", "logits", "-m", folder / "fable.gguf", "--ids-file", folder / "ids.txt", "-o",
                              folder / "logits.safetensors", "--sparsity", mode, "--memory-f32"});
        ASSERT_EQ(o.status, 0) << o.err;
        const auto result = formats::SafeTensorsFile::open(folder / "logits.safetensors");
        const std::vector<float> found = result.at("logits").to_floats();
        ASSERT_EQ(found.size(), wanted.size());
        float worst = 0;
        for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::fabs(found[i] - wanted[i]));
        EXPECT_LT(worst, 2e-3f) << mode;
    }
    const Output wrong = run({"powerinfer", "logits", "-m", folder / "fable.gguf", "--ids-file", "-", "-o", folder / "x"},
                             {.input = "1 2 banana"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.err, HasSubstr("entry 3: 'banana'"));
}

TEST(Output, AFullDiskIsAnError) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
    const Output o = run({"/bin/sh", "-c", program("powerinfer") + " inspect " + kModel + " > /dev/full"});
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, HasSubstr("cannot write"));
}

}  // namespace
}  // namespace powerinfer::test
