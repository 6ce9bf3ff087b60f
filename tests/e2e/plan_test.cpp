// `powerinfer plan` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/process.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PlanCommand, ShapesAndMachinesNeedNoFile) {
    const Output o = run({"powerinfer", "plan", "--synth", "llama-7b", "--machine", "rtx3060", "--vram-budget", "6"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("of 6442450944 used"));
    EXPECT_THAT(o.out, HasSubstr("hottest neurons first"));
}

TEST(PlanCommand, SavesLoadsExplainsAndDraws) {
    const TemporaryFolder folder;
    const std::vector<std::string> words = {"powerinfer", "plan", "--synth", "llama-1b", "--machine", "laptop-8gb", "--vram-budget", "1.2"};
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = words;
        all.insert(all.end(), more.begin(), more.end());
        const Output o = run(all);
        EXPECT_EQ(o.status, 0) << o.err;
        return o.out;
    };
    const std::string saved = with({"--json", "--save", folder / "p.json"});
    const auto json = nlohmann::json::parse(saved);
    EXPECT_LE(json["gap"], 1e-4);
    EXPECT_LE(json["devices"][0]["total"], json["vram"][0]);
    EXPECT_EQ(with({"--json", "--load", folder / "p.json"}), saved);
    EXPECT_THAT(with({"--explain", "3"}), StartsWith("layer 3: "));
    with({"--sweep", "--svg", folder / "s.svg"});
    std::ifstream svg(folder / "s.svg");
    std::string first;
    svg >> first;
    EXPECT_EQ(first, "<svg");
}

TEST(PlanCommand, MistakesAreOneLine) {
    const auto error = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"powerinfer", "plan"});
        const Output o = run(words);
        EXPECT_EQ(o.status, 1);
        return o.err;
    };
    EXPECT_THAT(error({"--machine", "rtx4090"}), HasSubstr("plan needs a model"));
    EXPECT_THAT(error({"--synth", "llama-7b", "--machine", "cray"}), HasSubstr("there is no machine 'cray'"));
    EXPECT_THAT(error({"--synth", "llama-7b", "--machine", "rk3588", "--vram-budget", "1"}), HasSubstr("has 0 devices"));
    EXPECT_THAT(error({"--synth", "llama-7b", "--machine", "rtx4090", "--explain", "32"}), HasSubstr("the layers are 0 to 31"));
    EXPECT_THAT(error({"--synth", "llama-7b", "--machine", "rtx4090", "--gpu-index", "x"}), HasSubstr("needs a model and its profile"));
    EXPECT_THAT(error({"--synth", "llama-7b", "--machine", "rtx4090", "--load", "/nowhere/p.json"}), HasSubstr("/nowhere/p.json"));
}

}  // namespace
}  // namespace powerinfer::test
