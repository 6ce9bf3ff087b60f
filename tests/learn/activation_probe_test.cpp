#include "learn/activation_probe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "shared_data.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer::learn {
namespace {

TEST(ActivationProbe, FindsTheActivationOfTheDemoModel) {
    SHARED_PATH_OR_SKIP(text_file, "text/fairy_tales.heldout.txt");
    const auto file = std::make_shared<const formats::GgufFile>(
        formats::GgufFile::open(std::string(POWERINFER_SOURCE_DIR) + "/models/fable.gguf"));
    const auto tokenizer = tokenizer::Tokenizer::load(*file);
    std::ostringstream text;
    text << std::ifstream(text_file).rdbuf();
    auto ids = tokenizer.encode(text.str().substr(0, 8000));
    ids.resize(512);
    const auto trials = probe_activations(file, ids, 256, 2);
    ASSERT_EQ(trials.size(), 5u);
    EXPECT_EQ(trials.front().activation, model::Activation::relu);
    EXPECT_LT(trials.front().perplexity, 40);
    EXPECT_GT(trials[1].perplexity, 1.1 * trials.front().perplexity);
    EXPECT_NEAR(trials.front().gates_below_zero, 0.90, 0.03);
    EXPECT_EQ(trials.front().gates_below_zero_per_layer.size(), 4u);
}

TEST(ActivationProbe, NeedsOneWindow) {
    const auto file = std::make_shared<const formats::GgufFile>(
        formats::GgufFile::open(std::string(POWERINFER_SOURCE_DIR) + "/models/fable.gguf"));
    const std::vector<int32_t> ids(100, 5);
    EXPECT_THROW(probe_activations(file, ids, 256, 1), Error);
}

}  // namespace
}  // namespace powerinfer::learn
