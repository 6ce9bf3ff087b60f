/* A user of the C header in strict C99. */
#include "c99_user.h"

#include <powerinfer/powerinfer_c.h>
#include <string.h>

#define CHECK(condition) \
    if (!(condition)) return __LINE__

int c99_story(const char* path, const char* prompt, int n, char* text, unsigned long capacity) {
    powerinfer_error error;
    powerinfer_model* model = NULL;
    powerinfer_session* session = NULL;
    powerinfer_sampler* sampler = NULL;
    powerinfer_session_options options;
    powerinfer_sampler_options sampling;
    powerinfer_timings timings;
    int32_t tokens[64], made[64];
    size_t n_tokens = 0, length = 0;
    int i;

    powerinfer_session_options_default(&options, sizeof options);
    options.n_ctx = 128;
    options.sparsity = "exact";
    powerinfer_sampler_options_default(&sampling, sizeof sampling);
    sampling.temperature = 0;
    CHECK(powerinfer_model_load(path, NULL, &model, &error) == POWERINFER_OK);
    CHECK(error.status == POWERINFER_OK && error.message[0] == '\0');
    CHECK(powerinfer_session_new(model, &options, &session, &error) == POWERINFER_OK);
    CHECK(powerinfer_sampler_new(session, &sampling, &sampler, &error) == POWERINFER_OK);
    CHECK(powerinfer_tokenize(model, prompt, strlen(prompt), 1, 0, tokens, 64, &n_tokens, &error) == POWERINFER_OK);
    CHECK(powerinfer_session_step(session, tokens, NULL, NULL, n_tokens, &error) == POWERINFER_OK);
    for (i = 0; i < n && i < 64; ++i) {
        const float* logits = powerinfer_session_logits(session, 0);
        CHECK(powerinfer_sampler_sample(sampler, logits, (size_t)powerinfer_model_n_vocab(model), &made[i], &error) ==
              POWERINFER_OK);
        CHECK(powerinfer_sampler_accept(sampler, made[i], &error) == POWERINFER_OK);
        CHECK(powerinfer_session_step(session, &made[i], NULL, NULL, 1, &error) == POWERINFER_OK);
    }
    CHECK(powerinfer_session_n_past(session, 0) == (int32_t)n_tokens + n);
    timings.struct_size = sizeof timings;
    CHECK(powerinfer_session_timings(session, &timings, &error) == POWERINFER_OK);
    CHECK(timings.n_decode == n && timings.n_prompt == (int64_t)n_tokens);
    CHECK(powerinfer_detokenize(model, made, (size_t)n, 0, text, capacity, &length, &error) == POWERINFER_OK);
    CHECK(strlen(text) == length);
    powerinfer_sampler_free(&sampler);
    powerinfer_session_free(&session);
    powerinfer_model_free(&model);
    CHECK(!model && !session && !sampler);
    powerinfer_sampler_free(&sampler);
    powerinfer_session_free(&session);
    powerinfer_model_free(&model);
    return 0;
}

int c99_without_model(void) {
    CHECK(strcmp(powerinfer_version(), POWERINFER_VERSION) == 0);
    CHECK(powerinfer_isa(0) != NULL);
    CHECK(powerinfer_isa(100) == NULL);
    CHECK(powerinfer_n_cores() >= 1);
    powerinfer_model_free(NULL);
    powerinfer_session_free(NULL);
    powerinfer_sampler_free(NULL);
    return 0;
}
