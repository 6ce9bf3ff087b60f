// Rules of encoding and decoding on vocabularies small enough to follow by hand.
#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "tokenizer/vocabularies.h"

using namespace powerinfer;
using namespace powerinfer::tokenizer;
using namespace powerinfer::test;

namespace {

std::vector<std::string> texts(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    std::vector<std::string> result;
    for (const TokenId id : ids) result.push_back(replace_all(tokenizer.text(id), kSpaceMark, "_"));
    return result;
}

using Texts = std::vector<std::string>;

TEST(Spm, MergesByScoreAndPrefixesASpace) {
    const Tokenizer tokenizer(spm_vocabulary());
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("the king")), (Texts{"<s>", "_the", "_king"}));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("aaaaa", {.add_special = false})), (Texts{"_a", "aaaa"}));
    EXPECT_EQ(tokenizer.encode("", {.add_special = false}), std::vector<TokenId>{});
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("")), Texts{"<s>"});
}

TEST(Spm, CharactersWithoutATokenGoByBytes) {
    const Tokenizer tokenizer(spm_vocabulary());
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("é\xFF", {.add_special = false})),
              (Texts{"_", "<0xC3>", "<0xA9>", "<0xFF>"}));
}

TEST(Spm, WithoutByteTokensTheUnknownTokenStandsForARun) {
    VocabularyData data;
    data.model = "llama";
    add_token(data, "<unk>", TokenKind::unknown);
    add_token(data, "<s>", TokenKind::control);
    add_token(data, "</s>", TokenKind::control);
    add_token(data, std::string(kSpaceMark));
    add_token(data, "a");
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("你？a")), (Texts{"<s>", "_", "<unk>", "a"}));
}

TEST(Spm, PlainTextNeverBecomesControlOrByteTokens) {
    const Tokenizer tokenizer(
        spm_vocabulary({"<s", "<0", "x0", "A>", "<0x0", "/s", "</s", "s>", "k>", "<u"}));
    for (const std::string text : {"<s>", "</s>", "<0x0A>", "<unk>"}) {
        for (const TokenId id : tokenizer.encode(text, {.add_special = false}))
            EXPECT_TRUE(tokenizer.kind(id) == TokenKind::normal || tokenizer.kind(id) == TokenKind::byte)
                << text;
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
}

TEST(Spm, TheSpacePrefixCanBeOff) {
    VocabularyData data = spm_vocabulary();
    data.add_space_prefix = false;
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("he", {.add_special = false})), Texts{"he"});
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(" he")), " he");
}

TEST(Spm, SpacePrefixComesBackAfterSpecialTokens) {
    const Tokenizer tokenizer(spm_vocabulary());
    const std::string text = "the</s>the</s> the";
    const auto ids = tokenizer.encode(text, {.parse_special = true});
    EXPECT_EQ(texts(tokenizer, ids), (Texts{"<s>", "_the", "</s>", "_the", "</s>", "_", "_the"}));
    EXPECT_EQ(tokenizer.decode(std::span(ids).subspan(1), true), text);
    EXPECT_EQ(tokenizer.piece(ids[1]), " the");
}

TEST(Bpe, MergesByRankInsidePieces) {
    const Tokenizer tokenizer(bpe_vocabulary());
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("the theing")), (Texts{"the", "Ġthe", "ing"}));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("aaaaaaa")), (Texts{"aaaa", "aa", "a"}));
}

TEST(Bpe, WholePiecesWinOnlyWithIgnoreMerges) {
    VocabularyData data = bpe_vocabulary();
    add_token(data, "king");  // no merge makes it
    EXPECT_EQ(Tokenizer(data).encode("king").size(), 2u);
    data.pre = "llama-bpe";
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("king")), Texts{"king"});
}

TEST(Bpe, CharacterAlphabetFallsBackToBytes) {
    VocabularyData data = spm_vocabulary();
    data.model = "gemma4";
    data.scores.clear();
    data.merges = {"h e", "t he"};
    add_token(data, "the");
    add_token(data, "\n\n");
    const Tokenizer tokenizer(std::move(data));
    EXPECT_TRUE(tokenizer.special().add_bos);
    const std::string text = "the he\n\né \u2581";
    const auto ids = tokenizer.encode(text, {.add_special = false});
    EXPECT_EQ(texts(tokenizer, ids),
              (Texts{"the", "_", "he", "\n\n", "<0xC3>", "<0xA9>", "_", "<0xE2>", "<0x96>", "<0x81>"}));
    EXPECT_EQ(tokenizer.decode(ids), text);
}

TEST(Special, ControlTokensOnlyOnRequestUserDefinedAlways) {
    const Tokenizer tokenizer(bpe_vocabulary());
    const std::string text = "a<|user|>b<|endoftext|>";
    const auto plain = tokenizer.encode(text);
    EXPECT_EQ(texts(tokenizer, plain)[1], "<|user|>");
    EXPECT_GT(plain.size(), 4u);
    const auto parsed = tokenizer.encode(text, {.parse_special = true});
    EXPECT_EQ(texts(tokenizer, parsed), (Texts{"a", "<|user|>", "b", "<|endoftext|>"}));
    EXPECT_EQ(tokenizer.decode(parsed), "a<|user|>b");
    EXPECT_EQ(tokenizer.decode(parsed, true), text);
    EXPECT_TRUE(tokenizer.is_end_of_generation(parsed.back()));
    EXPECT_FALSE(tokenizer.is_end_of_generation(parsed.front()));
}

TEST(Special, TheLongestTokenAtTheLeftmostPlaceWins) {
    VocabularyData data = bpe_vocabulary();
    for (const char* text : {"<a", "<a>", "<a><b>", ">>"}) add_token(data, text, TokenKind::user_defined);
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("<a><b><a><a>>")), (Texts{"<a><b>", "<a>", "<a>", ">"}));
}

TEST(Special, ExactlyOneBos) {
    VocabularyData data = spm_vocabulary();
    const Tokenizer tokenizer(data);
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("<s>the", {.parse_special = true})), (Texts{"<s>", "_the"}));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("the")), (Texts{"<s>", "_the"}));
    data.add_bos = false;
    data.add_eos = true;
    const Tokenizer other(std::move(data));
    EXPECT_EQ(texts(other, other.encode("the")), (Texts{"_the", "</s>"}));
    EXPECT_EQ(texts(other, other.encode("the", {.add_special = false})), Texts{"_the"});
}

TEST(Special, WellKnownTextsFillMissingKeys) {
    VocabularyData data = bpe_vocabulary();
    for (const char* text : {"<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"})
        add_token(data, text, TokenKind::normal);
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(tokenizer.special().eot, *tokenizer.find("<|im_end|>"));
    EXPECT_EQ(tokenizer.special().fim_suffix, *tokenizer.find("<|fim_suffix|>"));
    EXPECT_EQ(tokenizer.kind(tokenizer.special().eot), TokenKind::control);
    EXPECT_TRUE(tokenizer.is_end_of_generation(tokenizer.special().eot));
    EXPECT_EQ(tokenizer.special().newline, *tokenizer.find("Ċ"));
}

TEST(Special, EndIsNoEndWhereMessagesHaveTheirOwn) {
    VocabularyData data = bpe_vocabulary();
    for (const char* text : {"<|end|>", "<|return|>", "<|call|>", "<|channel|>"})
        add_token(data, text, TokenKind::control);
    const Tokenizer tokenizer(std::move(data));
    EXPECT_FALSE(tokenizer.is_end_of_generation(*tokenizer.find("<|end|>")));
    EXPECT_TRUE(tokenizer.is_end_of_generation(*tokenizer.find("<|return|>")));
    EXPECT_EQ(tokenizer.kind(*tokenizer.find("<|channel|>")), TokenKind::user_defined);
}

TEST(Special, Phi3TakesFollowingWhiteSpaceAlong) {
    VocabularyData data = spm_vocabulary();
    add_token(data, "<|user|>", TokenKind::control);
    data.model_name = "Phi-3 mini";
    const Tokenizer tokenizer(std::move(data));
    EXPECT_EQ(texts(tokenizer, tokenizer.encode("<|user|> \n the<s> a", {.parse_special = true})),
              (Texts{"<s>", "<|user|>", "_the", "<s>", "_", "_a"}));
}

TEST(RoundTrip, AnyTextAndAnyBytes) {
    VocabularyData marked = spm_vocabulary();
    add_token(marked, std::string(kSpaceMark) + std::string(kSpaceMark), TokenKind::user_defined);
    VocabularyData digits = bpe_vocabulary();
    digits.pre = "deepseek-llm";
    VocabularyData llama3 = bpe_vocabulary();
    llama3.pre = "llama-bpe";
    const Tokenizer tokenizers[] = {Tokenizer(spm_vocabulary()), Tokenizer(std::move(marked)),
                                    Tokenizer(bpe_vocabulary()), Tokenizer(std::move(digits)),
                                    Tokenizer(std::move(llama3))};
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
        const std::string text =
            round % 2 ? random_text(random, random() % 60) : random_bytes(random, random() % 80);
        for (const Tokenizer& tokenizer : tokenizers) {
            const auto ids = tokenizer.encode(text);
            ASSERT_EQ(tokenizer.decode(ids), text);
            for (const TokenId id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer.n_vocab());
        }
    }
}

TEST(RoundTrip, AWrittenSpaceMarkComesBack) {
    const Tokenizer tokenizer(spm_vocabulary());
    for (const std::string text : {"\u2581", "a\u2581a", " \u2581 ", "\u2581\u2581the"})
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

/// The definition, slowly: search all pairs, merge the best, start again.
Texts merge_slowly(Texts symbols,
                   const std::function<double(const std::string&, const std::string&)>& priority) {
    for (;;) {
        size_t best = 0;
        double best_priority = std::numeric_limits<double>::infinity();
        for (size_t i = 0; i + 1 < symbols.size(); ++i)
            if (const double p = priority(symbols[i], symbols[i + 1]); p < best_priority)
                best_priority = p, best = i;
        if (best_priority == std::numeric_limits<double>::infinity()) return symbols;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

TEST(Merging, EqualsTheSlowDefinition) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        // Random vocabularies over two letters, with equal scores, to stir up all orders and ties.
        VocabularyData spm = spm_vocabulary({});
        VocabularyData bpe = bpe_vocabulary({});
        spm.add_space_prefix = false;
        std::vector<std::string> known = {"a", "b"};
        std::map<std::string, double> scores;
        std::map<std::pair<std::string, std::string>, double> ranks;
        for (int i = 0; i < 12; ++i) {
            const std::string left = known[random() % known.size()], right = known[random() % known.size()];
            if (left.size() + right.size() > 6) continue;
            if (!ranks.emplace(std::pair(left, right), static_cast<double>(bpe.merges.size())).second)
                continue;
            bpe.merges.push_back(left + " " + right);
            if (scores.count(left + right)) continue;
            known.push_back(left + right);
            const auto score = static_cast<float>(random() % 5);
            scores[left + right] = -score;
            add_token(spm, left + right, TokenKind::normal, score);
            add_token(bpe, left + right);
        }
        Texts symbols;
        std::string text;
        for (int i = 0; i < 40; ++i) symbols.push_back(random() % 2 ? "a" : "b"), text += symbols.back();

        const Tokenizer by_score(std::move(spm));
        EXPECT_EQ(texts(by_score, by_score.encode(text, {.add_special = false})),
                  merge_slowly(symbols, [&](const std::string& left, const std::string& right) {
                      const auto found = scores.find(left + right);
                      return found == scores.end() ? std::numeric_limits<double>::infinity() : found->second;
                  }));
        if (bpe.merges.empty()) continue;
        const Tokenizer by_rank(std::move(bpe));
        EXPECT_EQ(texts(by_rank, by_rank.encode(text)),
                  merge_slowly(symbols, [&](const std::string& left, const std::string& right) {
                      const auto found = ranks.find({left, right});
                      return found == ranks.end() ? std::numeric_limits<double>::infinity() : found->second;
                  }));
    }
}

TEST(LongInput, FinishesInSeconds) {
    std::vector<Tokenizer> tokenizers;
    tokenizers.emplace_back(spm_vocabulary());
    for (const char* pre : {"llama-bpe", "deepseek-llm", "kimi-k2", "exaone-moe", "superbpe"}) {
        VocabularyData data = bpe_vocabulary();
        data.pre = pre;
        tokenizers.emplace_back(std::move(data));
    }
    constexpr size_t kLarge = 1 << 20, kSmaller = 100000;
    std::string lines(kSmaller, ' ');
    for (size_t i = 0; i < lines.size(); i += 2) lines[i] = '\n';
    std::string letters;  // 200,000 bytes of all kinds without ASCII white space
    std::mt19937 random(5);
    while (letters.size() < 2 * kSmaller)
        append_utf8(letters, static_cast<char32_t>(0x80 + random() % 0x9F00));
    const std::string inputs[] = {std::string(kLarge, 'a'),
                                  std::string(kLarge, ' '),
                                  std::string(kLarge, ' ') + "7",
                                  std::string(kSmaller, 'a'),
                                  std::string(kSmaller, ' ') + "7",
                                  std::string(kSmaller, 'A'),
                                  std::string(kSmaller, '7'),
                                  std::string(kSmaller, '\n'),
                                  std::string(kSmaller, '\xFF'),
                                  std::string(kSmaller, '\''),
                                  lines,
                                  letters};
    for (size_t t = 0; t < tokenizers.size(); ++t) {
        for (size_t i = 0; i < std::size(inputs); ++i) {
            if (t >= 2 && inputs[i].size() >= kLarge) continue;  // the same code as for the first two
            const auto start = std::chrono::steady_clock::now();
            const auto ids = tokenizers[t].encode(inputs[i]);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            EXPECT_LT(took.count(), 20.0)
                << "tokenizer " << t << ", input " << i;  // a quadratic way takes hours
            EXPECT_TRUE(tokenizers[t].decode(ids) == inputs[i]) << "tokenizer " << t << ", input " << i;
        }
    }
}

TEST(Threads, EncodeFromManyAtOnce) {
    VocabularyData llama3 = bpe_vocabulary();
    llama3.pre = "llama-bpe";
    const Tokenizer spm(spm_vocabulary()), bpe(std::move(llama3));
    std::mt19937 random(3);
    std::vector<std::string> inputs;
    std::vector<std::vector<TokenId>> spm_ids, bpe_ids;
    for (int i = 0; i < 200; ++i) {
        inputs.push_back(random_text(random, 50));
        spm_ids.push_back(spm.encode(inputs.back()));
        bpe_ids.push_back(bpe.encode(inputs.back()));
    }
    std::atomic<int> n_wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (size_t i = 0; i < inputs.size(); ++i)
                if (spm.encode(inputs[i]) != spm_ids[i] || bpe.encode(inputs[i]) != bpe_ids[i] ||
                    bpe.decode(bpe_ids[i]) != inputs[i])
                    ++n_wrong;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(n_wrong, 0);
}

}  // namespace
