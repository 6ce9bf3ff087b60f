/* The library for C99 and for everything that can call C: what powerinfer.h offers to C++.

     powerinfer_error error;
     powerinfer_model* model = NULL;
     if (powerinfer_model_load("model.gguf", NULL, &model, &error) != POWERINFER_OK)
         fprintf(stderr, "%s\n", error.message);

   Errors are values. Each call that can fail returns a status and, where `error` is not NULL, writes status and one full
   sentence into the caller's own powerinfer_error (status POWERINFER_OK and an empty sentence when all went well). There
   is no state outside these objects, no environment variable is read, nothing is printed, and no call ends the process.
   NULL for an object or a required pointer is POWERINFER_BAD_ARGUMENT; for the plain queries, which have no status,
   it gives 0, -1, "" or NULL. When a call fails, what it would have given back is left as it was (but see `length`).

   Options are structs with defaults: fill them with the powerinfer_..._default() function, then change what you want.
   `struct_size` says how much of a struct the caller knows, so that later versions can add fields at the end. NULL for
   options means the defaults.

   Texts and tokens that are copied out (char* buffer, size_t capacity, size_t* length): `length` receives the full
   length without the closing zero, and the copy happens if there is room for all of it (for texts, with the zero). A
   buffer that is too small is POWERINFER_BAD_ARGUMENT; NULL with capacity 0 only asks for the length.

   Threads: a model may be used by several threads at once; a session by one at a time (while one steps or generates,
   another that steps, generates or changes it is refused with POWERINFER_BAD_ARGUMENT), and so a sampler;
   powerinfer_session_request_stop() may be called by any.

   Callbacks are called on the thread of the call that they were given to. A C++ exception that leaves one is caught:
   the call then gives POWERINFER_CALLBACK_FAILED. longjmp() out of a callback is not allowed, as it would jump over
   C++ objects; return 0 and jump afterwards, or make the loop yourself with step and sample. */
#ifndef POWERINFER_POWERINFER_C_H
#define POWERINFER_POWERINFER_C_H

#include <powerinfer/export.h>
#include <powerinfer/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum powerinfer_status {
    POWERINFER_OK = 0,
    POWERINFER_BAD_ARGUMENT = 1,    /* an argument has an impossible value */
    POWERINFER_BAD_FILE = 2,        /* a file is damaged, truncated or not what it claims to be */
    POWERINFER_UNSUPPORTED = 3,     /* well formed, but something this engine does not do */
    POWERINFER_IO = 4,              /* the operating system refused: missing, unreadable */
    POWERINFER_OUT_OF_MEMORY = 5,   /* the request does not fit the memory or the context that is there */
    POWERINFER_CANCELLED = 6,       /* a progress callback asked to stop */
    POWERINFER_INTERNAL = 7,        /* a result that cannot be right, such as NaN logits */
    POWERINFER_CALLBACK_FAILED = 8  /* an exception left a callback */
} powerinfer_status;

typedef struct powerinfer_error {
    powerinfer_status status;
    char message[1024]; /* one sentence in UTF-8, shortened where it does not fit */
} powerinfer_error;

typedef struct powerinfer_model powerinfer_model;
typedef struct powerinfer_session powerinfer_session;
typedef struct powerinfer_sampler powerinfer_sampler;

typedef enum powerinfer_log_level {
    POWERINFER_LOG_DEBUG = 0,
    POWERINFER_LOG_INFO = 1,
    POWERINFER_LOG_WARNING = 2
} powerinfer_log_level;

/* A whole line without its newline. */
typedef void (*powerinfer_log_callback)(powerinfer_log_level level, const char* line, void* user_data);
/* `share` of the work done, 0 to 1. Return 0 to stop: the call then gives POWERINFER_CANCELLED. */
typedef int (*powerinfer_progress_callback)(double share, const char* what, void* user_data);
/* A new piece of text in whole UTF-8 sequences, as soon as it is certain; a zero follows it. Return 0 to end the
   generation. */
typedef int (*powerinfer_text_callback)(const char* text, size_t n_bytes, void* user_data);

/* ---- what this library can do ---- */

/* Instruction sets that can run on this machine, best first; NULL from the number of them on. */
POWERINFER_API const char* powerinfer_isa(size_t i);
/* Distinct cores that this process may use: the default number of threads. */
POWERINFER_API int32_t powerinfer_n_cores(void);

/* ---- model: weights and vocabulary of one file ---- */

typedef struct powerinfer_model_options {
    size_t struct_size;
    const char* activation; /* "relu", "silu", "relu_squared", "gelu", "drelu"; NULL: what the file says */
    int32_t has_threshold;  /* 1: `threshold` is used instead of the file's */
    float threshold;        /* of the predictors */
    powerinfer_log_callback log; /* these four are used during powerinfer_model_load() only */
    void* log_user_data;
    powerinfer_progress_callback progress;
    void* progress_user_data;
} powerinfer_model_options;

/* Writes the defaults into the first `struct_size` bytes: pass sizeof *options. */
POWERINFER_API void powerinfer_model_options_default(powerinfer_model_options* options, size_t struct_size);

POWERINFER_API powerinfer_status powerinfer_model_load(const char* path, const powerinfer_model_options* options,
                                                       powerinfer_model** model, powerinfer_error* error);
/* Frees the handle and sets it to NULL, so that a second call with the same variable does nothing. Sessions keep what
   they need of a model. */
POWERINFER_API void powerinfer_model_free(powerinfer_model** model);

/* Texts belong to the model. */
POWERINFER_API const char* powerinfer_model_architecture(const powerinfer_model* model);
POWERINFER_API const char* powerinfer_model_name(const powerinfer_model* model);
POWERINFER_API const char* powerinfer_model_activation(const powerinfer_model* model);
POWERINFER_API const char* powerinfer_model_chat_template(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_n_vocab(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_n_embd(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_n_layer(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_n_ff(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_n_ctx_train(const powerinfer_model* model);
POWERINFER_API uint64_t powerinfer_model_n_bytes(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_has_predictors(const powerinfer_model* model);
POWERINFER_API float powerinfer_model_threshold(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_has_vocabulary(const powerinfer_model* model);
/* -1 where there is none. */
POWERINFER_API int32_t powerinfer_model_bos(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_eos(const powerinfer_model* model);
POWERINFER_API int32_t powerinfer_model_is_end_of_generation(const powerinfer_model* model, int32_t token);

POWERINFER_API size_t powerinfer_model_n_metadata(const powerinfer_model* model);
/* The i-th key in the order of the file, or NULL. */
POWERINFER_API const char* powerinfer_model_metadata_key(const powerinfer_model* model, size_t i);
/* A value as text; arrays as "[1, 2]". POWERINFER_BAD_ARGUMENT for a key that the file does not have. */
POWERINFER_API powerinfer_status powerinfer_model_metadata(const powerinfer_model* model, const char* key, char* buffer,
                                                           size_t capacity, size_t* length, powerinfer_error* error);

/* n_bytes of text (any bytes). add_special: BOS and EOS as the vocabulary wants them; parse_special: recognise control
   tokens in the text. */
POWERINFER_API powerinfer_status powerinfer_tokenize(const powerinfer_model* model, const char* text, size_t n_bytes,
                                                     int32_t add_special, int32_t parse_special, int32_t* tokens,
                                                     size_t capacity, size_t* length, powerinfer_error* error);
POWERINFER_API powerinfer_status powerinfer_detokenize(const powerinfer_model* model, const int32_t* tokens,
                                                       size_t n_tokens, int32_t show_special, char* buffer,
                                                       size_t capacity, size_t* length, powerinfer_error* error);

/* The text of a conversation as the model was trained on it, ready for powerinfer_session_generate(): message i has
   roles[i] ("system", "user", "assistant") and contents[i]. `wanted` is NULL for the file's template, the name of a
   known one ("chatml") or a template. */
POWERINFER_API powerinfer_status powerinfer_apply_chat_template(const powerinfer_model* model, const char* const* roles,
                                                                const char* const* contents, size_t n_messages,
                                                                int32_t add_generation_prompt, const char* wanted,
                                                                char* buffer, size_t capacity, size_t* length,
                                                                powerinfer_error* error);

/* ---- sampling ---- */

typedef struct powerinfer_logit_bias {
    int32_t id;
    float bias; /* added to the raw logit; minus infinity forbids the token */
} powerinfer_logit_bias;

/* Names, meanings and defaults are those of SamplerOptions in generation.h. */
typedef struct powerinfer_sampler_options {
    size_t struct_size;
    uint32_t seed; /* 0xFFFFFFFF: ask the operating system for one */
    int32_t min_keep;
    float temperature; /* <= 0: the most likely token */
    float dynatemp_range;
    float dynatemp_exponent;
    int32_t top_k;
    float top_p;
    float min_p;
    float typical_p;
    float tail_free_z;
    float top_n_sigma;
    float xtc_probability;
    float xtc_threshold;
    int32_t repeat_last_n;
    float repeat_penalty;
    float frequency_penalty;
    float presence_penalty;
    int32_t penalize_newline;
    float dry_multiplier;
    float dry_base;
    int32_t dry_allowed_length;
    int32_t dry_penalty_last_n;
    const char* const* dry_sequence_breakers; /* NULL: the default ones */
    size_t n_dry_sequence_breakers;
    int32_t mirostat;
    float mirostat_tau;
    float mirostat_eta;
    float adaptive_target;
    float adaptive_decay;
    const powerinfer_logit_bias* logit_bias;
    size_t n_logit_bias;
    int32_t ignore_eos;
    const char* order; /* "penalties;top_k;temperature"; NULL: the default order; "": no sampler */
} powerinfer_sampler_options;

POWERINFER_API void powerinfer_sampler_options_default(powerinfer_sampler_options* options, size_t struct_size);

/* ---- session: a plan for one model with its KV cache, one or several sequences ---- */

typedef struct powerinfer_session_options {
    size_t struct_size;
    int32_t n_ctx;           /* tokens per sequence; 0: what the model was trained for */
    int32_t n_seq;           /* sequences */
    int32_t n_batch;         /* tokens computed in one pass */
    int32_t n_threads;       /* for single tokens; 0: one per core */
    int32_t n_threads_batch; /* for prompts; 0: n_threads */
    const char* sparsity;    /* "off", "exact", "predict", "auto"; NULL: "auto" */
    const char* kv_type;     /* "f32", "f16", "bf16" or "q8_0"; NULL: "f16" */
    int32_t repack;          /* not 0: weights are copied into the order that is fastest to read, where memory allows */
    const char* isa;         /* one of powerinfer_isa(); NULL: the best */
    powerinfer_log_callback log; /* these four are used during powerinfer_session_new() only */
    void* log_user_data;
    powerinfer_progress_callback progress;
    void* progress_user_data;
} powerinfer_session_options;

POWERINFER_API void powerinfer_session_options_default(powerinfer_session_options* options, size_t struct_size);

POWERINFER_API powerinfer_status powerinfer_session_new(const powerinfer_model* model,
                                                        const powerinfer_session_options* options,
                                                        powerinfer_session** session, powerinfer_error* error);
/* As powerinfer_model_free(). Not while a call on the session runs, so not from its callbacks. */
POWERINFER_API void powerinfer_session_free(powerinfer_session** session);

POWERINFER_API int32_t powerinfer_session_n_ctx(const powerinfer_session* session);
POWERINFER_API int32_t powerinfer_session_n_seq(const powerinfer_session* session);
POWERINFER_API int32_t powerinfer_session_n_threads(const powerinfer_session* session);
POWERINFER_API int32_t powerinfer_session_n_threads_batch(const powerinfer_session* session);
POWERINFER_API const char* powerinfer_session_isa(const powerinfer_session* session);
/* What "auto" became, and one line about the whole plan. */
POWERINFER_API const char* powerinfer_session_sparsity(const powerinfer_session* session);
POWERINFER_API const char* powerinfer_session_plan(const powerinfer_session* session);

/* Appends tokens to their sequences, `sequences` NULL meaning sequence 0 for all, and computes logits where
   `want_logits` is not 0, NULL meaning the last token only. POWERINFER_OUT_OF_MEMORY when a sequence would exceed n_ctx,
   with nothing done. */
POWERINFER_API powerinfer_status powerinfer_session_step(powerinfer_session* session, const int32_t* tokens,
                                                         const int32_t* sequences, const int8_t* want_logits,
                                                         size_t n_tokens, powerinfer_error* error);
/* [n_vocab] of the i-th token of the last step that wanted them, or NULL. Belongs to the session, until its next step. */
POWERINFER_API const float* powerinfer_session_logits(const powerinfer_session* session, size_t i);
POWERINFER_API size_t powerinfer_session_n_logits(const powerinfer_session* session);
/* Fingerprint of the last logits computed; 0 before the first. */
POWERINFER_API uint64_t powerinfer_session_logits_hash(const powerinfer_session* session);

/* Tokens that a sequence holds; -1 for one that does not exist. */
POWERINFER_API int32_t powerinfer_session_n_past(const powerinfer_session* session, int32_t sequence);
/* Forgets everything from position n on. */
POWERINFER_API powerinfer_status powerinfer_session_truncate(powerinfer_session* session, int32_t sequence, int32_t n,
                                                             powerinfer_error* error);
/* Forgets positions [n_keep, n_keep + n_discard) and moves the later ones down. */
POWERINFER_API powerinfer_status powerinfer_session_shift(powerinfer_session* session, int32_t sequence,
                                                          int32_t n_keep, int32_t n_discard, powerinfer_error* error);
/* Makes sequence `to` equal to the first n tokens of `from`. */
POWERINFER_API powerinfer_status powerinfer_session_copy(powerinfer_session* session, int32_t from, int32_t to,
                                                         int32_t n, powerinfer_error* error);

typedef enum powerinfer_finish_reason {
    POWERINFER_FINISH_END_OF_GENERATION = 0, /* the model ended its answer */
    POWERINFER_FINISH_STOP_STRING = 1,
    POWERINFER_FINISH_LENGTH = 2,
    POWERINFER_FINISH_CONTEXT_FULL = 3,
    POWERINFER_FINISH_CANCELLED = 4 /* the callback or powerinfer_session_request_stop() */
} powerinfer_finish_reason;

typedef struct powerinfer_generate_options {
    size_t struct_size;
    int32_t n_predict;       /* tokens to make; -1: no limit; -2: until the context is full */
    const char* const* stop; /* strings that end the text and do not belong to it */
    size_t n_stop;
    int32_t context_shift; /* 1: when the context is full, drop the older half instead of stopping */
    int32_t n_keep;        /* tokens at the start that this never drops; -1: the whole prompt */
    int32_t show_special;  /* 1: control tokens appear in the text */
    int32_t sequence;
    const powerinfer_sampler_options* sampling; /* NULL: the defaults */
    powerinfer_text_callback callback;          /* may be NULL */
    void* callback_user_data;
} powerinfer_generate_options;

POWERINFER_API void powerinfer_generate_options_default(powerinfer_generate_options* options, size_t struct_size);

/* Makes the sequence begin with the prompt (text that ends in a zero, tokenized with its special tokens) and continues
   it. What is said is decided by prompt, options and seed alone; tokens that the sequence already holds are reused where
   they agree. `reason` may be NULL. After a failure the session is still usable. */
POWERINFER_API powerinfer_status powerinfer_session_generate(powerinfer_session* session, const char* prompt,
                                                             const powerinfer_generate_options* options,
                                                             powerinfer_finish_reason* reason, powerinfer_error* error);
POWERINFER_API powerinfer_status powerinfer_session_generate_tokens(powerinfer_session* session, const int32_t* prompt,
                                                                    size_t n_prompt,
                                                                    const powerinfer_generate_options* options,
                                                                    powerinfer_finish_reason* reason,
                                                                    powerinfer_error* error);
/* Text and tokens of the last generation that succeeded; they belong to the session, until its next one. */
POWERINFER_API const char* powerinfer_session_text(const powerinfer_session* session, size_t* n_bytes);
POWERINFER_API const int32_t* powerinfer_session_generated(const powerinfer_session* session, size_t* n_tokens);

/* Ends the generation that runs, or the next one if none does. From any thread, and from a signal handler. */
POWERINFER_API void powerinfer_session_request_stop(powerinfer_session* session);
/* Takes back a request that nothing has followed yet. */
POWERINFER_API void powerinfer_session_clear_stop(powerinfer_session* session);

/* Share of feed-forward neurons whose rows were used: of one layer, or of all for -1. Negative for other layers. */
POWERINFER_API double powerinfer_session_active_share(const powerinfer_session* session, int32_t layer);

typedef struct powerinfer_timings {
    size_t struct_size;    /* set by the caller: sizeof(powerinfer_timings) */
    double prompt_seconds; /* in steps of several tokens */
    int64_t n_prompt;
    double decode_seconds; /* in steps of one token */
    int64_t n_decode;
    double sample_seconds;
    int64_t n_sample;
    uint64_t weight_bytes; /* read at least once, summed over passes */
} powerinfer_timings;

POWERINFER_API powerinfer_status powerinfer_session_timings(const powerinfer_session* session,
                                                            powerinfer_timings* timings, powerinfer_error* error);
POWERINFER_API powerinfer_status powerinfer_session_reset_counters(powerinfer_session* session, powerinfer_error* error);

/* ---- sampler: for loops of one's own ---- */

/* Takes vocabulary and context from the session, which it does not need afterwards. */
POWERINFER_API powerinfer_status powerinfer_sampler_new(const powerinfer_session* session,
                                                        const powerinfer_sampler_options* options,
                                                        powerinfer_sampler** sampler, powerinfer_error* error);
/* As powerinfer_model_free(). */
POWERINFER_API void powerinfer_sampler_free(powerinfer_sampler** sampler);
/* The next token by n logits. Does not remember it: powerinfer_sampler_accept() does. */
POWERINFER_API powerinfer_status powerinfer_sampler_sample(powerinfer_sampler* sampler, const float* logits, size_t n,
                                                           int32_t* token, powerinfer_error* error);
POWERINFER_API powerinfer_status powerinfer_sampler_accept(powerinfer_sampler* sampler, int32_t token,
                                                           powerinfer_error* error);
/* The seed in use: that of the options, or the random one. */
POWERINFER_API uint32_t powerinfer_sampler_seed(const powerinfer_sampler* sampler);

#ifdef __cplusplus
}
#endif

#endif
