#include "api/c_support.h"

using namespace powerinfer;
using namespace powerinfer::api;

namespace {

static_assert(static_cast<int>(FinishReason::end_of_generation) == POWERINFER_FINISH_END_OF_GENERATION);
static_assert(static_cast<int>(FinishReason::stop_string) == POWERINFER_FINISH_STOP_STRING);
static_assert(static_cast<int>(FinishReason::length) == POWERINFER_FINISH_LENGTH);
static_assert(static_cast<int>(FinishReason::context_full) == POWERINFER_FINISH_CONTEXT_FULL);
static_assert(static_cast<int>(FinishReason::cancelled) == POWERINFER_FINISH_CANCELLED);

SessionOptions session_options(const powerinfer_session_options* given) {
    SessionOptions o;
    if (!given) return o;
    check_struct(*given, "powerinfer_session_options");
    o.n_ctx = given->n_ctx;
    o.n_seq = given->n_seq;
    o.n_batch = given->n_batch;
    o.n_threads = given->n_threads;
    o.n_threads_batch = given->n_threads_batch;
    o.sparsity = text_or(given->sparsity, o.sparsity);
    o.kv_type = text_or(given->kv_type, o.kv_type);
    o.repack = given->repack != 0;
    o.isa = text_or(given->isa, o.isa);
    o.log = log_sink(given->log, given->log_user_data);
    o.progress = progress(given->progress, given->progress_user_data);
    return o;
}

/// What a generation is asked for, and by whom it is heard.
struct Request {
    GenerateOptions options;
    TextCallback callback;
};

Request request(const powerinfer_generate_options* given) {
    Request r;
    if (!given) return r;
    check_struct(*given, "powerinfer_generate_options");
    r.options.n_predict = given->n_predict;
    if (given->n_stop > 0) need(given->stop, "stop");
    for (size_t i = 0; i < given->n_stop; ++i) r.options.stop.emplace_back(&need(given->stop[i], "stop[]"));
    r.options.context_shift = given->context_shift != 0;
    r.options.n_keep = given->n_keep;
    r.options.show_special = given->show_special != 0;
    r.options.seq = given->sequence;
    r.options.sampling = sampler_options(given->sampling);
    if (given->callback)
        r.callback = [callback = given->callback, user_data = given->callback_user_data](std::string_view text) {
            const std::string copy(text);
            return call_user("text", [&] { return callback(copy.c_str(), copy.size(), user_data) != 0; });
        };
    return r;
}

template <class Prompt>
powerinfer_status run_generation(powerinfer_session* session, const Prompt& prompt, const powerinfer_generate_options* options,
                           powerinfer_finish_reason* reason, powerinfer_error* error) {
    return guarded(error, [&] {
        powerinfer_session& s = need(session, "session");
        const auto text = prompt();
        const Request r = request(options);
        Generation made = s.session.generate(text, r.options, r.callback);
        s.last = std::move(made);
        if (reason) *reason = static_cast<powerinfer_finish_reason>(s.last.reason);
    });
}

}  // namespace

extern "C" {

void powerinfer_session_options_default(powerinfer_session_options* options, size_t struct_size) {
    powerinfer_session_options c = {};
    c.n_seq = 1;
    c.n_batch = 512;
    c.repack = 1;
    write_default(c, options, struct_size);
}

powerinfer_status powerinfer_session_new(const powerinfer_model* model, const powerinfer_session_options* options,
                                         powerinfer_session** session, powerinfer_error* error) {
    return guarded(error, [&] {
        need(session, "session");
        Session made(need(model, "model").model, session_options(options));
        std::string isa = made.isa(), sparsity = made.sparsity(), plan = made.plan();
        *session = new powerinfer_session{std::move(made), std::move(isa), std::move(sparsity), std::move(plan), {}};
    });
}

void powerinfer_session_free(powerinfer_session** session) {
    if (session) delete std::exchange(*session, nullptr);
}

int32_t powerinfer_session_n_ctx(const powerinfer_session* s) { return s ? s->session.n_ctx() : 0; }
int32_t powerinfer_session_n_seq(const powerinfer_session* s) { return s ? s->session.n_seq() : 0; }
int32_t powerinfer_session_n_threads(const powerinfer_session* s) { return s ? s->session.n_threads() : 0; }
int32_t powerinfer_session_n_threads_batch(const powerinfer_session* s) {
    return s ? s->session.n_threads_batch() : 0;
}
const char* powerinfer_session_isa(const powerinfer_session* s) { return s ? s->isa.c_str() : ""; }
const char* powerinfer_session_sparsity(const powerinfer_session* s) { return s ? s->sparsity.c_str() : ""; }
const char* powerinfer_session_plan(const powerinfer_session* s) { return s ? s->plan.c_str() : ""; }

powerinfer_status powerinfer_session_step(powerinfer_session* session, const int32_t* tokens, const int32_t* sequences,
                                          const int8_t* want_logits, size_t n_tokens, powerinfer_error* error) {
    return guarded(error, [&] {
        powerinfer_session& s = need(session, "session");
        if (n_tokens > 0) need(tokens, "tokens");
        std::vector<StepToken> batch(n_tokens);
        for (size_t i = 0; i < n_tokens; ++i)
            batch[i] = {tokens[i], sequences ? sequences[i] : 0,
                        want_logits ? want_logits[i] != 0 : i + 1 == n_tokens};
        s.session.step(batch);
    });
}

const float* powerinfer_session_logits(const powerinfer_session* s, size_t i) {
    return s && i < s->session.n_logits() ? s->session.logits(i).data() : nullptr;
}
size_t powerinfer_session_n_logits(const powerinfer_session* s) { return s ? s->session.n_logits() : 0; }
uint64_t powerinfer_session_logits_hash(const powerinfer_session* s) { return s ? s->session.logits_hash() : 0; }

int32_t powerinfer_session_n_past(const powerinfer_session* s, int32_t sequence) {
    if (!s || sequence < 0 || sequence >= s->session.n_seq()) return -1;
    return static_cast<int32_t>(s->session.tokens(sequence).size());
}

powerinfer_status powerinfer_session_truncate(powerinfer_session* session, int32_t sequence, int32_t n,
                                              powerinfer_error* error) {
    return guarded(error, [&] { need(session, "session").session.truncate(sequence, n); });
}

powerinfer_status powerinfer_session_shift(powerinfer_session* session, int32_t sequence, int32_t n_keep,
                                           int32_t n_discard, powerinfer_error* error) {
    return guarded(error, [&] { need(session, "session").session.shift(sequence, n_keep, n_discard); });
}

powerinfer_status powerinfer_session_copy(powerinfer_session* session, int32_t from, int32_t to, int32_t n,
                                          powerinfer_error* error) {
    return guarded(error, [&] { need(session, "session").session.copy(from, to, n); });
}

void powerinfer_generate_options_default(powerinfer_generate_options* options, size_t struct_size) {
    powerinfer_generate_options c = {};
    c.n_predict = -1;
    write_default(c, options, struct_size);
}

powerinfer_status powerinfer_session_generate(powerinfer_session* session, const char* prompt,
                                              const powerinfer_generate_options* options,
                                              powerinfer_finish_reason* reason, powerinfer_error* error) {
    return run_generation(session, [&] { return std::string_view(&need(prompt, "prompt")); }, options, reason, error);
}

powerinfer_status powerinfer_session_generate_tokens(powerinfer_session* session, const int32_t* prompt,
                                                     size_t n_prompt, const powerinfer_generate_options* options,
                                                     powerinfer_finish_reason* reason, powerinfer_error* error) {
    return run_generation(
        session,
        [&] {
            if (n_prompt > 0) need(prompt, "prompt");
            return std::vector<Token>(prompt, prompt + n_prompt);
        },
        options, reason, error);
}

const char* powerinfer_session_text(const powerinfer_session* s, size_t* n_bytes) {
    if (n_bytes) *n_bytes = s ? s->last.text.size() : 0;
    return s ? s->last.text.c_str() : "";
}

const int32_t* powerinfer_session_generated(const powerinfer_session* s, size_t* n_tokens) {
    if (n_tokens) *n_tokens = s ? s->last.tokens.size() : 0;
    return s ? s->last.tokens.data() : nullptr;
}

void powerinfer_session_request_stop(powerinfer_session* session) {
    if (session) session->session.request_stop();
}
void powerinfer_session_clear_stop(powerinfer_session* session) {
    if (session) session->session.clear_stop();
}

double powerinfer_session_active_share(const powerinfer_session* s, int32_t layer) {
    if (!s) return 0;
    if (layer == -1) return s->session.active_share();
    return layer >= 0 && layer < s->session.model().n_layer() ? s->session.active_share(layer) : -1;
}

powerinfer_status powerinfer_session_timings(const powerinfer_session* session, powerinfer_timings* timings,
                                             powerinfer_error* error) {
    return guarded(error, [&] {
        check_struct(need(timings, "timings"), "powerinfer_timings");
        const Timings t = need(session, "session").session.timings();
        *timings = {timings->struct_size, t.prompt_seconds, t.n_prompt,     t.decode_seconds, t.n_decode,
                    t.sample_seconds,     t.n_sample,       t.weight_bytes};
    });
}

powerinfer_status powerinfer_session_reset_counters(powerinfer_session* session, powerinfer_error* error) {
    return guarded(error, [&] { need(session, "session").session.reset_counters(); });
}

}  // extern "C"
