// Published vocabulary files: what is recognised, what is refused, and how damage is reported.
#include "tokenizer/hf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.h"
#include "temporary_folder.h"
#include "tokenizer/pretokenizers.h"
#include "tokenizer/vocabularies.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;
using namespace powerinfer::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

namespace {

json byte_level(bool use_regex) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
}
json isolated(const std::string& regex) {
    return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}
json sequence(const std::vector<json>& parts) {
    return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

/// A tokenizer.json around the small BPE vocabulary.
json bpe_json(const json& pre_tokenizer, bool ignore_merges = false) {
    const VocabularyData data = bpe_vocabulary();
    json result = {{"model", {{"type", "BPE"}, {"ignore_merges", ignore_merges}, {"merges", data.merges}}},
                   {"normalizer", nullptr},
                   {"pre_tokenizer", pre_tokenizer},
                   {"added_tokens", json::array()}};
    for (size_t i = 0; i + 2 < data.tokens.size(); ++i) result["model"]["vocab"][data.tokens[i]] = i;
    for (size_t i = data.tokens.size() - 2; i < data.tokens.size(); ++i)
        result["added_tokens"].push_back(
            {{"id", i}, {"content", data.tokens[i]}, {"special", data.kinds[i] == TokenKind::control}});
    return result;
}

VocabularyData parse(const json& object) {
    return parse_tokenizer_json(object.dump(), "t.json");
}
std::string message(const json& object) {
    return message_of([&] { parse(object); });
}

TEST(TokenizerJson, PreTokenizersGetTheirNames) {
    const std::string l3 =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
        R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
    const std::string possessive =
        R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
        R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
    const json digits = {{"type", "Digits"}, {"individual_digits", true}};
    const json number_runs = {{"type", "Digits"}, {"individual_digits", false}};
    const json punctuation = {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
    EXPECT_EQ(parse(bpe_json(byte_level(true))).pre, "gpt-2");
    EXPECT_EQ(parse(bpe_json(sequence({digits, byte_level(true)}))).pre, "starcoder");
    EXPECT_EQ(parse(bpe_json(sequence({isolated(l3), byte_level(false)}), true)).pre, "llama-bpe");
    EXPECT_EQ(parse(bpe_json(sequence({isolated(l3), byte_level(false)}))).pre, "dbrx");
    EXPECT_EQ(parse(bpe_json(sequence({isolated(possessive), byte_level(false)}))).pre, "dbrx");
    EXPECT_EQ(
        parse(bpe_json(sequence({punctuation, byte_level(true), number_runs, isolated("[0-9][0-9][0-9]")})))
            .pre,
        "falcon");
    EXPECT_EQ(parse(bpe_json(sequence(
                        {isolated(R"(\p{N}{1,3})"), isolated("[一-龥぀-ゟ゠-ヿ]+"),
                         isolated(R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}])"
                                  R"(?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
                         byte_level(false)})))
                  .pre,
              "deepseek-v3");
    EXPECT_EQ(
        parse(bpe_json(sequence({isolated(R"([\r\n])"), isolated(R"(\s?\p{L}+)"), isolated(R"(\s?\p{P}+)"),
                                 isolated("[一-龥ࠀ-一가-퟿]+"), digits, byte_level(false)})))
            .pre,
        "deepseek-coder");
}

TEST(TokenizerJson, EveryRowOfTheTableIsRecognised) {
    for (const std::string_view name : pre_tokenizer_names()) {
        const PreTokenizerInfo& info = *find_pre_tokenizer(name);
        if (info.alphabet != Alphabet::bytes) continue;
        std::vector<json> parts;
        for (const std::string_view stage : info.stages) parts.push_back(isolated(std::string(stage)));
        parts.push_back(byte_level(false));
        const PreTokenizerInfo& found =
            *find_pre_tokenizer(parse(bpe_json(sequence(parts), info.ignore_merges)).pre);
        // The Bailing expression is Qwen's in other words.
        const bool bailing = find_pre_tokenizer("bailingmoe")->stages.data() == info.stages.data();
        EXPECT_EQ(found.stages.data(), (bailing ? *find_pre_tokenizer("qwen2") : info).stages.data())
            << name << " became " << found.name;
        EXPECT_EQ(found.ignore_merges, info.ignore_merges);
    }
}

TEST(TokenizerJson, WhatIsNotSupportedIsNamed) {
    json object = bpe_json(byte_level(true));
    object["model"]["type"] = "Unigram";
    EXPECT_THAT(message(object), AllOf(HasSubstr("t.json"), HasSubstr("Unigram")));
    EXPECT_THAT(message(bpe_json(sequence({isolated("x+"), byte_level(false)}))), HasSubstr("x+"));
    EXPECT_THAT(message(bpe_json({{"type", "BertPreTokenizer"}})), HasSubstr("BertPreTokenizer"));
    EXPECT_THAT(message(bpe_json(nullptr)), HasSubstr("ByteLevel"));
    EXPECT_THAT(message(bpe_json({{"type", "ByteLevel"}, {"add_prefix_space", true}})),
                HasSubstr("add_prefix_space"));
    object = bpe_json(byte_level(true));
    object["normalizer"] = {{"type", "Lowercase"}};
    EXPECT_THAT(message(object), HasSubstr("Lowercase"));
    object = bpe_json(byte_level(true));
    object["model"]["end_of_word_suffix"] = "</w>";
    EXPECT_THAT(message(object), HasSubstr("end_of_word_suffix"));
}

TEST(TokenizerJson, DamageIsNamed) {
    EXPECT_THAT(message_of([] { parse_tokenizer_json("{\"model\": ", "t.json"); }),
                HasSubstr("not valid JSON"));
    EXPECT_THAT(message_of([] { parse_tokenizer_json("[]", "t.json"); }), HasSubstr("object"));
    EXPECT_THAT(message_of([] { parse_tokenizer_json("{}", "t.json"); }), HasSubstr("model"));
    json object = bpe_json(byte_level(true));
    object["model"]["vocab"]["a"] = 4000000000u;
    EXPECT_THAT(message(object), AllOf(HasSubstr("'a'"), HasSubstr("4000000000")));
    object["model"]["vocab"]["a"] = -1;
    EXPECT_THAT(message(object), HasSubstr("'a'"));
    object["model"]["vocab"]["a"] = 0;
    EXPECT_THAT(message(object), HasSubstr("share the id 0"));
    object = bpe_json(byte_level(true));
    object["model"]["merges"][2] = 5;
    EXPECT_THAT(message(object), HasSubstr("merge 2"));
    object["model"]["merges"] = "x";
    EXPECT_THAT(message(object), HasSubstr("merges"));
    object = bpe_json(byte_level(true));
    object["added_tokens"][0].erase("content");
    EXPECT_THAT(message(object), HasSubstr("added_tokens"));
    json nested = byte_level(true);
    for (int i = 0; i < 20; ++i) nested = sequence({nested});
    EXPECT_THAT(message(bpe_json(nested)), HasSubstr("nested"));
}

TEST(TokenizerJson, AddedTokensAndGaps) {
    json object = bpe_json(byte_level(true));
    const size_t n = bpe_vocabulary().tokens.size();
    object["added_tokens"].push_back({{"id", n + 3}, {"content", "<tool>"}, {"special", false}});
    const VocabularyData data = parse(object);
    ASSERT_EQ(data.tokens.size(), n + 4);
    EXPECT_EQ(data.kinds[n - 2], TokenKind::control);
    EXPECT_EQ(data.kinds[n - 1], TokenKind::user_defined);
    EXPECT_EQ(data.kinds[n], TokenKind::unused);
    EXPECT_EQ(data.tokens[n + 3], "<tool>");
    EXPECT_EQ(data.kinds[n + 3], TokenKind::user_defined);
}

TEST(TokenizerJson, ThePostProcessorSaysWhatIsAdded) {
    json object = bpe_json(byte_level(true));
    object["post_processor"] = {{"type", "Sequence"},
                                {"processors",
                                 {byte_level(true),
                                  {{"type", "TemplateProcessing"},
                                   {"single",
                                    {{{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}},
                                     {{"Sequence", {{"id", "A"}}}}}}}}}};
    const VocabularyData data = parse(object);
    EXPECT_EQ(data.add_bos, true);
    EXPECT_EQ(data.add_eos, false);
    EXPECT_EQ(data.bos, bpe_vocabulary().eos);
}

TEST(TokenizerJson, SentencePieceInOtherClothes) {
    const std::string mark(kSpaceMark);
    json object = {{"model", {{"type", "BPE"}, {"byte_fallback", true}, {"unk_token", "<unk>"}}},
                   {"normalizer",
                    {{"type", "Sequence"},
                     {"normalizers",
                      {{{"type", "Prepend"}, {"prepend", mark}},
                       {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", mark}}}}}}};
    json& vocab = object["model"]["vocab"];
    size_t n = 0;
    vocab["<unk>"] = n++;
    for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = n++;
    for (const char* text : {"a", "b", "ab", "abab", "bab", "never"}) vocab[text] = n++;
    vocab[mark] = n++;
    vocab[mark + "ab"] = n++;
    object["model"]["merges"] = json::array({{"a", "b"}, {"b", "ab"}, {mark, "ab"}, {"ab", "ab"}});
    const VocabularyData data = parse(object);
    EXPECT_EQ(data.model, "llama");
    EXPECT_EQ(data.add_space_prefix, true);
    EXPECT_EQ(data.kinds[0], TokenKind::unknown);
    EXPECT_EQ(data.kinds[1], TokenKind::byte);
    const Tokenizer tokenizer(data);
    std::string shown;
    for (const TokenId id : tokenizer.encode("abab never", {.add_special = false}))
        shown += tokenizer.text(id) + "|";
    EXPECT_EQ(shown, replace_all("_ab|ab|_|<0x6E>|<0x65>|<0x76>|<0x65>|<0x72>|", "_", kSpaceMark));

    object["normalizer"] = nullptr;
    object["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", mark}, {"prepend_scheme", "never"}, {"split", false}};
    EXPECT_EQ(parse(object).add_space_prefix, false);
}

void write_text(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
    folder.file(name, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST(Folder, FilesBesideTheVocabulary) {
    const TemporaryFolder folder;
    write_text(folder, "tokenizer.json", bpe_json(byte_level(true)).dump());
    write_text(folder, "special_tokens_map.json", R"({"pad_token": {"content": "<|endoftext|>"}})");
    write_text(folder, "tokenizer_config.json",
               R"({"bos_token": "<|user|>", "eos_token": {"content": "<|endoftext|>"},
        "add_bos_token": true, "chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}],
        "added_tokens_decoder": {"300": {"content": "<|extra|>", "special": true}}})");
    write_text(folder, "config.json", R"({"bos_token_id": 5, "eos_token_id": [7, 8], "unk_token_id": 9})");
    VocabularyData data = read_hf_vocabulary(folder / "");
    EXPECT_EQ(data.eos, bpe_vocabulary().eos);
    EXPECT_EQ(data.pad, data.eos);
    EXPECT_EQ(data.bos, *data.eos + 1);
    EXPECT_EQ(data.unk, 9);
    EXPECT_EQ(data.kinds[*data.bos], TokenKind::control);
    EXPECT_EQ(data.add_bos, true);
    EXPECT_EQ(data.add_eos, false);
    EXPECT_EQ(data.chat_template, "D");
    ASSERT_EQ(data.tokens.size(), 301u);
    EXPECT_EQ(data.kinds[300], TokenKind::control);
    write_text(folder, "chat_template.jinja", "J");
    EXPECT_EQ(read_hf_vocabulary(folder / "").chat_template, "J");
    write_text(folder, "tokenizer_config.json", R"({"eos_token": 7})");
    EXPECT_THAT(message_of([&] { read_hf_vocabulary(folder / ""); }),
                AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("eos_token")));
}

TEST(Folder, VocabAndMergesOfOlderModels) {
    const TemporaryFolder folder;
    const VocabularyData sample = bpe_vocabulary();
    json vocab;
    for (size_t i = 0; i < sample.tokens.size(); ++i) vocab[sample.tokens[i]] = i;
    std::string merges = "#version: 0.2\n";
    for (const std::string& merge : sample.merges) merges += merge + "\r\n";
    write_text(folder, "vocab.json", vocab.dump());
    write_text(folder, "merges.txt", merges);
    write_text(folder, "special_tokens_map.json", R"({"eos_token": "<|endoftext|>"})");
    const VocabularyData data = read_hf_vocabulary(folder / "");
    EXPECT_EQ(data.tokens, sample.tokens);
    EXPECT_EQ(data.merges, sample.merges);
    EXPECT_EQ(data.eos, sample.eos);
    EXPECT_EQ(data.kinds[*data.eos], TokenKind::control);
}

TEST(Folder, WithoutAVocabulary) {
    const TemporaryFolder folder;
    EXPECT_THAT(message_of([&] { read_hf_vocabulary(folder / ""); }), HasSubstr("tokenizer.json"));
}

std::string field(int number, const std::string& payload) {
    return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(payload.size())) + payload;
}
std::string varint_field(int number, int value) {
    std::string tag(1, static_cast<char>((number << 3) & 0x7F));
    if (number >= 16)
        tag = {static_cast<char>(((number << 3) & 0x7F) | 0x80), static_cast<char>(number >> 4)};
    return tag + static_cast<char>(value);
}
VocabularyData parse_model(const std::string& bytes) {
    return parse_sentencepiece({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "t.model");
}

TEST(SentencePiece, FieldsAndDefaults) {
    const std::string piece = field(1, field(1, "<unk>") + varint_field(3, 2)) +
                              field(1, field(1, "a") + std::string("\x15\x00\x00\x20\xC1", 5));
    const VocabularyData data =
        parse_model(piece + field(1, field(1, "b")) + field(2, varint_field(3, 2) + varint_field(42, 1)) +
                    field(3, varint_field(3, 0)));
    EXPECT_EQ(data.tokens, (std::vector<std::string>{"<unk>", "a", "b"}));
    EXPECT_EQ(data.kinds[0], TokenKind::unknown);
    EXPECT_EQ(data.scores[1], -10.0f);
    EXPECT_EQ(data.bos, 1);
    EXPECT_EQ(data.eos, 1);
    EXPECT_EQ(data.pad, std::nullopt);
    EXPECT_EQ(data.add_space_prefix, false);
}

TEST(SentencePiece, WhatIsRefused) {
    const std::string pieces = field(1, field(1, "a")) + field(1, field(1, "b")) + field(1, field(1, "c"));
    EXPECT_THAT(message_of([&] { parse_model(pieces + field(2, varint_field(3, 1))); }),
                HasSubstr("unigram"));
    EXPECT_THAT(message_of([&] { parse_model(pieces + field(2, varint_field(3, 2) + varint_field(24, 1))); }),
                HasSubstr("word ends"));
    EXPECT_THAT(message_of([&] { parse_model(pieces); }), HasSubstr("not a SentencePiece model"));
    EXPECT_THAT(message_of([&] { parse_model(pieces + field(2, varint_field(3, 2) + varint_field(41, 9))); }),
                HasSubstr("bos_token_id"));
    const std::string whole = pieces + field(2, varint_field(3, 2));
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_THAT(message_of([&] { parse_model(whole.substr(0, size)); }), HasSubstr("t.model")) << size;
    for (size_t i = 0; i < whole.size(); ++i)
        for (const char byte : {'\x00', '\x7F', '\x80', '\xFF'}) {
            std::string damaged = whole;
            damaged[i] = byte;
            message_of([&] { parse_model(damaged); });  // an Error or a vocabulary, never anything else
        }
}

}  // namespace
