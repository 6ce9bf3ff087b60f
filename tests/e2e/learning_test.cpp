// The commands that learn about a model from a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "e2e/process.h"
#include "sparsity/profile.h"

namespace powerinfer::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";
const std::string kText = POWERINFER_SOURCE_DIR "/models/README.md";

Output run_well(const std::vector<std::string>& words) {
    Output o = run(words);
    EXPECT_EQ(o.status, 0) << o.err;
    return o;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Profile, IsMadeMergedAndExchanged) {
    TemporaryFolder folder;
    const Output made = run_well({"powerinfer", "profile", "-m", kModel, "-f", kText, "-c", "64", "--tokens",
                                  "128", "-o", folder / "p.gguf"});
    EXPECT_THAT(made.out, StartsWith("4 layers of 1024 neurons, 128 tokens"));
    EXPECT_THAT(made.out, HasSubstr("\n mean "));
    const auto whole = sparsity::open_profile(folder / "p.gguf");
    EXPECT_EQ(whole.n_tokens, 128u);
    EXPECT_EQ(whole.sources, std::vector<std::string>{"README.md"});
    EXPECT_TRUE(whole.has_moments());

    run_well({"powerinfer", "profile", "--merge", folder / "p.gguf", folder / "p.gguf", "-o",
              folder / "twice.gguf"});
    const auto twice = sparsity::open_profile(folder / "twice.gguf");
    EXPECT_EQ(twice.n_tokens, 256u);
    run_well({"powerinfer", "profile", folder / "p.gguf", "--to-torch", folder / "activation"});
    run_well({"powerinfer", "profile", "--from-torch", folder / "activation", "-m", kModel, "-o",
              folder / "back.gguf"});
    const auto back = sparsity::open_profile(folder / "back.gguf");
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(back.layers[i].fires, whole.layers[i].fires);
        for (size_t j = 0; j < 1024; ++j) EXPECT_EQ(twice.layers[i].fires[j], 2 * whole.layers[i].fires[j]);
    }
    EXPECT_EQ(run_well({"powerinfer", "profile", folder / "p.gguf", "-m", kModel}).out, made.out);
}

TEST(Profile, SaysWhatItNeeds) {
    TemporaryFolder folder;
    const auto error = [](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"powerinfer", "profile"};
        words.insert(words.end(), more.begin(), more.end());
        const Output o = run(words);
        EXPECT_EQ(o.status, 1);
        return o.err;
    };
    EXPECT_THAT(error({}), HasSubstr("-m MODEL -f TEXT, --from-torch FOLDER, or profiles"));
    EXPECT_THAT(error({"a", "-f", kText}), HasSubstr("profile needs one of"));
    EXPECT_THAT(error({"a", "b"}), HasSubstr("--merge adds them up"));
    EXPECT_THAT(error({"--merge", "a"}), HasSubstr("at least two profiles, 1 were given"));
    EXPECT_THAT(error({"/nowhere/p.gguf"}), HasSubstr("/nowhere/p.gguf"));
    EXPECT_THAT(error({kModel}), HasSubstr("fable.gguf' holds no activation profile"));
    EXPECT_THAT(error({"--from-torch", "/nowhere/activation"}),
                HasSubstr("/nowhere/activation' does not exist"));
}

TEST(Evaluate, PrintsATableOrJsonAndDrawsAPage) {
    TemporaryFolder folder;
    const std::vector<std::string> words = {"powerinfer", "evaluate", "-m", kModel,     "-f",
                                            kText,        "-c",       "32", "--tokens", "96"};
    const Output table = run_well(words);
    EXPECT_THAT(table.out, StartsWith("exact against off, 96 tokens in windows of 32, 45 scored"));
    std::vector<std::string> more = words;
    more.insert(more.end(), {"--json", "--svg", folder / "page.svg"});
    const auto json = nlohmann::json::parse(run_well(more).out);
    EXPECT_EQ(json["layers"].size(), 4u);
    EXPECT_EQ(json["recall"], 1.0);
    EXPECT_THAT(read_file(folder / "page.svg"), StartsWith("<svg"));

    const Output late =
        run({"powerinfer", "evaluate", "-m", "/nowhere/m.gguf", "-f", kText, "--svg", "/nowhere/page.svg"});
    EXPECT_EQ(late.status, 1);
    EXPECT_THAT(late.err, HasSubstr("/nowhere/page.svg"));
}

}  // namespace
}  // namespace powerinfer::test
