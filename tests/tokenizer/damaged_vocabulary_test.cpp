// Vocabularies that do not fit together are refused with a sentence that names the key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_message.h"
#include "formats/gguf.h"
#include "temporary_folder.h"
#include "tokenizer/vocabularies.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;
using namespace powerinfer::test;
using formats::GgufValue;
using testing::AllOf;
using testing::HasSubstr;

namespace {

using Keys = std::vector<std::pair<std::string, GgufValue>>;

/// Writes the vocabulary with some keys replaced and says how loading goes.
std::string load_message(const VocabularyData& data, const Keys& replaced = {},
                         const LogSink& log_sink = {}) {
    const TemporaryFolder folder;
    formats::GgufWriter writer(folder / "v.gguf", formats::GgufMagic::gguf);
    write_vocabulary(writer, data);
    for (const auto& [key, value] : replaced) writer.set(key, value);
    writer.begin_data();
    writer.finish();
    const auto file = formats::GgufFile::open(folder / "v.gguf");
    return message_of([&] { Tokenizer::load(file, log_sink); });
}

GgufValue bytes_array(size_t n) {
    GgufValue value = GgufValue::of_i32s(std::vector<int64_t>(n, 1));
    value.element = formats::GgufType::i8;
    return value;
}

TEST(Damaged, NothingIsWrongWithTheSamples) {
    EXPECT_EQ(load_message(spm_vocabulary()), "(no error)");
    EXPECT_EQ(load_message(bpe_vocabulary()), "(no error)");
}

TEST(Damaged, LengthsThatDiffer) {
    VocabularyData data = spm_vocabulary();
    const size_t n = data.tokens.size();
    data.scores.resize(n - 10);
    EXPECT_THAT(load_message(data), AllOf(HasSubstr("tokenizer.ggml.scores"), HasSubstr(std::to_string(n)),
                                          HasSubstr(std::to_string(n - 10))));
    data = spm_vocabulary();
    data.kinds.push_back(TokenKind::normal);
    EXPECT_THAT(load_message(data),
                AllOf(HasSubstr("tokenizer.ggml.token_type"), HasSubstr(std::to_string(n + 1))));
    data = spm_vocabulary();
    data.scores.clear();
    EXPECT_THAT(load_message(data), HasSubstr("tokenizer.ggml.scores"));
}

TEST(Damaged, ElementsOfAnotherType) {
    const VocabularyData data = spm_vocabulary();
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.scores", bytes_array(data.tokens.size())}}),
                AllOf(HasSubstr("tokenizer.ggml.scores"), HasSubstr("f32"), HasSubstr("i8")));
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.token_type", bytes_array(data.tokens.size())}}),
                AllOf(HasSubstr("tokenizer.ggml.token_type"), HasSubstr("i32"), HasSubstr("i8")));
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.tokens", GgufValue::of_u32(3)}}),
                HasSubstr("tokenizer.ggml.tokens"));
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.scores", GgufValue::of_string("x")}}),
                HasSubstr("tokenizer.ggml.scores"));
}

TEST(Damaged, WholeNumbersServeAsScores) {
    const VocabularyData data = spm_vocabulary();
    std::vector<int64_t> scores;
    for (const float score : data.scores) scores.push_back(static_cast<int64_t>(score));
    EXPECT_EQ(load_message(data, {{"tokenizer.ggml.scores", GgufValue::of_i32s(scores)}}), "(no error)");
}

TEST(Damaged, ValuesOutsideTheirRange) {
    VocabularyData data = spm_vocabulary();
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.unknown_token_id",
                            "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id"})
        EXPECT_THAT(load_message(data, {{key, GgufValue::of_u32(4000000000u)}}),
                    AllOf(HasSubstr(key), HasSubstr("4000000000"),
                          HasSubstr(std::to_string(data.tokens.size() - 1))));
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.eos_token_id", GgufValue::of_i32(-7)}}),
                HasSubstr("eos_token_id"));
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.suppress_tokens", GgufValue::of_i32s({1, 100000})}}),
                AllOf(HasSubstr("suppress_tokens"), HasSubstr("100000")));
    std::vector<int64_t> kinds(data.tokens.size(), 1);
    kinds[5] = 7;
    EXPECT_THAT(load_message(data, {{"tokenizer.ggml.token_type", GgufValue::of_i32s(kinds)}}),
                AllOf(HasSubstr("token_type"), HasSubstr("7"), HasSubstr("index 5")));
    data.scores[3] = std::nanf("");
    EXPECT_THAT(load_message(data), HasSubstr("scores"));
}

TEST(Damaged, ByteTokensThatAreNone) {
    for (const char* text : {"<0x-1>", "<0xZZ>", "<0x123>", "0x41", "<0x+1>", "<0x 1>"}) {
        VocabularyData data = spm_vocabulary();
        data.tokens[20] = text;
        EXPECT_THAT(load_message(data),
                    AllOf(HasSubstr(text), HasSubstr("token 20"), HasSubstr("tokenizer.ggml.tokens")));
    }
}

TEST(Damaged, TokensOfAbsurdLength) {
    VocabularyData data = spm_vocabulary();
    data.tokens[300 % data.tokens.size()] = std::string(70000, 'x');
    EXPECT_THAT(load_message(data), HasSubstr("70000"));
}

TEST(Damaged, NoTokensAtAll) {
    VocabularyData data;
    data.model = "llama";
    EXPECT_THAT(load_message(data), HasSubstr("tokenizer.ggml.tokens"));
}

TEST(Damaged, Merges) {
    VocabularyData data = bpe_vocabulary();
    data.merges.push_back("k ing");
    EXPECT_THAT(load_message(data), AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("'king'")));
    data.merges.back() = "nospace";
    EXPECT_THAT(load_message(data), AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("nospace")));
    data.merges.clear();
    EXPECT_THAT(load_message(data), HasSubstr("tokenizer.ggml.merges"));
}

TEST(Damaged, NamesThatAreUnknown) {
    VocabularyData data = bpe_vocabulary();
    data.pre = "from-the-future";
    EXPECT_THAT(load_message(data), AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("from-the-future")));
    data.pre = "gpt-2";
    data.model = "bert";
    EXPECT_THAT(load_message(data), AllOf(HasSubstr("tokenizer.ggml.model"), HasSubstr("bert")));
}

TEST(Damaged, WhatIsToleratedIsSaid) {
    std::vector<std::string> warnings;
    const LogSink log_sink = [&](LogLevel level, std::string_view line) {
        if (level == LogLevel::warning) warnings.emplace_back(line);
    };
    VocabularyData data = bpe_vocabulary();
    data.pre.clear();
    data.tokens[100] = data.tokens[99];
    EXPECT_EQ(load_message(data, {}, log_sink), "(no error)");
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_THAT(warnings[0], HasSubstr("tokenizer.ggml.tokens"));
    EXPECT_THAT(warnings[1], HasSubstr("tokenizer.ggml.pre"));
}

TEST(Stored, EverythingComesBackFromAFile) {
    VocabularyData data = spm_vocabulary();
    data.pre = "default";
    data.add_bos = false;
    data.add_eos = true;
    data.add_space_prefix = false;
    data.eot = 5;
    data.fim_middle = 6;
    data.suppressed = {1, 2};
    data.chat_template = "{{ bos_token }}";
    pad_vocabulary(data, data.tokens.size() + 3);
    const TemporaryFolder folder;
    formats::GgufWriter writer(folder / "v.gguf", formats::GgufMagic::gguf);
    write_vocabulary(writer, data);
    writer.begin_data();
    writer.finish();
    const VocabularyData read = read_vocabulary(formats::GgufFile::open(folder / "v.gguf"));
    EXPECT_EQ(read.model, data.model);
    EXPECT_EQ(read.pre, data.pre);
    EXPECT_EQ(read.tokens, data.tokens);
    EXPECT_EQ(read.scores, data.scores);
    EXPECT_EQ(read.kinds, data.kinds);
    EXPECT_EQ(read.bos, data.bos);
    EXPECT_EQ(read.eot, data.eot);
    EXPECT_EQ(read.pad, std::nullopt);
    EXPECT_EQ(read.fim_middle, data.fim_middle);
    EXPECT_EQ(read.add_bos, data.add_bos);
    EXPECT_EQ(read.add_eos, data.add_eos);
    EXPECT_EQ(read.add_space_prefix, data.add_space_prefix);
    EXPECT_EQ(read.suppressed, data.suppressed);
    EXPECT_EQ(read.chat_template, data.chat_template);
    EXPECT_EQ(read.tokens.back(), "[PAD" + std::to_string(read.tokens.size() - 1) + "]");
}

TEST(Stored, FirstGenerationFilesWithoutTypes) {
    const TemporaryFolder folder;
    const VocabularyData data = spm_vocabulary();
    formats::GgufWriter writer(folder / "v.gguf", formats::GgufMagic::gguf);
    writer.set("tokenizer.ggml.model", GgufValue::of_string("llama"));
    writer.set("tokenizer.ggml.tokens", GgufValue::of_strings(data.tokens));
    writer.set("tokenizer.ggml.scores", GgufValue::of_f32s({data.scores.begin(), data.scores.end()}));
    writer.begin_data();
    writer.finish();
    EXPECT_EQ(read_vocabulary(formats::GgufFile::open(folder / "v.gguf")).kinds, data.kinds);
}

}  // namespace
