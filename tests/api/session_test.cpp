// Sessions through the public C++ header: text against another program's, sequences, stopping, errors, isolation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "api/fable.h"
#include "engine/engine.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::test {
namespace {

class ApiSession : public testing::Test {
  protected:
    static const Model& fable() {
        static const Model model = Model::load(kFablePath);
        return model;
    }
};

TEST_F(ApiSession, TellsTheStoryThatAnotherProgramTold) {
    for (const char* mode : {"off", "exact", "auto"}) {
        Session session(fable(), small_session(mode));
        std::string heard;
        const Generation g = session.generate(kPrompt, greedy(64), [&](std::string_view text) {
            heard += text;
            return true;
        });
        EXPECT_EQ(g.text, kStory) << mode;
        EXPECT_EQ(heard, g.text);
        EXPECT_EQ(g.tokens.size(), 64u);
        EXPECT_EQ(g.reason, FinishReason::length);
        EXPECT_EQ(g.n_prompt, 11u);
        EXPECT_EQ(session.tokens().size(), 11u + 63u);
        if (std::string(mode) == "off") EXPECT_EQ(session.active_share(), 1);
        else EXPECT_LT(session.active_share(), 0.3);
    }
}

TEST_F(ApiSession, GreedyTokensAreTheStoredOnes) {
    SHARED_PATH_OR_SKIP(path, "models/fable-relu/expected.json");
    const auto expected = read_json(path);
    Session session(fable(), small_session());
    const Generation g = session.generate(kPrompt, greedy(64));
    EXPECT_EQ(g.tokens, expected.at("greedy_ids").get<std::vector<Token>>());
    EXPECT_EQ(kPrompt + g.text, expected.at("greedy_text").get<std::string>());
}

TEST_F(ApiSession, AStepLoopGivesTheSameTokens) {
    Session session(fable(), small_session());
    const std::vector<Token> expected = Session(fable(), small_session()).generate(kPrompt, greedy(20)).tokens;
    Sampler sampler(session, greedy(0).sampling);
    session.append(fable().tokenize(kPrompt));
    std::vector<Token> made;
    while (made.size() < 20) {
        made.push_back(sampler.sample(session));
        sampler.accept(made.back());
        session.step({{made.back(), 0, true}});
    }
    EXPECT_EQ(made, expected);
    EXPECT_EQ(session.n_logits(), 1u);
    EXPECT_EQ(session.logits().size(), 2048u);
    const Timings t = session.timings();
    EXPECT_EQ(t.n_prompt, 11);
    EXPECT_EQ(t.n_decode, 20);
    EXPECT_EQ(t.n_sample, 20);
    EXPECT_GT(t.prompt_seconds, 0);
    EXPECT_GT(t.decode_seconds, 0);
    EXPECT_GT(t.weight_bytes, 0u);
    session.reset_counters();
    EXPECT_EQ(session.timings().n_decode, 0);
    EXPECT_EQ(session.active_share(), 0);
}

TEST_F(ApiSession, TheAnswerDoesNotDependOnWhatTheSequenceHeld) {
    Session session(fable(), small_session());
    const Generation first = session.generate(kPrompt, greedy(32));
    const uint64_t hash = session.logits_hash();
    session.generate("A wolf came", greedy(8));
    const Generation again = session.generate(kPrompt, greedy(32));
    EXPECT_EQ(again.tokens, first.tokens);
    EXPECT_EQ(session.logits_hash(), hash);
    // The same beginning is not computed again, and changes nothing.
    const Generation reused = session.generate(kPrompt, greedy(32));
    EXPECT_EQ(reused.n_reused, 10u);
    EXPECT_EQ(reused.tokens, first.tokens);
    EXPECT_EQ(session.logits_hash(), hash);

    std::vector<Token> longer = fable().tokenize(kPrompt);
    longer.insert(longer.end(), first.tokens.begin(), first.tokens.end());
    const Generation continued = session.generate(longer, greedy(16));
    EXPECT_EQ(continued.n_reused, longer.size() - 1);
    EXPECT_EQ(continued.tokens, Session(fable(), small_session()).generate(longer, greedy(16)).tokens);
}

TEST_F(ApiSession, SampledTextDependsOnTheSeedOnly) {
    GenerateOptions options;
    options.n_predict = 24;
    options.sampling.seed = 7;
    Session one(fable(), small_session()), two(fable(), small_session());
    const Generation g = one.generate(kPrompt, options);
    EXPECT_EQ(g.seed, 7u);
    two.generate("The old woman", options);
    EXPECT_EQ(two.generate(kPrompt, options).text, g.text);
    options.sampling.seed = 8;
    EXPECT_NE(two.generate(kPrompt, options).text, g.text);
}

TEST_F(ApiSession, StopStringsAndLimitsEndTheText) {
    Session session(fable(), small_session());
    GenerateOptions options = greedy(64);
    options.stop = {"so beautiful"};
    Generation g = session.generate(kPrompt, options);
    EXPECT_EQ(g.reason, FinishReason::stop_string);
    EXPECT_EQ(g.stop_string, "so beautiful");
    EXPECT_EQ(g.text, " a son, and he was ");

    options = greedy(0);
    g = session.generate(kPrompt, options);
    EXPECT_EQ(g.reason, FinishReason::length);
    EXPECT_TRUE(g.tokens.empty());
    EXPECT_EQ(session.tokens().size(), 11u);

    options = greedy(64);
    options.sampling.logit_bias = {{fable().eos(), 1000.0f}};
    g = session.generate(kPrompt, options);
    EXPECT_EQ(g.reason, FinishReason::end_of_generation);
    EXPECT_EQ(g.tokens, std::vector<Token>{fable().eos()});
    EXPECT_EQ(g.text, "");
    options.sampling.ignore_eos = true;
    EXPECT_EQ(session.generate(kPrompt, options).text, kStory);
}

TEST_F(ApiSession, StopsWhereTheContextIsFull) {
    SessionOptions with = small_session();
    with.n_ctx = 16;
    Session session(fable(), with);
    const Generation g = session.generate(kPrompt, greedy(64));
    EXPECT_EQ(g.reason, FinishReason::context_full);
    EXPECT_EQ(g.tokens.size(), 6u);  // 11 of the prompt, 5 in the context, one more from the last logits
    EXPECT_EQ(session.tokens().size(), 16u);
    EXPECT_EQ(kStory.rfind(g.text, 0), 0u) << g.text;

    const std::string whole(400, 'x');
    EXPECT_NE(message_of([&] { session.generate(whole, greedy(1)); }).find("context of 16"), std::string::npos);
    EXPECT_EQ(session.generate(kPrompt, greedy(2)).tokens.size(), 2u);  // still usable
    EXPECT_NE(message_of([&] { session.append(std::vector<Token>(20, 300)); }).find("16"), std::string::npos);
    EXPECT_EQ(session.tokens().size(), 12u);
}

TEST_F(ApiSession, TheCallbackEndsTheText) {
    Session session(fable(), small_session());
    int n = 0;
    const Generation g = session.generate(kPrompt, greedy(64), [&](std::string_view) { return ++n < 5; });
    EXPECT_EQ(n, 5);
    EXPECT_EQ(g.reason, FinishReason::cancelled);
    EXPECT_LT(g.tokens.size(), 10u);
    EXPECT_EQ(kStory.rfind(g.text, 0), 0u) << g.text;
}

TEST_F(ApiSession, AnExceptionOfTheCallbackPassesAndHarmsNothing) {
    Session session(fable(), small_session());
    struct Mine {};
    int n = 0;
    EXPECT_THROW(session.generate(kPrompt, greedy(64),
                                  [&](std::string_view) -> bool {
                                      if (++n == 4) throw Mine{};
                                      return true;
                                  }),
                 Mine);
    EXPECT_EQ(session.generate(kPrompt, greedy(64)).text, kStory);
}

TEST_F(ApiSession, AnotherThreadStopsIt) {
    SessionOptions with = small_session();
    with.n_ctx = 1024;
    Session session(fable(), with);
    std::atomic<bool> running{false};
    std::thread stopper([&] {
        while (!running) std::this_thread::yield();
        session.request_stop();
    });
    GenerateOptions options = greedy(-1);
    options.sampling.ignore_eos = true;
    options.context_shift = true;
    const Generation g = session.generate(kPrompt, options, [&](std::string_view) {
        if (running.exchange(true)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return true;
    });
    stopper.join();
    EXPECT_EQ(g.reason, FinishReason::cancelled);
    // The request is used up; one made beforehand counts for the next generation, unless taken back.
    EXPECT_EQ(session.generate(kPrompt, greedy(4)).reason, FinishReason::length);
    session.request_stop();
    const Generation none = session.generate(kPrompt, greedy(4));
    EXPECT_EQ(none.reason, FinishReason::cancelled);
    EXPECT_TRUE(none.tokens.empty());
    session.request_stop();
    session.clear_stop();
    EXPECT_EQ(session.generate(kPrompt, greedy(4)).reason, FinishReason::length);
}

TEST_F(ApiSession, RefusesASecondCallerWhileOneIsInside) {
    Session session(fable(), small_session());
    std::string from_callback, from_thread;
    session.generate(kPrompt, greedy(2), [&](std::string_view) {
        from_callback = message_of([&] { session.append({1}); });
        std::thread([&] { from_thread = message_of([&] { session.truncate(0, 0); }); }).join();
        return true;
    });
    EXPECT_NE(from_callback.find("in use"), std::string::npos) << from_callback;
    EXPECT_NE(from_thread.find("in use"), std::string::npos) << from_thread;
    EXPECT_EQ(session.generate(kPrompt, greedy(64)).text, kStory);
}

TEST_F(ApiSession, SequencesDoNotDisturbEachOther) {
    SessionOptions with = small_session();
    with.n_seq = 3;
    Session session(fable(), with);
    const std::vector<Token> prompt = fable().tokenize(kPrompt), other = fable().tokenize("The wolf said to the");
    std::vector<StepToken> both;
    for (size_t i = 0; i < std::max(prompt.size(), other.size()); ++i) {
        if (i < prompt.size()) both.push_back({prompt[i], 0, i + 1 == prompt.size()});
        if (i < other.size()) both.push_back({other[i], 2, i + 1 == other.size()});
    }
    session.step(both);
    ASSERT_EQ(session.n_logits(), 2u);
    EXPECT_EQ(session.tokens(0), prompt);
    EXPECT_EQ(session.tokens(1).size(), 0u);
    EXPECT_EQ(session.tokens(2), other);
    Session alone(fable(), small_session());
    alone.append(prompt);
    const size_t of_prompt = both.back().seq == 0 ? 1 : 0;
    EXPECT_TRUE(std::equal(alone.logits().begin(), alone.logits().end(), session.logits(of_prompt).begin()));

    session.copy(0, 1, 5);
    EXPECT_EQ(session.tokens(1), std::vector<Token>(prompt.begin(), prompt.begin() + 5));
    session.append({prompt.begin() + 5, prompt.end()}, 1);
    EXPECT_EQ(session.logits_hash(), alone.logits_hash());
    session.shift(0, 1, 4);
    std::vector<Token> shifted = prompt;
    shifted.erase(shifted.begin() + 1, shifted.begin() + 5);
    EXPECT_EQ(session.tokens(0), shifted);
    session.truncate(0, 2);
    EXPECT_EQ(session.tokens(0).size(), 2u);
    GenerateOptions options = greedy(64);
    options.seq = 1;
    EXPECT_EQ(session.generate(kPrompt, options).text, kStory);
    EXPECT_EQ(session.tokens(2), other);
}

TEST_F(ApiSession, BadArgumentsAreNamed) {
    const auto message = [&](auto change) {
        SessionOptions with = small_session();
        change(with);
        return message_of([&] { Session(fable(), with); });
    };
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    has(message([](SessionOptions& o) { o.sparsity = "sometimes"; }), "'sometimes'");
    has(message([](SessionOptions& o) { o.sparsity = "predict"; }), "predictor");
    has(message([](SessionOptions& o) { o.kv_type = "f8"; }), "'f8'");
    has(message([](SessionOptions& o) { o.kv_type = "q4_0"; }), "Q4_0");
    has(message([](SessionOptions& o) { o.isa = "mmx"; }), "mmx");
    has(message([](SessionOptions& o) { o.n_ctx = -1; }), "n_ctx");
    has(message([](SessionOptions& o) { o.n_seq = 0; }), "n_seq");
    has(message([](SessionOptions& o) { o.n_seq = 1 << 30; }), "n_seq");
    has(message([](SessionOptions& o) { o.n_batch = 0; }), "n_batch");
    has(message([](SessionOptions& o) { o.n_threads = -2; }), "n_threads");
    has(message([](SessionOptions& o) { o.n_threads_batch = 1 << 20; }), "threads");
    has(message([](SessionOptions& o) { o.n_ctx = 2147483647, o.n_seq = 4096; }), "GiB");

    Session session(fable(), small_session());
    has(message_of([&] { session.append({2048}); }), "2048");
    has(message_of([&] { session.append({1}, 1); }), "equence 1");
    has(message_of([&] { session.tokens(-1); }), "-1");
    has(message_of([&] { session.logits(0); }), "0");
    has(message_of([&] { session.truncate(0, 1); }), "1");
    has(message_of([&] { session.active_share(4); }), "4");
    has(message_of([&] { session.generate(std::vector<Token>{}, greedy(1)); }), "no tokens");
    has(message_of([&] { session.generate(std::vector<Token>{-1}, greedy(1)); }), "-1");
    has(message_of([&] { session.generate(kPrompt, greedy(-3)); }), "n_predict");
    GenerateOptions options = greedy(1);
    options.seq = 3;
    has(message_of([&] { session.generate(kPrompt, options); }), "equence 3");
    options = greedy(1);
    options.sampling.top_p = -1;
    has(message_of([&] { session.generate(kPrompt, options); }), "top_p");
    Sampler sampler(session);
    has(message_of([&] { sampler.accept(9999); }), "9999");
    has(message_of([&] { sampler.sample(nullptr, 0); }), "2048");
}

TEST_F(ApiSession, CachesKeysAndValuesInAnyOfFourFormats) {
    for (const char* type : {"f32", "F16", "bf16", "q8_0"}) {
        SessionOptions with = small_session();
        with.kv_type = type;
        Session session(fable(), with);
        EXPECT_EQ(session.generate(kPrompt, greedy(4)).tokens.size(), 4u) << type;
        std::string name = type;
        for (char& c : name) c = static_cast<char>(std::toupper(c));
        EXPECT_NE(session.plan().find(name), std::string::npos) << session.plan();
    }
}

TEST_F(ApiSession, LogsItsPlanAndChoices) {
    std::vector<std::string> lines;
    SessionOptions with = small_session("exact");
    with.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
    with.kv_type = "f32";
    with.isa = "scalar";
    with.n_batch = 4;
    const Session session(fable(), with);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines[0], session.plan());
    EXPECT_NE(session.plan().find("F32"), std::string::npos);
    EXPECT_EQ(session.isa(), "scalar");
    EXPECT_EQ(session.sparsity(), "exact");
    EXPECT_EQ(session.n_ctx(), 256);
    EXPECT_EQ(session.n_threads(), 2);
    EXPECT_EQ(Sampler(session, greedy(0).sampling).chain().find("logit-bias"), 0u);
}

TEST_F(ApiSession, ASmallBatchChangesNothing) {
    SessionOptions with = small_session();
    with.n_batch = 3;
    with.n_threads_batch = 1;
    Session session(fable(), with);
    EXPECT_EQ(session.generate(kPrompt, greedy(64)).text, kStory);
}

TEST_F(ApiSession, ProgressCancelsPreparation) {
    SessionOptions with = small_session("exact");
    with.progress = [](double, std::string_view) { return false; };
    EXPECT_THROW(Session(fable(), with), Error);
}

TEST_F(ApiSession, OutlivesItsModelHandleAndMoves) {
    auto model = std::make_unique<Model>(Model::load(kFablePath));
    Session first(*model, small_session());
    model.reset();
    Session session = std::move(first);
    EXPECT_EQ(session.generate(kPrompt, greedy(64)).text, kStory);
    EXPECT_EQ(session.model().n_layer(), 4);
}

/// Two files with predictors and different thresholds, one file in two modes, all stepping at the same time.
TEST_F(ApiSession, ModelsInOneProcessDoNotInterfere) {
    const TemporaryFolder folder;
    TinyShape shape;
    shape.predictors = true;
    TinyModel(shape).write(folder / "tiny.gguf");
    struct Case {
        float threshold;
        std::string mode;
        std::vector<uint64_t> alone, together;
        double share = 0;
    };
    std::vector<Case> cases = {{-1e9f, "predict", {}, {}}, {0.0f, "predict", {}, {}}, {1e9f, "predict", {}, {}},
                               {0.0f, "exact", {}, {}},    {0.0f, "off", {}, {}}};
    const auto run = [&](Case& c, std::vector<uint64_t>& hashes) {
        ModelOptions options;
        options.threshold = c.threshold;
        const Model model = Model::load(folder / "tiny.gguf", options);
        Session session(model, small_session(c.mode));
        for (Token t = 0; t < 40; ++t) {
            session.append({t});
            hashes.push_back(session.logits_hash());
        }
        c.share = session.active_share();
    };
    for (Case& c : cases) run(c, c.alone);
    std::vector<std::thread> threads;
    for (Case& c : cases) threads.emplace_back([&] { run(c, c.together); });
    for (std::thread& t : threads) t.join();
    for (const Case& c : cases) EXPECT_EQ(c.alone, c.together) << c.mode << c.threshold;
    EXPECT_EQ(cases[0].alone, cases[3].alone);  // everything predicted: the gate decides, as in exact
    EXPECT_GT(cases[0].share, cases[1].share);
    EXPECT_EQ(cases[2].share, 0);
    EXPECT_EQ(cases[4].share, 1);
    EXPECT_NE(cases[1].alone, cases[2].alone);
}

}  // namespace
}  // namespace powerinfer::test
