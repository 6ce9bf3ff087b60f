// The C API: texts, buffers, every kind of error, callbacks that misbehave, stopping, frees.
#include <gtest/gtest.h>
#include <powerinfer/powerinfer_c.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <thread>

#include "api/c99_user.h"
#include "api/fable.h"
#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::test {

std::string cpp17_story(const std::string& path, const std::string& prompt);  // cpp17_user.cpp

namespace {

/// A powerinfer_error full of rubbish, as on a C programmer's stack.
struct DirtyError : powerinfer_error {
    DirtyError() { std::memset(static_cast<powerinfer_error*>(this), 0xA5, sizeof(powerinfer_error)); }
    std::string text() const { return message; }
};

/// The call failed with this status, and the sentence names `part`.
void expect_error(powerinfer_status status, const DirtyError& error, powerinfer_status expected, const char* part) {
    EXPECT_EQ(status, expected) << error.message;
    EXPECT_EQ(error.status, expected);
    EXPECT_NE(error.text().find(part), std::string::npos) << error.message;
}

class CApi : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(powerinfer_model_load(kFablePath.c_str(), nullptr, &model_, &error_), POWERINFER_OK)
            << error_.message;
        powerinfer_session_options_default(&options_, sizeof options_);
        options_.n_ctx = 128;
        ASSERT_EQ(powerinfer_session_new(model_, &options_, &session_, &error_), POWERINFER_OK) << error_.message;
        powerinfer_sampler_options_default(&sampling_, sizeof sampling_);
        sampling_.temperature = 0;
        powerinfer_generate_options_default(&generate_, sizeof generate_);
        generate_.n_predict = 64;
        generate_.sampling = &sampling_;
    }
    void TearDown() override {
        powerinfer_session_free(&session_);
        powerinfer_model_free(&model_);
    }

    powerinfer_status generate(powerinfer_finish_reason* reason = nullptr) {
        return powerinfer_session_generate(session_, kPrompt.c_str(), &generate_, reason, &error_);
    }
    powerinfer_status new_session(const powerinfer_session_options& options) {
        powerinfer_session* session = nullptr;
        const powerinfer_status status = powerinfer_session_new(model_, &options, &session, &error_);
        EXPECT_EQ(session == nullptr, status != POWERINFER_OK);
        powerinfer_session_free(&session);
        return status;
    }

    DirtyError error_;
    powerinfer_model* model_ = nullptr;
    powerinfer_session* session_ = nullptr;
    powerinfer_session_options options_;
    powerinfer_sampler_options sampling_;
    powerinfer_generate_options generate_;
};

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

TEST_F(CApi, LoadingFailsInWords) {
    powerinfer_model* model = nullptr;
    expect_error(powerinfer_model_load("/no/such.gguf", nullptr, &model, &error_), error_, POWERINFER_IO, "/no/such.gguf");
    expect_error(powerinfer_model_load(nullptr, nullptr, &model, &error_), error_, POWERINFER_BAD_ARGUMENT, "path");
    expect_error(powerinfer_model_load(kFablePath.c_str(), nullptr, nullptr, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "model");
    const TemporaryFolder folder;
    std::ofstream(folder / "page.gguf") << "<!DOCTYPE html><html>not a model</html>";
    expect_error(powerinfer_model_load((folder / "page.gguf").c_str(), nullptr, &model, &error_), error_,
                 POWERINFER_BAD_FILE, "page.gguf");
    powerinfer_model_options options;
    powerinfer_model_options_default(&options, sizeof options);
    options.activation = "tanh";
    expect_error(powerinfer_model_load(kFablePath.c_str(), &options, &model, &error_), error_, POWERINFER_UNSUPPORTED,
                 "tanh");
    powerinfer_model_options_default(&options, sizeof options);
    options.has_threshold = 1;
    options.threshold = std::numeric_limits<float>::infinity();
    expect_error(powerinfer_model_load(kFablePath.c_str(), &options, &model, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "threshold");
    std::memset(&options, 0, sizeof options);
    expect_error(powerinfer_model_load(kFablePath.c_str(), &options, &model, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "struct_size");
    powerinfer_model_options_default(&options, sizeof options);
    options.progress = [](double, const char*, void*) { return 0; };
    expect_error(powerinfer_model_load(kFablePath.c_str(), &options, &model, &error_), error_, POWERINFER_CANCELLED, "stop");
    EXPECT_EQ(model, nullptr);
    EXPECT_EQ(powerinfer_model_load("/no/such.gguf", nullptr, &model, nullptr), POWERINFER_IO);  // without an error object
}

TEST_F(CApi, LongMessagesAreCutBetweenCharacters) {
    powerinfer_model* model = nullptr;
    std::string path = "/x";
    for (int i = 0; i < 600; ++i) path += "\u00e9";
    EXPECT_NE(powerinfer_model_load(path.c_str(), nullptr, &model, &error_), POWERINFER_OK);
    const std::string message = error_.message;
    EXPECT_GE(message.size(), sizeof error_.message - 3);
    EXPECT_LT(message.size(), sizeof error_.message);
    EXPECT_EQ(static_cast<unsigned char>(message.back()), 0xA9) << "the second byte of the letter";
}

TEST_F(CApi, SessionsFailInWords) {
    powerinfer_session* session = nullptr;
    expect_error(powerinfer_session_new(nullptr, nullptr, &session, &error_), error_, POWERINFER_BAD_ARGUMENT, "model");
    expect_error(powerinfer_session_new(model_, nullptr, nullptr, &error_), error_, POWERINFER_BAD_ARGUMENT, "session");
    powerinfer_session_options options = options_;
    options.sparsity = "sometimes";
    expect_error(new_session(options), error_, POWERINFER_BAD_ARGUMENT, "sometimes");
    options.sparsity = "predict";
    expect_error(new_session(options), error_, POWERINFER_BAD_ARGUMENT, "predictor");
    options = options_;
    options.kv_type = "f8";
    expect_error(new_session(options), error_, POWERINFER_BAD_ARGUMENT, "f8");
    options = options_;
    options.isa = "mmx";
    expect_error(new_session(options), error_, POWERINFER_UNSUPPORTED, "mmx");
    options = options_;
    options.n_ctx = std::numeric_limits<int32_t>::max();
    options.n_seq = 4096;
    expect_error(new_session(options), error_, POWERINFER_OUT_OF_MEMORY, "KV cache");
    options = options_;
    options.n_threads = -1;
    expect_error(new_session(options), error_, POWERINFER_BAD_ARGUMENT, "n_threads");
    options = options_;
    options.struct_size += 8;
    expect_error(new_session(options), error_, POWERINFER_BAD_ARGUMENT, "struct_size");
    options = options_;
    options.progress = [](double, const char*, void*) { return 0; };
    expect_error(new_session(options), error_, POWERINFER_CANCELLED, "stop");
}

TEST_F(CApi, StepsFailInWords) {
    const int32_t bad = 2048, good = 5;
    expect_error(powerinfer_session_step(session_, &bad, nullptr, nullptr, 1, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "2048");
    const int32_t sequence = 1;
    expect_error(powerinfer_session_step(session_, &good, &sequence, nullptr, 1, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "sequence 1");
    expect_error(powerinfer_session_step(session_, nullptr, nullptr, nullptr, 1, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "tokens");
    expect_error(powerinfer_session_step(nullptr, &good, nullptr, nullptr, 1, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "session");
    const std::vector<int32_t> many(129, 5);
    expect_error(powerinfer_session_step(session_, many.data(), nullptr, nullptr, many.size(), &error_), error_,
                 POWERINFER_OUT_OF_MEMORY, "128");
    EXPECT_EQ(powerinfer_session_n_past(session_, 0), 0);
    const std::vector<int8_t> wanted = {1, 0, 1};
    EXPECT_EQ(powerinfer_session_step(session_, many.data(), nullptr, wanted.data(), 3, &error_), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_n_logits(session_), 2u);
    EXPECT_NE(powerinfer_session_logits(session_, 1), nullptr);
    EXPECT_EQ(powerinfer_session_logits(session_, 2), nullptr);
    expect_error(powerinfer_session_truncate(session_, 0, 4, &error_), error_, POWERINFER_BAD_ARGUMENT, "4");
    expect_error(powerinfer_session_shift(session_, 0, 2, 2, &error_), error_, POWERINFER_BAD_ARGUMENT, "2");
    expect_error(powerinfer_session_copy(session_, 0, 1, 1, &error_), error_, POWERINFER_BAD_ARGUMENT, "1");
    EXPECT_EQ(powerinfer_session_shift(session_, 0, 1, 1, &error_), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_truncate(session_, 0, 1, &error_), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_copy(session_, 0, 0, 1, &error_), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_n_past(session_, 0), 1);
    EXPECT_EQ(powerinfer_session_n_past(session_, 7), -1);
    powerinfer_timings timings = {};
    expect_error(powerinfer_session_timings(session_, &timings, &error_), error_, POWERINFER_BAD_ARGUMENT, "struct_size");
}

TEST_F(CApi, GenerationFailsInWords) {
    expect_error(powerinfer_session_generate(session_, nullptr, &generate_, nullptr, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "prompt");
    expect_error(powerinfer_session_generate(nullptr, "a", &generate_, nullptr, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "session");
    expect_error(powerinfer_session_generate_tokens(session_, nullptr, 3, &generate_, nullptr, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "prompt");
    expect_error(powerinfer_session_generate_tokens(session_, nullptr, 0, &generate_, nullptr, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "no tokens");
    const std::string whole(500, 'x');
    expect_error(powerinfer_session_generate(session_, whole.c_str(), &generate_, nullptr, &error_), error_,
                 POWERINFER_BAD_ARGUMENT, "context of 128");
    generate_.n_stop = 1;
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "stop");
    const char* null_text = nullptr;
    generate_.stop = &null_text;
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "stop[]");
    generate_.n_stop = 0;
    sampling_.order = "top_k;nonsense";
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "nonsense");
    sampling_.order = nullptr;
    sampling_.mirostat = 3;
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "mirostat");
    sampling_.mirostat = 0;
    sampling_.n_logit_bias = 1;
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "logit_bias");
    sampling_.n_logit_bias = 0;
    sampling_.struct_size = 1;
    expect_error(generate(), error_, POWERINFER_BAD_ARGUMENT, "powerinfer_sampler_options");
    sampling_.struct_size = sizeof sampling_;
    EXPECT_EQ(generate(), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_text(session_, nullptr), kStory);
    powerinfer_sampler* sampler = nullptr;
    expect_error(powerinfer_sampler_new(nullptr, nullptr, &sampler, &error_), error_, POWERINFER_BAD_ARGUMENT, "session");
    ASSERT_EQ(powerinfer_sampler_new(session_, nullptr, &sampler, &error_), POWERINFER_OK);
    const float* logits = powerinfer_session_logits(session_, 0);
    int32_t token = -5;
    expect_error(powerinfer_sampler_sample(sampler, logits, 7, &token, &error_), error_, POWERINFER_BAD_ARGUMENT, "7 logits");
    expect_error(powerinfer_sampler_sample(sampler, nullptr, 2048, &token, &error_), error_, POWERINFER_BAD_ARGUMENT,
                 "logits");
    const std::vector<float> broken(2048, std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(powerinfer_sampler_sample(sampler, broken.data(), 2048, &token, &error_), POWERINFER_INTERNAL);
    expect_error(powerinfer_sampler_accept(sampler, -1, &error_), error_, POWERINFER_BAD_ARGUMENT, "-1");
    EXPECT_EQ(token, -5);
    powerinfer_sampler_free(&sampler);
}

// A model whose weights give no finite logits is the library's own finding, not the caller's mistake.
TEST_F(CApi, DamagedWeightsAreAnInternalError) {
    const TemporaryFolder folder;
    TinyModel tiny(TinyShape{});
    tiny.row("output.weight", 3)[0] = std::numeric_limits<float>::infinity();
    tiny.write(folder / "tiny.gguf");
    powerinfer_model* model = nullptr;
    powerinfer_session* session = nullptr;
    ASSERT_EQ(powerinfer_model_load((folder / "tiny.gguf").c_str(), nullptr, &model, &error_), POWERINFER_OK);
    ASSERT_EQ(powerinfer_session_new(model, nullptr, &session, &error_), POWERINFER_OK) << error_.message;
    const int32_t token = 1;
    expect_error(powerinfer_session_step(session, &token, nullptr, nullptr, 1, &error_), error_, POWERINFER_INTERNAL,
                 "finite");
    expect_error(powerinfer_tokenize(model, "a", 1, 1, 0, nullptr, 0, nullptr, &error_), error_, POWERINFER_UNSUPPORTED,
                 "vocabulary");
    EXPECT_EQ(powerinfer_model_bos(model), -1);
    EXPECT_STREQ(powerinfer_model_chat_template(model), "");
    powerinfer_session_free(&session);
    powerinfer_model_free(&model);
}

TEST_F(CApi, NullIsHarmlessEverywhere) {
    EXPECT_STREQ(powerinfer_model_architecture(nullptr), "");
    EXPECT_STREQ(powerinfer_model_name(nullptr), "");
    EXPECT_STREQ(powerinfer_model_activation(nullptr), "");
    EXPECT_STREQ(powerinfer_model_chat_template(nullptr), "");
    EXPECT_EQ(powerinfer_model_n_vocab(nullptr), 0);
    EXPECT_EQ(powerinfer_model_n_embd(nullptr), 0);
    EXPECT_EQ(powerinfer_model_n_layer(nullptr), 0);
    EXPECT_EQ(powerinfer_model_n_ff(nullptr), 0);
    EXPECT_EQ(powerinfer_model_n_ctx_train(nullptr), 0);
    EXPECT_EQ(powerinfer_model_n_bytes(nullptr), 0u);
    EXPECT_EQ(powerinfer_model_has_predictors(nullptr), 0);
    EXPECT_EQ(powerinfer_model_threshold(nullptr), 0);
    EXPECT_EQ(powerinfer_model_has_vocabulary(nullptr), 0);
    EXPECT_EQ(powerinfer_model_bos(nullptr), -1);
    EXPECT_EQ(powerinfer_model_eos(nullptr), -1);
    EXPECT_EQ(powerinfer_model_is_end_of_generation(nullptr, 2), 0);
    EXPECT_EQ(powerinfer_model_n_metadata(nullptr), 0u);
    EXPECT_EQ(powerinfer_model_metadata_key(nullptr, 0), nullptr);
    EXPECT_EQ(powerinfer_session_n_ctx(nullptr), 0);
    EXPECT_EQ(powerinfer_session_n_seq(nullptr), 0);
    EXPECT_EQ(powerinfer_session_n_threads(nullptr), 0);
    EXPECT_EQ(powerinfer_session_n_threads_batch(nullptr), 0);
    EXPECT_STREQ(powerinfer_session_isa(nullptr), "");
    EXPECT_STREQ(powerinfer_session_sparsity(nullptr), "");
    EXPECT_STREQ(powerinfer_session_plan(nullptr), "");
    EXPECT_EQ(powerinfer_session_logits(nullptr, 0), nullptr);
    EXPECT_EQ(powerinfer_session_n_logits(nullptr), 0u);
    EXPECT_EQ(powerinfer_session_logits_hash(nullptr), 0u);
    EXPECT_EQ(powerinfer_session_n_past(nullptr, 0), -1);
    EXPECT_EQ(powerinfer_session_active_share(nullptr, 0), 0);
    size_t n = 9;
    EXPECT_STREQ(powerinfer_session_text(nullptr, &n), "");
    EXPECT_EQ(n, 0u);
    EXPECT_EQ(powerinfer_session_generated(nullptr, nullptr), nullptr);
    EXPECT_EQ(powerinfer_sampler_seed(nullptr), 0u);
    powerinfer_session_request_stop(nullptr);
    powerinfer_session_clear_stop(nullptr);
    powerinfer_model_options_default(nullptr, 100);
    powerinfer_session_options_default(nullptr, 100);
    powerinfer_sampler_options_default(nullptr, 100);
    powerinfer_generate_options_default(nullptr, 100);

    const powerinfer_status bad = POWERINFER_BAD_ARGUMENT;
    EXPECT_EQ(powerinfer_model_metadata(nullptr, "k", nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_model_metadata(model_, nullptr, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_tokenize(nullptr, "a", 1, 1, 0, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_tokenize(model_, nullptr, 1, 1, 0, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_tokenize(model_, "a", 1, 1, 0, nullptr, 5, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_detokenize(nullptr, nullptr, 0, 0, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_detokenize(model_, nullptr, 1, 0, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_apply_chat_template(nullptr, nullptr, nullptr, 0, 1, "chatml", nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_apply_chat_template(model_, nullptr, nullptr, 1, 1, "chatml", nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_session_truncate(nullptr, 0, 0, nullptr), bad);
    EXPECT_EQ(powerinfer_session_shift(nullptr, 0, 0, 0, nullptr), bad);
    EXPECT_EQ(powerinfer_session_copy(nullptr, 0, 0, 0, nullptr), bad);
    EXPECT_EQ(powerinfer_session_timings(session_, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_session_reset_counters(nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_sampler_new(session_, nullptr, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_sampler_sample(nullptr, nullptr, 0, nullptr, nullptr), bad);
    EXPECT_EQ(powerinfer_sampler_accept(nullptr, 0, nullptr), bad);
}

TEST_F(CApi, FreeingTwiceThroughTheSameVariableIsHarmless) {
    powerinfer_session_free(&session_);
    EXPECT_EQ(session_, nullptr);
    powerinfer_session_free(&session_);
    powerinfer_model_free(&model_);
    EXPECT_EQ(model_, nullptr);
    powerinfer_model_free(&model_);
}

TEST_F(CApi, ASessionOutlivesItsModelHandle) {
    powerinfer_model_free(&model_);
    ASSERT_EQ(generate(), POWERINFER_OK);
    EXPECT_EQ(powerinfer_session_text(session_, nullptr), kStory);
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

TEST_F(CApi, DefaultsAreThoseOfCpp) {
    const SamplerOptions o;
    powerinfer_sampler_options c;
    powerinfer_sampler_options_default(&c, sizeof c);
    EXPECT_EQ(c.struct_size, sizeof c);
    EXPECT_EQ(c.seed, o.seed);
    EXPECT_EQ(c.temperature, o.temperature);
    EXPECT_EQ(c.top_k, o.top_k);
    EXPECT_EQ(c.top_p, o.top_p);
    EXPECT_EQ(c.min_p, o.min_p);
    EXPECT_EQ(c.typical_p, o.typical_p);
    EXPECT_EQ(c.tail_free_z, o.tail_free_z);
    EXPECT_EQ(c.top_n_sigma, o.top_n_sigma);
    EXPECT_EQ(c.xtc_threshold, o.xtc_threshold);
    EXPECT_EQ(c.repeat_last_n, o.repeat_last_n);
    EXPECT_EQ(c.repeat_penalty, o.repeat_penalty);
    EXPECT_EQ(c.dynatemp_exponent, o.dynatemp_exponent);
    EXPECT_EQ(c.penalize_newline, 1);
    EXPECT_EQ(c.dry_base, o.dry_base);
    EXPECT_EQ(c.dry_allowed_length, o.dry_allowed_length);
    EXPECT_EQ(c.dry_penalty_last_n, o.dry_penalty_last_n);
    EXPECT_EQ(c.mirostat_tau, o.mirostat_tau);
    EXPECT_EQ(c.mirostat_eta, o.mirostat_eta);
    EXPECT_EQ(c.adaptive_target, o.adaptive_target);
    EXPECT_EQ(c.adaptive_decay, o.adaptive_decay);
    const SessionOptions s;
    powerinfer_session_options d;
    powerinfer_session_options_default(&d, sizeof d);
    EXPECT_EQ(d.n_ctx, s.n_ctx);
    EXPECT_EQ(d.n_seq, s.n_seq);
    EXPECT_EQ(d.n_batch, s.n_batch);
    EXPECT_EQ(d.repack != 0, s.repack);
    powerinfer_generate_options g;
    powerinfer_generate_options_default(&g, sizeof g);
    EXPECT_EQ(g.n_predict, GenerateOptions().n_predict);
}

/// The same seed and settings through C and C++: a field that does not arrive makes the texts differ.
TEST_F(CApi, EverySamplingFieldArrives) {
    Session session(Model::load(kFablePath), small_session());
    const auto both = [&](auto change_c, auto change_cpp) {
        powerinfer_sampler_options_default(&sampling_, sizeof sampling_);
        sampling_.seed = 11;
        sampling_.temperature = 1.2f;
        change_c(sampling_);
        generate_.n_predict = 40;
        EXPECT_EQ(generate(), POWERINFER_OK) << error_.message;
        GenerateOptions options;
        options.n_predict = 40;
        options.sampling.seed = 11;
        options.sampling.temperature = 1.2f;
        const std::string unchanged = session.generate(kPrompt, options).text;
        change_cpp(options.sampling);
        const std::string text = session.generate(kPrompt, options).text;
        EXPECT_EQ(std::string(powerinfer_session_text(session_, nullptr)), text);
        return text != unchanged;
    };
#define SAME_IN_BOTH(...) \
    EXPECT_TRUE(both([](auto& o) { __VA_ARGS__; }, [](auto& o) { __VA_ARGS__; })) << #__VA_ARGS__
    SAME_IN_BOTH(o.seed = 12);
    SAME_IN_BOTH(o.temperature = 2);
    SAME_IN_BOTH(o.min_keep = 30);
    SAME_IN_BOTH(o.dynatemp_range = 1, o.dynatemp_exponent = 3);
    SAME_IN_BOTH(o.top_k = 2);
    SAME_IN_BOTH(o.top_p = 0.3f);
    SAME_IN_BOTH(o.min_p = 0.5f);
    SAME_IN_BOTH(o.typical_p = 0.3f);
    SAME_IN_BOTH(o.top_n_sigma = 0.2f);
    SAME_IN_BOTH(o.xtc_probability = 1, o.xtc_threshold = 0.05f);
    SAME_IN_BOTH(o.repeat_penalty = 1.6f, o.repeat_last_n = 20);
    SAME_IN_BOTH(o.frequency_penalty = 1.5f);
    SAME_IN_BOTH(o.presence_penalty = 2);
    SAME_IN_BOTH(o.dry_multiplier = 4, o.dry_base = 3, o.dry_allowed_length = 1, o.dry_penalty_last_n = -1);
    SAME_IN_BOTH(o.mirostat = 2, o.mirostat_tau = 2, o.mirostat_eta = 0.5f);
#undef SAME_IN_BOTH
    static const powerinfer_logit_bias bias[] = {{261, -std::numeric_limits<float>::infinity()}, {300, 2}};
    EXPECT_TRUE(both(
        [](auto& o) {
            o.logit_bias = bias;
            o.n_logit_bias = 2;
        },
        [](auto& o) { o.logit_bias = {{261, -std::numeric_limits<float>::infinity()}, {300, 2}}; }));
    EXPECT_TRUE(both([](auto& o) { o.order = "temperature"; }, [](auto& o) { o.order = {SamplerKind::temperature}; }));
    // Links that are not in the default chain, and what only matters beside another choice.
    EXPECT_TRUE(both(
        [](auto& o) {
            o.order = "tfs_z;temperature";
            o.tail_free_z = 0.2f;
        },
        [](auto& o) {
            o.order = {SamplerKind::tail_free, SamplerKind::temperature};
            o.tail_free_z = 0.2f;
        }));
    EXPECT_TRUE(both(
        [](auto& o) {
            o.order = "adaptive_p";
            o.adaptive_target = 0.2f;
            o.adaptive_decay = 0.5f;
        },
        [](auto& o) {
            o.order = {SamplerKind::adaptive_p};
            o.adaptive_target = 0.2f;
            o.adaptive_decay = 0.5f;
        }));
    static const char* const breakers[] = {" the"};
    EXPECT_TRUE(both(
        [](auto& o) {
            o.dry_multiplier = 4;
            o.dry_allowed_length = 1;
            o.dry_sequence_breakers = breakers;
            o.n_dry_sequence_breakers = 1;
        },
        [](auto& o) {
            o.dry_multiplier = 4;
            o.dry_allowed_length = 1;
            o.dry_sequence_breakers = {" the"};
        }));
    static const powerinfer_logit_bias end[] = {{2, 1000}};
    EXPECT_TRUE(both(
        [](auto& o) {
            o.logit_bias = end;
            o.n_logit_bias = 1;
            o.ignore_eos = 1;
            o.repeat_penalty = 1.8f;
            o.penalize_newline = 0;
        },
        [](auto& o) {
            o.logit_bias = {{2, 1000}};
            o.ignore_eos = true;
            o.repeat_penalty = 1.8f;
            o.penalize_newline = false;
        }));
}

TEST_F(CApi, OlderAndNewerCallersGetTheirPartOfADefault) {
    struct {
        powerinfer_session_options options;
        uint64_t later_field, guard;
    } newer;
    std::memset(&newer, 0xA5, sizeof newer);
    powerinfer_session_options_default(&newer.options, sizeof newer.options + 8);
    EXPECT_EQ(newer.options.n_batch, 512);
    EXPECT_EQ(newer.later_field, 0u);
    EXPECT_EQ(newer.guard, 0xA5A5A5A5A5A5A5A5u);
    std::memset(&newer, 0xA5, sizeof newer);
    powerinfer_session_options_default(&newer.options, offsetof(powerinfer_session_options, n_batch));
    EXPECT_EQ(newer.options.n_seq, 1);
    EXPECT_EQ(static_cast<uint32_t>(newer.options.n_batch), 0xA5A5A5A5u);
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
