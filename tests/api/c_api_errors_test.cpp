// The C API where something is wrong: every kind of error, null everywhere, freeing twice.
#include "api/c_api.h"

#include <cmath>
#include <fstream>
#include <limits>

#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::test {
namespace {

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

}  // namespace
}  // namespace powerinfer::test
