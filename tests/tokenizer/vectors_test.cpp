// Ids and pieces equal those of other people's programs.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "formats/gguf.h"
#include "shared_data.h"
#include "tokenizer/pretokenizers.h"
#include "tokenizer/tokenizer.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;

namespace {

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t at; (at = text.find(separator, begin)) != std::string::npos; begin = at + separator.size())
        parts.push_back(text.substr(begin, at - begin));
    if (begin < text.size()) parts.push_back(text.substr(begin));
    return parts;
}

std::vector<TokenId> parse_ids(const std::string& line) {
    std::istringstream in(line);
    std::vector<TokenId> ids;
    for (TokenId id; in >> id;) ids.push_back(id);
    return ids;
}

class Vocabulary : public testing::TestWithParam<const char*> {};

TEST_P(Vocabulary, IdsEqualTheRecordedOnes) {
    SHARED_PATH_OR_SKIP(path, std::string("vectors/tokenizers/ggml-vocab-") + GetParam() + ".gguf");
    const auto tokenizer = Tokenizer::load(formats::GgufFile::open(path.string()));
    const auto texts = split_at(read_file(path.string() + ".inp"), "\n__ggml_vocab_test__\n");
    const auto lines = split_at(read_file(path.string() + ".out"), "\n");
    ASSERT_EQ(texts.size(), lines.size());
    ASSERT_GE(texts.size(), 40u);
    for (size_t i = 0; i < texts.size(); ++i) {
        const auto ids = tokenizer.encode(texts[i], {.add_special = false});
        EXPECT_EQ(ids, parse_ids(lines[i])) << "text " << i << ": '" << texts[i] << "'";
        EXPECT_EQ(tokenizer.decode(ids), texts[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(Published, Vocabulary,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "falcon", "starcoder",
                                         "deepseek-llm"));

TEST(PreTokenizerVectors, PiecesEqualTheRecordedOnes) {
    SHARED_PATH_OR_SKIP(path, "vectors/pretokenize/cases.json");
    const auto cases = nlohmann::json::parse(read_file(path));
    const auto texts = cases["texts"].get<std::vector<std::string>>();
    ASSERT_GE(cases["pieces"].size(), 12u);
    const Regex numbers(R"(\p{N}+)");
    for (const auto& [name, expected] : cases["pieces"].items()) {
        const PreTokenizerInfo* info = find_pre_tokenizer(name);
        ASSERT_NE(info, nullptr) << name;
        const PreTokenizer pre(*info);
        for (size_t i = 0; i < texts.size(); ++i) {
            std::vector<std::string> pieces;
            for (const std::string_view piece : pre.split(texts[i])) {
                std::vector<Span> spans;
                if (name == "falcon")
                    numbers.cut(piece, 0,
                                spans);  // see kFalcon: the vector isolates numbers, which changes no id
                else
                    spans.push_back({0, piece.size(), true});
                for (const Span& span : spans)
                    pieces.emplace_back(piece.substr(span.begin, span.end - span.begin));
            }
            EXPECT_EQ(pieces, expected[i].get<std::vector<std::string>>())
                << name << ", text " << i << ": '" << texts[i] << "'";
        }
    }
}

TEST(PreTokenizerVectors, EveryNameCompiles) {
    for (const std::string_view name : pre_tokenizer_names()) {
        const PreTokenizer pre(*find_pre_tokenizer(name));
        std::string joined;
        const std::string text =
            "It's 1234567 o'clock,  \n\n\tGROSS Größe 我想在 ก็ <sentinel:1> \x80\xFF end  ";
        for (const std::string_view piece : pre.split(text)) joined += piece;
        EXPECT_EQ(joined, text) << name;
    }
}

}  // namespace
