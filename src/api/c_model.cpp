#include <vector>

#include "api/c_support.h"
#include "base/cpu_info.h"

using namespace powerinfer;
using namespace powerinfer::api;

extern "C" {

const char* powerinfer_isa(size_t i) {
    try {
        static const std::vector<std::string> isas = capabilities().isas;
        return i < isas.size() ? isas[i].c_str() : nullptr;
    } catch (...) {
        return nullptr;
    }
}

int32_t powerinfer_n_cores(void) {
    try {
        return read_cpu_info().n_physical;
    } catch (...) {
        return 1;
    }
}

void powerinfer_model_options_default(powerinfer_model_options* options, size_t struct_size) {
    write_default(powerinfer_model_options{}, options, struct_size);
}

powerinfer_status powerinfer_model_load(const char* path, const powerinfer_model_options* options,
                                        powerinfer_model** model, powerinfer_error* error) {
    return guarded(error, [&] {
        need(path, "path");
        need(model, "model");
        ModelOptions with;
        if (options) {
            check_struct(*options, "powerinfer_model_options");
            with.activation = text_or(options->activation, "");
            if (options->has_threshold) with.threshold = options->threshold;
            with.log = log_sink(options->log, options->log_user_data);
            with.progress = progress(options->progress, options->progress_user_data);
        }
        Model loaded = Model::load(path, with);
        std::string activation = loaded.activation();
        std::vector<std::string> keys = loaded.metadata_keys();
        *model = new powerinfer_model{std::move(loaded), std::move(activation), std::move(keys)};
    });
}

void powerinfer_model_free(powerinfer_model** model) {
    if (model) delete std::exchange(*model, nullptr);
}

const char* powerinfer_model_architecture(const powerinfer_model* m) { return m ? m->model.architecture().c_str() : ""; }
const char* powerinfer_model_name(const powerinfer_model* m) { return m ? m->model.name().c_str() : ""; }
const char* powerinfer_model_activation(const powerinfer_model* m) { return m ? m->activation.c_str() : ""; }
const char* powerinfer_model_chat_template(const powerinfer_model* m) {
    return m && m->model.has_vocabulary() ? m->model.chat_template().c_str() : "";
}
int32_t powerinfer_model_n_vocab(const powerinfer_model* m) { return m ? m->model.n_vocab() : 0; }
int32_t powerinfer_model_n_embd(const powerinfer_model* m) { return m ? m->model.n_embd() : 0; }
int32_t powerinfer_model_n_layer(const powerinfer_model* m) { return m ? m->model.n_layer() : 0; }
int32_t powerinfer_model_n_ff(const powerinfer_model* m) { return m ? m->model.n_ff() : 0; }
int32_t powerinfer_model_n_ctx_train(const powerinfer_model* m) { return m ? m->model.n_ctx_train() : 0; }
uint64_t powerinfer_model_n_bytes(const powerinfer_model* m) { return m ? m->model.n_bytes() : 0; }
int32_t powerinfer_model_has_predictors(const powerinfer_model* m) { return m && m->model.has_predictors(); }
float powerinfer_model_threshold(const powerinfer_model* m) { return m ? m->model.threshold() : 0; }
int32_t powerinfer_model_has_vocabulary(const powerinfer_model* m) { return m && m->model.has_vocabulary(); }
int32_t powerinfer_model_bos(const powerinfer_model* m) {
    return m && m->model.has_vocabulary() ? m->model.bos() : kNoToken;
}
int32_t powerinfer_model_eos(const powerinfer_model* m) {
    return m && m->model.has_vocabulary() ? m->model.eos() : kNoToken;
}
int32_t powerinfer_model_is_end_of_generation(const powerinfer_model* m, int32_t token) {
    return m && m->model.has_vocabulary() && m->model.is_end_of_generation(token);
}

size_t powerinfer_model_n_metadata(const powerinfer_model* m) { return m ? m->keys.size() : 0; }
const char* powerinfer_model_metadata_key(const powerinfer_model* m, size_t i) {
    return m && i < m->keys.size() ? m->keys[i].c_str() : nullptr;
}

powerinfer_status powerinfer_model_metadata(const powerinfer_model* model, const char* key, char* buffer,
                                            size_t capacity, size_t* length, powerinfer_error* error) {
    return guarded(error, [&] {
        const std::optional<std::string> value = need(model, "model").model.metadata(&need(key, "key"));
        if (!value) fail(ErrorKind::bad_argument, "The model file has no key '{}'.", key);
        copy_out(value->data(), value->size(), 1, buffer, capacity, length);
    });
}

powerinfer_status powerinfer_tokenize(const powerinfer_model* model, const char* text, size_t n_bytes,
                                      int32_t add_special, int32_t parse_special, int32_t* tokens, size_t capacity,
                                      size_t* length, powerinfer_error* error) {
    return guarded(error, [&] {
        const Model& m = need(model, "model").model;
        const std::vector<Token> ids =
            m.tokenize({n_bytes > 0 ? &need(text, "text") : "", n_bytes}, add_special != 0, parse_special != 0);
        copy_out(ids.data(), ids.size(), 0, tokens, capacity, length);
    });
}

powerinfer_status powerinfer_detokenize(const powerinfer_model* model, const int32_t* tokens, size_t n_tokens,
                                        int32_t show_special, char* buffer, size_t capacity, size_t* length,
                                        powerinfer_error* error) {
    return guarded(error, [&] {
        const Model& m = need(model, "model").model;
        if (n_tokens > 0) need(tokens, "tokens");
        const std::string text = m.detokenize({tokens, tokens + n_tokens}, show_special != 0);
        copy_out(text.data(), text.size(), 1, buffer, capacity, length);
    });
}

powerinfer_status powerinfer_apply_chat_template(const powerinfer_model* model, const char* const* roles,
                                                 const char* const* contents, size_t n_messages,
                                                 int32_t add_generation_prompt, const char* wanted, char* buffer,
                                                 size_t capacity, size_t* length, powerinfer_error* error) {
    return guarded(error, [&] {
        const Model& m = need(model, "model").model;
        if (n_messages > 0) need(roles, "roles"), need(contents, "contents");
        std::vector<ChatMessage> messages;
        for (size_t i = 0; i < n_messages; ++i)
            messages.push_back({&need(roles[i], "roles[]"), &need(contents[i], "contents[]")});
        const std::string text = m.apply_chat_template(messages, add_generation_prompt != 0, text_or(wanted, ""));
        copy_out(text.data(), text.size(), 1, buffer, capacity, length);
    });
}

}  // extern "C"
