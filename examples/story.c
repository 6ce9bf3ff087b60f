/* Continues a text with the most likely words: story_c MODEL [PROMPT] */
#include <powerinfer/powerinfer_c.h>
#include <stdio.h>

static int print_text(const char* text, size_t n_bytes, void* user_data) {
    fwrite(text, 1, n_bytes, (FILE*)user_data);
    fflush((FILE*)user_data);
    return 1; /* 0 would end the story */
}

int main(int argc, char** argv) {
    const char* prompt = argc > 2 ? argv[2] : "Once upon a time there was a king who had";
    powerinfer_error error = {POWERINFER_OK, ""};
    powerinfer_model* model = NULL;
    powerinfer_session* session = NULL;
    powerinfer_sampler_options sampling;
    powerinfer_generate_options options;
    if (argc < 2) {
        fprintf(stderr, "usage: story_c MODEL [PROMPT]\n");
        return 2;
    }

    powerinfer_sampler_options_default(&sampling, sizeof sampling);
    sampling.temperature = 0; /* always the most likely token */
    powerinfer_generate_options_default(&options, sizeof options);
    options.n_predict = 64;
    options.sampling = &sampling;
    options.callback = print_text;
    options.callback_user_data = stdout;

    if (powerinfer_model_load(argv[1], NULL, &model, &error) == POWERINFER_OK &&
        powerinfer_session_new(model, NULL, &session, &error) == POWERINFER_OK) {
        fputs(prompt, stdout);
        powerinfer_session_generate(session, prompt, &options, NULL, &error);
        fputc('\n', stdout);
        fprintf(stderr, "%d %% of the neurons were computed\n", (int)(100 * powerinfer_session_active_share(session, -1)));
    }
    if (error.status != POWERINFER_OK) fprintf(stderr, "error: %s\n", error.message);
    powerinfer_session_free(&session);
    powerinfer_model_free(&model);
    return error.status == POWERINFER_OK ? 0 : 1;
}
