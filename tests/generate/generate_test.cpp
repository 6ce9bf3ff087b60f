// The loop with the demo model, whose answers are compared with driving engine and sampler by hand.
#include "generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.h"
#include "generate/sampler.h"
#include "plan/plan.h"

namespace powerinfer::generate {
namespace {

using ::testing::HasSubstr;

struct Demo {
    std::shared_ptr<const formats::GgufFile> file = std::make_shared<const formats::GgufFile>(
        formats::GgufFile::open(std::string(POWERINFER_SOURCE_DIR) + "/models/fable.gguf"));
    std::shared_ptr<const model::Model> model = std::make_shared<const model::Model>(model::load(file));
    tokenizer::Tokenizer tokenizer = tokenizer::Tokenizer::load(*file);

    engine::Engine engine(int n_ctx = 128, int n_batch = 32) const {
        plan::Budget budget;
        budget.n_ctx = n_ctx;
        budget.n_batch = n_batch;
        return engine::Engine::load(model, plan::solve(*model, budget), {.n_threads = 2});
    }
    std::vector<TokenId> encode(std::string_view text) const { return tokenizer.encode(text); }
};

const Demo& demo() {
    static const Demo instance;
    return instance;
}

GenerateOptions greedy(int n_predict) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.stop.n_predict = n_predict;
    return options;
}

struct Result {
    std::string text;
    Answer answer;
};

Result run(Session& session, const std::vector<TokenId>& prompt, const GenerateOptions& options) {
    Result r;
    r.answer = session.generate(prompt, options, [&](std::string_view text) { r.text += text; });
    return r;
}

Result run(const std::vector<TokenId>& prompt, const GenerateOptions& options, int n_ctx = 128,
           int n_batch = 32) {
    engine::Engine engine = demo().engine(n_ctx, n_batch);
    Session session(engine, demo().tokenizer);
    return run(session, prompt, options);
}

const char* const kPrompt = "Once upon a time there was a king who";

TEST(Generate, GreedyAnswerIsTheArgmaxOfEveryStep) {
    const auto prompt = demo().encode(kPrompt);
    const Result r = run(prompt, greedy(20));
    engine::Engine engine = demo().engine();
    std::vector<TokenId> all = prompt;
    std::string text;
    for (int i = 0; i < 20; ++i) {
        engine.truncate(0, 0);
        std::vector<engine::BatchToken> batch;
        for (const TokenId id : all)
            batch.push_back({id, 0, id == all.back() && batch.size() + 1 == all.size()});
        engine.step(batch);
        const auto logits = engine.logits(0);
        all.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        text += demo().tokenizer.piece(all.back());
    }
    EXPECT_EQ(r.answer.tokens,
              std::vector<TokenId>(all.begin() + static_cast<ptrdiff_t>(prompt.size()), all.end()));
    EXPECT_EQ(r.text, text);
    EXPECT_EQ(r.answer.reason, FinishReason::length);
    EXPECT_EQ(r.answer.timings.n_prompt, static_cast<int>(prompt.size()));
    EXPECT_EQ(r.answer.timings.n_sample, 20);
    EXPECT_EQ(r.answer.timings.n_decode, 19);
    EXPECT_GT(r.answer.timings.decode_bytes, 0u);
    EXPECT_GT(r.answer.timings.prompt_s, 0);
    EXPECT_GT(r.answer.timings.decode_s, 0);
}

TEST(Generate, BatchSizeDoesNotChangeTheText) {
    const auto prompt = demo().encode(kPrompt);
    const std::string want = run(prompt, greedy(30)).text;
    for (const int n_batch : {1, 2, 7, 512})
        EXPECT_EQ(run(prompt, greedy(30), 128, n_batch).text, want) << n_batch;
}

TEST(Generate, LimitsAreExact) {
    const auto prompt = demo().encode(kPrompt);
    for (const int n : {0, 1, 2}) {
        const Result r = run(prompt, greedy(n));
        EXPECT_EQ(r.answer.tokens.size(), static_cast<size_t>(n));
        EXPECT_EQ(r.answer.reason, FinishReason::length);
    }
}

TEST(Generate, StopStringsEndTheText) {
    const auto prompt = demo().encode(kPrompt);
    const std::string whole = run(prompt, greedy(40)).text;
    const std::string stop = whole.substr(whole.size() / 2, 5);
    GenerateOptions options = greedy(40);
    options.stop.strings = {stop};
    const Result r = run(prompt, options);
    EXPECT_EQ(r.text, whole.substr(0, whole.find(stop)));
    EXPECT_EQ(r.answer.reason, FinishReason::stop_string);
    EXPECT_EQ(r.answer.stop_match, stop);
    options.stop.keep_match = true;
    EXPECT_EQ(run(prompt, options).text, whole.substr(0, whole.find(stop) + stop.size()));
}

TEST(Generate, EndTokensStopUnlessIgnored) {
    const auto prompt = demo().encode(kPrompt);
    const TokenId eos = demo().tokenizer.special().eos;
    GenerateOptions options = greedy(5);
    options.sampling.logit_bias = {{eos, 1000}};
    const Result ended = run(prompt, options);
    EXPECT_EQ(ended.answer.reason, FinishReason::end_of_generation);
    EXPECT_EQ(ended.answer.tokens, std::vector<TokenId>{eos});
    EXPECT_EQ(ended.text, "");
    options.sampling.ignore_eos = true;
    const Result ignored = run(prompt, options);
    EXPECT_EQ(ignored.answer.reason, FinishReason::length);
    EXPECT_EQ(ignored.answer.tokens.size(), 5u);
    // A stop string that names a control token is met as that token.
    GenerateOptions named = greedy(5);
    const TokenId bos = demo().tokenizer.special().bos;
    named.sampling.logit_bias = {{bos, 1000}};
    named.stop.strings = {demo().tokenizer.text(bos)};
    EXPECT_EQ(run(prompt, named).answer.reason, FinishReason::stop_string);
}

TEST(Generate, SeedsDecide) {
    const auto prompt = demo().encode(kPrompt);
    GenerateOptions options;
    options.stop.n_predict = 20;
    options.sampling.seed = 42;
    options.sampling.temperature = 1;
    const Result first = run(prompt, options);
    EXPECT_EQ(run(prompt, options).text, first.text);
    EXPECT_EQ(first.answer.seed, 42u);
    options.sampling.seed = 43;
    EXPECT_NE(run(prompt, options).text, first.text);
}

TEST(Generate, ASamplerThatLivesOnDrawsOn) {
    const auto prompt = demo().encode(kPrompt);
    GenerateOptions options;
    options.stop.n_predict = 20;
    options.sampling.seed = 42;
    options.sampling.temperature = 1;
    options.sampling.dry_multiplier = 0.8f;
    engine::Engine engine = demo().engine();
    Session session(engine, demo().tokenizer);
    const auto sampler = [&] {
        return Sampler(options.sampling, describe_vocab(demo().tokenizer, options.sampling, engine.spec().n_vocab, 128));
    };
    const auto answer = [&](Sampler& s) { return session.generate(prompt, options, s, {}).tokens; };
    Sampler one = sampler(), two = sampler();
    const auto first = answer(one);
    EXPECT_EQ(session.generate(prompt, options, {}).tokens, first) << "a fresh sampler is the same as none";
    const auto second = answer(one);
    EXPECT_NE(second, first) << "the same random numbers came again";
    EXPECT_EQ(answer(two), first);
    EXPECT_EQ(answer(two), second);
}

// With greedy choice nothing is drawn, so the history is all that could tell the second answer from the first.
TEST(Generate, PenaltiesSeeTheWholeTextOnceInEveryAnswer) {
    const auto prompt = demo().encode(kPrompt);
    GenerateOptions options = greedy(24);
    options.sampling.repeat_penalty = 1.3f;
    options.sampling.frequency_penalty = 0.4f;
    options.sampling.dry_multiplier = 0.8f;
    engine::Engine engine = demo().engine();
    Session session(engine, demo().tokenizer);
    Sampler sampler(options.sampling, describe_vocab(demo().tokenizer, options.sampling, engine.spec().n_vocab, 128));
    auto text = prompt;
    for (int turn = 0; turn < 3; ++turn) {
        const auto lasting = session.generate(text, options, sampler, {}).tokens;
        EXPECT_EQ(lasting, run(text, options).answer.tokens) << "turn " << turn;
        text.insert(text.end(), lasting.begin(), lasting.end());
    }
}

TEST(Generate, AFullContextStopsOrShifts) {
    const auto prompt = demo().encode(kPrompt);
    const int n_ctx = 32, size = static_cast<int>(prompt.size());
    GenerateOptions options = greedy(-1);
    options.sampling.ignore_eos = true;
    const Result stopped = run(prompt, options, n_ctx);
    EXPECT_EQ(stopped.answer.reason, FinishReason::context_full);
    EXPECT_EQ(stopped.answer.tokens.size(), static_cast<size_t>(n_ctx - size + 1))
        << "the last one needs no room";

    options.stop.n_predict = 100;
    options.context_shift = true;
    options.n_keep = 4;
    engine::Engine engine = demo().engine(n_ctx);
    Session session(engine, demo().tokenizer);
    const Result shifted = run(session, prompt, options);
    EXPECT_EQ(shifted.answer.reason, FinishReason::length);
    EXPECT_EQ(shifted.answer.tokens.size(), 100u);
    EXPECT_GT(shifted.answer.n_shifts, 3);
    EXPECT_EQ(session.held().size(), static_cast<size_t>(engine.n_past(0)));
    EXPECT_TRUE(std::equal(prompt.begin(), prompt.begin() + 4, session.held().begin()))
        << "n_keep tokens stay";
    EXPECT_TRUE(std::equal(stopped.answer.tokens.begin(), stopped.answer.tokens.end(),
                           shifted.answer.tokens.begin()));

    options.stop.n_predict = -2;
    EXPECT_EQ(run(prompt, options, n_ctx).answer.reason, FinishReason::context_full) << "-2 never shifts";
    options.stop.n_predict = 100;
    options.n_keep = -1;
    const auto full = std::vector<TokenId>(static_cast<size_t>(n_ctx), prompt.back());
    EXPECT_EQ(run(full, options, n_ctx).answer.reason, FinishReason::context_full)
        << "nothing may be dropped";
}

TEST(Generate, PromptsAtTheLimit) {
    const auto word = demo().encode(kPrompt).back();
    const auto prompt = [&](size_t n) { return std::vector<TokenId>(n, word); };
    EXPECT_EQ(run(prompt(31), greedy(1), 32).answer.tokens.size(), 1u);
    EXPECT_EQ(run(prompt(32), greedy(1), 32).answer.tokens.size(), 1u);
    EXPECT_THAT(test::message_of([&] { run(prompt(33), greedy(1), 32); }),
                HasSubstr("33 tokens, which is more than the context of 32"));
    EXPECT_THAT(test::message_of([&] { run({}, greedy(1), 32); }), HasSubstr("no tokens"));
    EXPECT_THAT(test::message_of([&] { run({-1}, greedy(1), 32); }), HasSubstr("token -1"));
}

TEST(Generate, ASessionReusesWhatItHolds) {
    engine::Engine engine = demo().engine();
    Session session(engine, demo().tokenizer);
    auto conversation = demo().encode(kPrompt);
    const Result first = run(session, conversation, greedy(10));
    EXPECT_EQ(first.answer.n_cached, 0);
    conversation.insert(conversation.end(), first.answer.tokens.begin(), first.answer.tokens.end());
    for (const TokenId id : demo().tokenizer.encode(" Then the queen", {.add_special = false}))
        conversation.push_back(id);
    const Result second = run(session, conversation, greedy(10));
    EXPECT_EQ(second.answer.n_cached, static_cast<int>(demo().encode(kPrompt).size()) + 9);
    EXPECT_EQ(second.text, run(conversation, greedy(10)).text) << "as if computed from the start";
    // The same prompt again: only its last token is computed.
    const Result again = run(session, conversation, greedy(10));
    EXPECT_EQ(again.answer.timings.n_prompt, 1);
    EXPECT_EQ(again.text, second.text);
    // Another prompt altogether.
    const auto other = demo().encode("A fox");
    EXPECT_EQ(run(session, other, greedy(10)).text, run(other, greedy(10)).text);
}

TEST(Generate, CanBeStoppedAndUsedAgain) {
    engine::Engine engine = demo().engine(128, 4);
    Session session(engine, demo().tokenizer);
    const auto prompt = demo().encode(kPrompt);
    const std::string want = run(prompt, greedy(10)).text;
    for (const int allowed : {0, 1, 3, 6}) {
        int asked = 0;
        GenerateOptions options = greedy(10);
        options.should_stop = [&] { return asked++ >= allowed; };
        const Result r = run(session, prompt, options);
        EXPECT_EQ(r.answer.reason, FinishReason::cancelled);
        EXPECT_EQ(want.rfind(r.text, 0), 0u) << "a beginning of the answer";
        EXPECT_EQ(session.held().size(), static_cast<size_t>(engine.n_past(0)));
    }
    EXPECT_EQ(run(session, prompt, greedy(10)).text, want);
    const auto throwing = [&] {
        session.generate(prompt, greedy(10), [](std::string_view) { throw Error(ErrorKind::io, "gone"); });
    };
    EXPECT_EQ(test::message_of(throwing), "gone");
    EXPECT_EQ(run(session, prompt, greedy(10)).text, want);
}

TEST(Generate, DryAndPenaltiesChangeARepetitiveAnswer) {
    const auto prompt =
        demo().encode("the king and the queen and the king and the queen and the king and the");
    const Result plain = run(prompt, greedy(12));
    GenerateOptions options = greedy(12);
    options.sampling.dry_multiplier = 5;
    EXPECT_NE(run(prompt, options).text, plain.text);
    options = greedy(12);
    options.sampling.repeat_penalty = 3;
    EXPECT_NE(run(prompt, options).text, plain.text);
}

}  // namespace
}  // namespace powerinfer::generate
