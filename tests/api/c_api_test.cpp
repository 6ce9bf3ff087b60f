// The C API: texts, buffers, callbacks that misbehave, stopping.
#include "api/c_api.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "api/c99_user.h"

namespace powerinfer::test {

std::string cpp17_story(const std::string& path, const std::string& prompt);  // cpp17_user.cpp

namespace {

TEST_F(CApi, StrictUsersGetTheStory) {
    char text[512];
    EXPECT_EQ(c99_story(kFablePath.c_str(), kPrompt.c_str(), 64, text, sizeof text), 0);
    EXPECT_EQ(std::string(" ") + text, kStory);  // a text of its own has no space in front
    EXPECT_EQ(c99_without_model(), 0);
    const std::string story = cpp17_story(kFablePath, kPrompt);
    EXPECT_FALSE(story.empty());
    EXPECT_EQ(kStory.rfind(story, 0), 0u) << story;
}

TEST_F(CApi, GeneratesWithACallback) {
    std::string heard;
    generate_.callback = [](const char* text, size_t n, void* user) {
        EXPECT_EQ(std::strlen(text), n);
        *static_cast<std::string*>(user) += text;
        return 1;
    };
    generate_.callback_user_data = &heard;
    powerinfer_finish_reason reason;
    ASSERT_EQ(generate(&reason), POWERINFER_OK) << error_.message;
    EXPECT_EQ(error_.status, POWERINFER_OK);
    EXPECT_EQ(error_.text(), "");
    EXPECT_EQ(reason, POWERINFER_FINISH_LENGTH);
    EXPECT_EQ(heard, kStory);
    size_t n_bytes = 0, n_tokens = 0;
    EXPECT_EQ(std::string(powerinfer_session_text(session_, &n_bytes)), kStory);
    EXPECT_EQ(n_bytes, kStory.size());
    const int32_t* tokens = powerinfer_session_generated(session_, &n_tokens);
    ASSERT_EQ(n_tokens, 64u);
    EXPECT_EQ(powerinfer_session_n_past(session_, 0), 11 + 63);
    EXPECT_EQ(powerinfer_model_is_end_of_generation(model_, tokens[0]), 0);

    // The same from ids, with a stop string.
    int32_t ids[16];
    size_t n = 0;
    ASSERT_EQ(powerinfer_tokenize(model_, kPrompt.data(), kPrompt.size(), 1, 0, ids, 16, &n, nullptr), POWERINFER_OK);
    const char* stop[] = {"so beautiful"};
    generate_.stop = stop;
    generate_.n_stop = 1;
    ASSERT_EQ(powerinfer_session_generate_tokens(session_, ids, n, &generate_, &reason, &error_), POWERINFER_OK);
    EXPECT_EQ(reason, POWERINFER_FINISH_STOP_STRING);
    EXPECT_EQ(std::string(powerinfer_session_text(session_, nullptr)), " a son, and he was ");
}

TEST_F(CApi, AnswersQuestions) {
    EXPECT_STREQ(powerinfer_model_architecture(model_), "llama");
    EXPECT_STREQ(powerinfer_model_activation(model_), "relu");
    EXPECT_EQ(powerinfer_model_n_vocab(model_), 2048);
    EXPECT_EQ(powerinfer_model_n_embd(model_), 256);
    EXPECT_EQ(powerinfer_model_n_layer(model_), 4);
    EXPECT_EQ(powerinfer_model_n_ff(model_), 1024);
    EXPECT_EQ(powerinfer_model_n_ctx_train(model_), 1024);
    EXPECT_EQ(powerinfer_model_has_predictors(model_), 0);
    EXPECT_EQ(powerinfer_model_has_vocabulary(model_), 1);
    EXPECT_EQ(powerinfer_model_bos(model_), 1);
    EXPECT_EQ(powerinfer_model_eos(model_), 2);
    EXPECT_EQ(powerinfer_model_n_bytes(model_), std::filesystem::file_size(kFablePath));
    EXPECT_EQ(powerinfer_session_n_ctx(session_), 128);
    EXPECT_EQ(powerinfer_session_n_seq(session_), 1);
    EXPECT_STREQ(powerinfer_session_sparsity(session_), "exact");
    EXPECT_NE(std::string(powerinfer_session_plan(session_)).find("KV cache"), std::string::npos);
    EXPECT_STREQ(powerinfer_session_isa(session_), powerinfer_isa(0));
    EXPECT_EQ(powerinfer_session_active_share(session_, -1), 0);
    ASSERT_EQ(generate(), POWERINFER_OK);
    EXPECT_GT(powerinfer_session_active_share(session_, -1), 0);
    EXPECT_GT(powerinfer_session_active_share(session_, 3), 0);
    EXPECT_LT(powerinfer_session_active_share(session_, 4), 0);
    EXPECT_NE(powerinfer_session_logits_hash(session_), 0u);
    EXPECT_EQ(powerinfer_session_n_logits(session_), 1u);
    EXPECT_EQ(powerinfer_session_reset_counters(session_, &error_), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_active_share(session_, -1), 0);

    bool found = false;
    for (size_t i = 0; i < powerinfer_model_n_metadata(model_); ++i)
        found |= std::string(powerinfer_model_metadata_key(model_, i)) == "llama.block_count";
    EXPECT_TRUE(found);
    EXPECT_EQ(powerinfer_model_metadata_key(model_, 100000), nullptr);
}

TEST_F(CApi, BuffersGetAllOrNothing) {
    size_t length = 0;
    ASSERT_EQ(powerinfer_model_metadata(model_, "general.architecture", nullptr, 0, &length, &error_), POWERINFER_OK);
    EXPECT_EQ(length, 5u);
    char buffer[6] = "?????";
    expect_error(powerinfer_model_metadata(model_, "general.architecture", buffer, 5, &length, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "room for 5, but 6");
    EXPECT_STREQ(buffer, "?????");
    EXPECT_EQ(powerinfer_model_metadata(model_, "general.architecture", buffer, 6, nullptr, &error_), POWERINFER_OK);
    EXPECT_STREQ(buffer, "llama");
    expect_error(powerinfer_model_metadata(model_, "no.such.key", buffer, 6, &length, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "no.such.key");

    int32_t ids[11] = {-7};
    expect_error(powerinfer_tokenize(model_, kPrompt.data(), kPrompt.size(), 1, 0, ids, 10, &length, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "11");
    EXPECT_EQ(length, 11u);
    EXPECT_EQ(ids[0], -7);
    EXPECT_EQ(powerinfer_tokenize(model_, kPrompt.data(), kPrompt.size(), 1, 0, ids, 11, &length, &error_), POWERINFER_OK);
    std::string text(kPrompt.size() + 1, '?');
    EXPECT_EQ(powerinfer_detokenize(model_, ids, 11, 0, text.data(), text.size(), &length, &error_), POWERINFER_OK);
    EXPECT_EQ(text.c_str(), kPrompt);
    EXPECT_EQ(powerinfer_tokenize(model_, nullptr, 0, 0, 0, nullptr, 0, &length, &error_), POWERINFER_OK);
    EXPECT_EQ(length, 0u);
}

TEST_F(CApi, ExceptionsOfCallbacksStayInside) {
    generate_.callback = [](const char*, size_t, void* user) -> int {
        if (++*static_cast<int*>(user) == 3) throw std::runtime_error("the printer is on fire");
        return 1;
    };
    int n = 0;
    generate_.callback_user_data = &n;
    expect_error(generate(), error_, POWERINFER_CALLBACK_FAILED, "the printer is on fire");
    EXPECT_NE(error_.text().find("text callback"), std::string::npos) << error_.message;
    generate_.callback = [](const char*, size_t, void*) -> int { throw 7; };
    expect_error(generate(), error_, POWERINFER_CALLBACK_FAILED, "unknown type");
    generate_.callback = nullptr;
    ASSERT_EQ(generate(), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_text(session_, nullptr), kStory);

    powerinfer_model_options model_options;
    powerinfer_model_options_default(&model_options, sizeof model_options);
    model_options.progress = [](double, const char*, void*) -> int { throw std::bad_alloc(); };
    powerinfer_model* model = nullptr;
    expect_error(powerinfer_model_load(kFablePath.c_str(), &model_options, &model, &error_), error_,
                 POWERINFER_CALLBACK_FAILED, "progress");
    EXPECT_EQ(model, nullptr);
    powerinfer_session_options options = options_;
    options.log = [](powerinfer_log_level, const char*, void*) { throw std::string("no"); };
    expect_error(new_session(options), error_, POWERINFER_CALLBACK_FAILED, "log");
}

TEST_F(CApi, CallbacksThatEnterTheSessionAgainAreRefused) {
    struct State {
        powerinfer_session* session;
        powerinfer_status status = POWERINFER_OK;
    } state{session_};
    generate_.callback = [](const char*, size_t, void* user) {
        auto& s = *static_cast<State*>(user);
        const int32_t token = 1;
        s.status = powerinfer_session_step(s.session, &token, nullptr, nullptr, 1, nullptr);
        powerinfer_session_request_stop(s.session);
        return 1;
    };
    generate_.callback_user_data = &state;
    powerinfer_finish_reason reason;
    ASSERT_EQ(generate(&reason), POWERINFER_OK);
    EXPECT_EQ(reason, POWERINFER_FINISH_CANCELLED);
    EXPECT_EQ(state.status, POWERINFER_BAD_ARGUMENT);
    size_t n = 0;
    powerinfer_session_generated(session_, &n);
    EXPECT_EQ(n, 1u);
}

TEST_F(CApi, AnotherThreadStopsIt) {
    std::atomic<int> n{0};
    generate_.n_predict = -1;
    generate_.context_shift = 1;
    sampling_.ignore_eos = 1;
    generate_.callback = [](const char*, size_t, void* user) {
        ++*static_cast<std::atomic<int>*>(user);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return 1;
    };
    generate_.callback_user_data = &n;
    std::thread stopper([&] {
        while (n < 2) std::this_thread::yield();
        powerinfer_session_request_stop(session_);
    });
    powerinfer_finish_reason reason;
    ASSERT_EQ(generate(&reason), POWERINFER_OK) << error_.message;
    stopper.join();
    EXPECT_EQ(reason, POWERINFER_FINISH_CANCELLED);
    powerinfer_session_request_stop(session_);
    powerinfer_session_clear_stop(session_);
    generate_.n_predict = 1;
    ASSERT_EQ(generate(&reason), POWERINFER_OK);
    EXPECT_EQ(reason, POWERINFER_FINISH_LENGTH);
}

TEST_F(CApi, WritesConversations) {
    const char* roles[] = {"user"};
    const char* contents[] = {"Who are you?"};
    char text[200];
    size_t length = 0;
    ASSERT_EQ(powerinfer_apply_chat_template(model_, roles, contents, 1, 1, "chatml", text, sizeof text, &length, &error_),
              POWERINFER_OK)
        << error_.message;
    EXPECT_STREQ(text, "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(length, std::strlen(text));
    ASSERT_EQ(powerinfer_apply_chat_template(model_, roles, contents, 1, 0,
                                             "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", text, sizeof text,
                                             &length, &error_),
              POWERINFER_OK)
        << error_.message;
    EXPECT_STREQ(text, "Who are you?</s>") << "the tokenizer adds the BOS";
    expect_error(powerinfer_apply_chat_template(model_, roles, contents, 1, 1, nullptr, text, sizeof text, &length, &error_),
                 error_, POWERINFER_BAD_ARGUMENT, "template");
    const char* null_text = nullptr;
    expect_error(
        powerinfer_apply_chat_template(model_, roles, &null_text, 1, 1, "chatml", text, sizeof text, &length, &error_),
        error_, POWERINFER_BAD_ARGUMENT, "contents[]");
}

}  // namespace
}  // namespace powerinfer::test
