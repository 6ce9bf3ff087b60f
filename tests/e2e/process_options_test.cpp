// Options about the process itself: its log file, its processors, its priority.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "e2e/process.h"

namespace powerinfer::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LogFile, HoldsWhatStandardErrorSays) {
    const TemporaryFolder folder;
    const Words words = {"main", "-m", kModel, "-p", "Once", "-n", "4", "-ngl", "9", "--log-file", folder / "run.log"};
    const Output o = run(words);
    ASSERT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("this build has no GPU"));
    EXPECT_EQ(text_of(folder / "run.log"), o.err);
    const Output second = run(words);
    EXPECT_EQ(text_of(folder / "run.log"), second.err) << "a new run, a new log";
    Words append = words;
    append.emplace_back("--log-append");
    const Output third = run(append);
    EXPECT_EQ(text_of(folder / "run.log"), second.err + third.err);
    const Output failed = run({"main", "-m", "/nowhere/model.gguf", "--log-file", folder / "run.log"});
    EXPECT_EQ(text_of(folder / "run.log"), failed.err) << "errors too";
}

TEST(LogFile, ThatCannotBeWrittenIsAnErrorAtOnce) {
    const Output o = run({"main", "-m", "/nowhere/model.gguf", "--log-file", "/nowhere/run.log"});
    EXPECT_EQ(o.status, 1);
    EXPECT_THAT(o.err, StartsWith("error: cannot write the log file '/nowhere/run.log'"));
}

/// Processors and nice value of every thread of the child process.
struct Threads {
    std::vector<std::string> cpus, nice;
};

Threads threads_of_child() {
    Threads found;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
        std::ifstream stat(process.path() / "stat");
        std::string pid, name, state, parent;
        if (!(stat >> pid >> name >> state >> parent) || parent != std::to_string(::getpid())) continue;
        for (const auto& task : std::filesystem::directory_iterator(process.path() / "task")) {
            std::istringstream status(text_of(task.path() / "status"));
            for (std::string line; std::getline(status, line);)
                if (line.starts_with("Cpus_allowed_list:")) found.cpus.push_back(line.substr(line.find('\t') + 1));
            std::istringstream fields(text_of(task.path() / "stat"));
            std::string field;
            for (int i = 0; i < 19; ++i) fields >> field;
            found.nice.push_back(field);
        }
    }
    return found;
}

TEST(Processors, EveryThreadKeepsToTheMaskAndThePriority) {
    cpu_set_t mine;
    ::sched_getaffinity(0, sizeof mine, &mine);
    int first = 0;
    while (!CPU_ISSET(first, &mine)) ++first;
    std::ostringstream mask;
    mask << "0x" << std::hex << (1ull << first);
    const std::string range = std::to_string(first) + "-" + std::to_string(first);
    for (const Words& place : {Words{"-C", mask.str()}, Words{"-Cr", range}}) {
        Threads seen;
        RunOptions options = {.on_output = [&](const Output& o) {
                                  if (o.out.size() < 20 || !seen.cpus.empty()) return 0;
                                  seen = threads_of_child();
                                  return SIGTERM;
                              }};
        Words words = {"main", "-m", kModel, "-p", "Once", "-n", "-1", "-t", "3", "--ignore-eos", "--prio", "-1"};
        words.insert(words.end(), place.begin(), place.end());
        const Output o = run(words, options);
        EXPECT_THAT(seen.cpus, SizeIs(testing::Ge(3u))) << o.err;
        EXPECT_THAT(seen.cpus, Each(std::to_string(first)));
        EXPECT_THAT(seen.nice, Each("10"));
    }
}

TEST(Processors, WhatCannotBeIsRefused) {
    const auto error = [](const Words& more) {
        Words words = {"llama-completion", "-m", "/nowhere/model.gguf"};
        words.insert(words.end(), more.begin(), more.end());
        const Output o = run(words);
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.out, IsEmpty());
        return o.err;
    };
    EXPECT_THAT(error({"-C", "0xg"}), HasSubstr("'g' is not a hexadecimal digit"));
    EXPECT_THAT(error({"-C", "0x"}), HasSubstr("hexadecimal digits"));
    EXPECT_THAT(error({"-Cr", "3"}), HasSubstr("not a range"));
    EXPECT_THAT(error({"-Cr", "3-1"}), HasSubstr("out of range"));
    EXPECT_THAT(error({"-Cr", "1000-1001"}), HasSubstr("no processor that this process may use"));
    EXPECT_THAT(error({"--cpu-strict", "1"}), HasSubstr("move freely"));
    EXPECT_THAT(error({"-Cb", "0x3"}), HasSubstr("the same threads"));
    EXPECT_THAT(error({"--prio", "4"}), HasSubstr("out of range"));
    EXPECT_THAT(error({"-C", "0x0", "--cpu-strict", "0", "-Cb", "0", "--prio", "0"}), HasSubstr("/nowhere/model.gguf"));
}

}  // namespace
}  // namespace powerinfer::test
