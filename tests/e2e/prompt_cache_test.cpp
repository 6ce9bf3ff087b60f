// --prompt-cache: what is taken from the file changes nothing but the time, and nothing wrong is taken from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "e2e/process.h"

namespace powerinfer::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string kModel = POWERINFER_SOURCE_DIR "/models/fable.gguf";
const std::string kPrompt = "Once upon a time there was a king who had three daughters";

Output continued(const std::string& prompt, const Words& more, const std::string& model = kModel) {
    Words words = {"main", "-m", model, "-p", prompt, "-n", "12", "--temp", "0", "-t", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
}

std::string hash_of(const Output& o) {
    std::smatch m;
    return std::regex_search(o.err, m, std::regex("hash ([0-9a-f]{16})")) ? m[1].str() : o.err;
}

/// Tokens of the prompt that were computed.
int n_computed(const Output& o) {
    std::smatch m;
    return std::regex_search(o.err, m, std::regex(R"(prompt eval time = .*/ +(\d+) tokens)")) ? std::stoi(m[1]) : -1;
}

std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PromptCache, SavesTheWorkAndChangesNothing) {
    for (const char* type : {"f16", "f32", "q8_0"}) {
        SCOPED_TRACE(type);
        const TemporaryFolder folder;
        const Words types = {"-ctk", type, "-ctv", type};
        Words with = types;
        for (const std::string& w : {std::string("--prompt-cache"), folder / "state"}) with.push_back(w);
        const Output plain = continued(kPrompt, types), first = continued(kPrompt, with);
        ASSERT_EQ(first.status, 0) << first.err;
        EXPECT_EQ(first.out, plain.out);
        EXPECT_THAT(folder.files(), ElementsAre("state"));
        const Output second = continued(kPrompt, with);
        EXPECT_EQ(second.out, plain.out);
        EXPECT_EQ(hash_of(second), hash_of(plain));
        EXPECT_GT(n_computed(plain), 10);
        EXPECT_EQ(n_computed(second), 1) << "the last token, for its logits";
        // The longest common part is used, and the file then holds the new prompt.
        const std::string longer = kPrompt + ", and a goose";
        EXPECT_EQ(continued(longer, with).out, continued(longer, types).out);
        const Output again = continued(longer, with);
        EXPECT_EQ(n_computed(again), 1);
        const std::string other = "Once upon a time there lived a fox";
        const Output branch = continued(other, with);
        EXPECT_EQ(branch.out, continued(other, types).out);
        EXPECT_LT(n_computed(branch), n_computed(continued(other, types)));
    }
}

TEST(PromptCache, KeepsTheAnswerWhereAsked) {
    const TemporaryFolder folder;
    const Words all = {"--prompt-cache", folder / "state", "--prompt-cache-all"};
    const Output first = continued(kPrompt, all);
    ASSERT_EQ(first.status, 0) << first.err;
    // Without a prompt it goes on where the file ends.
    const Output more = continued("", {"--prompt-cache", folder / "state", "--prompt-cache-ro", "--repeat-penalty", "1"});
    EXPECT_EQ(more.status, 0) << more.err;
    EXPECT_LE(n_computed(more), 2);
    EXPECT_FALSE(more.out.empty());
}

TEST(PromptCache, ReadOnlyWritesNothing) {
    const TemporaryFolder folder;
    const Words words = {"--prompt-cache", folder / "state", "--prompt-cache-ro"};
    EXPECT_EQ(continued(kPrompt, words).out, continued(kPrompt, {}).out);
    EXPECT_THAT(folder.files(), IsEmpty());
    continued(kPrompt, {"--prompt-cache", folder / "state"});
    const std::string before = bytes_of(folder / "state");
    EXPECT_EQ(continued("The wolf", words).status, 0);
    EXPECT_EQ(bytes_of(folder / "state"), before);
}

TEST(PromptCache, TheWorkOfAnotherModelOrSettingIsRefused) {
    const TemporaryFolder folder;
    const Words words = {"--prompt-cache", folder / "state"};
    ASSERT_EQ(continued(kPrompt, words).status, 0);
    ASSERT_EQ(run({"quantize", kModel, folder / "other.gguf", "Q4_0"}).status, 0);
    const auto refused = [&](const Words& more, const std::string& model = kModel) {
        Words with = words;
        with.insert(with.end(), more.begin(), more.end());
        const Output o = continued(kPrompt, with, model);
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.out, IsEmpty());
        EXPECT_THAT(o.err, HasSubstr("was made with another model, other settings or another version"));
    };
    refused({}, folder / "other.gguf");
    refused({"--sparsity", "off"});
    refused({"-ctk", "f32", "-ctv", "f32"});
    refused({"--rope-freq-base", "20000"});
    refused({"--override-kv", "llama.attention.layer_norm_rms_epsilon=float:0.1"});
    const Output small = continued("", {"--prompt-cache", folder / "state", "-c", "8"});
    EXPECT_THAT(small.err, HasSubstr("the context has 8"));
}

TEST(PromptCache, ADamagedFileIsOneError) {
    const TemporaryFolder folder;
    const std::string path = folder / "state";
    ASSERT_EQ(continued(kPrompt, {"--prompt-cache", path}).status, 0);
    const std::string sound = bytes_of(path);
    ASSERT_GT(sound.size(), 10000u);
    const auto expect_refused = [&](const std::string& bytes) {
        std::ofstream(path, std::ios::binary) << bytes;
        const Output o = continued(kPrompt, {"--prompt-cache", path, "--log-disable"});
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.err, StartsWith("error: the prompt cache '" + path + "' "));
        EXPECT_EQ(bytes_of(path), bytes) << "the file is left as it is";
    };
    for (const size_t n : {size_t{0}, size_t{7}, size_t{23}, size_t{31}, sound.size() / 2, sound.size() - 1}) expect_refused(sound.substr(0, n));
    expect_refused(sound + "x");
    for (const size_t at : {size_t{0}, size_t{8}, size_t{12}, size_t{15}, size_t{16}, size_t{24}, sound.size() / 2, sound.size() - 1}) {
        std::string bad = sound;
        bad[at] = static_cast<char>(bad[at] ^ 0x40);
        expect_refused(bad);
    }
}

TEST(PromptCache, IsForPlainTextsOnly) {
    const Words common = {"-m", kModel, "-p", "x", "--prompt-cache", "/nowhere/state"};
    const auto error = [&](Words words, const Words& more) {
        words.insert(words.end(), common.begin(), common.end());
        words.insert(words.end(), more.begin(), more.end());
        const Output o = run(words);
        EXPECT_EQ(o.status, 1);
        EXPECT_THAT(o.err, Not(HasSubstr("weights")));
        return o.err;
    };
    EXPECT_THAT(error({"llama-cli"}, {}), HasSubstr("not for conversations"));
    EXPECT_THAT(error({"main"}, {"-i", "--prompt-cache-all"}), HasSubstr("exclude each other"));
    EXPECT_THAT(error({"main"}, {"--prompt-cache-ro", "--prompt-cache-all"}), HasSubstr("exclude each other"));
    EXPECT_THAT(error({"main"}, {}), HasSubstr("/nowhere/state"));
}

}  // namespace
}  // namespace powerinfer::test
