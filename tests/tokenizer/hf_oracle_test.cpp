// Published folders: their prompt becomes the ids that another program computed.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "shared_data.h"
#include "temporary_folder.h"
#include "tokenizer/hf_tokenizer.h"
#include "tokenizer/tokenizer.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;

namespace {

nlohmann::json read_json(const std::filesystem::path& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in);
}

void expect_prompt_ids(const std::filesystem::path& folder) {
    SCOPED_TRACE(folder.filename().string());
    const auto expected = read_json(folder / "expected.json");
    const Tokenizer tokenizer(read_hf_vocabulary(folder.string()), folder.string());
    const auto prompt = expected["prompt"].get<std::string>();
    auto ids = tokenizer.encode(prompt);
    EXPECT_EQ(tokenizer.decode(ids), prompt);
    const auto wanted = expected["prompt_ids"].get<std::vector<TokenId>>();
    ASSERT_GE(ids.size(), wanted.size());
    ids.resize(wanted.size());
    EXPECT_EQ(ids, wanted);
}

TEST(HfOracle, PromptIdsOfEveryFolder) {
    SHARED_PATH_OR_SKIP(root, "oracles");
    int n_folders = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
        if (!std::filesystem::exists(entry.path() / "tokenizer_config.json")) continue;
        ++n_folders;
        expect_prompt_ids(entry.path());
    }
    EXPECT_GE(n_folders, 38);
}

TEST(HfOracle, PromptIdsOfTheDemoModel) {
    SHARED_PATH_OR_SKIP(folder, "models/fable-relu");
    expect_prompt_ids(folder);
}

}  // namespace
