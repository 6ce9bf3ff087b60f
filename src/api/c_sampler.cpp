#include "api/c_support.h"
#include "generate/sampler_options.h"

namespace powerinfer::api {

SamplerOptions sampler_options(const powerinfer_sampler_options* given) {
    SamplerOptions o;
    if (!given) return o;
    check_struct(*given, "powerinfer_sampler_options");
    o.seed = given->seed;
    o.min_keep = given->min_keep;
    o.temperature = given->temperature;
    o.dynatemp_range = given->dynatemp_range;
    o.dynatemp_exponent = given->dynatemp_exponent;
    o.top_k = given->top_k;
    o.top_p = given->top_p;
    o.min_p = given->min_p;
    o.typical_p = given->typical_p;
    o.tail_free_z = given->tail_free_z;
    o.top_n_sigma = given->top_n_sigma;
    o.xtc_probability = given->xtc_probability;
    o.xtc_threshold = given->xtc_threshold;
    o.repeat_last_n = given->repeat_last_n;
    o.repeat_penalty = given->repeat_penalty;
    o.frequency_penalty = given->frequency_penalty;
    o.presence_penalty = given->presence_penalty;
    o.penalize_newline = given->penalize_newline != 0;
    o.dry_multiplier = given->dry_multiplier;
    o.dry_base = given->dry_base;
    o.dry_allowed_length = given->dry_allowed_length;
    o.dry_penalty_last_n = given->dry_penalty_last_n;
    if (given->dry_sequence_breakers) {
        o.dry_sequence_breakers.clear();
        for (size_t i = 0; i < given->n_dry_sequence_breakers; ++i)
            o.dry_sequence_breakers.emplace_back(&need(given->dry_sequence_breakers[i], "dry_sequence_breakers[]"));
    }
    o.mirostat = given->mirostat;
    o.mirostat_tau = given->mirostat_tau;
    o.mirostat_eta = given->mirostat_eta;
    o.adaptive_target = given->adaptive_target;
    o.adaptive_decay = given->adaptive_decay;
    if (given->n_logit_bias > 0) need(given->logit_bias, "logit_bias");
    for (size_t i = 0; i < given->n_logit_bias; ++i)
        o.logit_bias.push_back({given->logit_bias[i].id, given->logit_bias[i].bias});
    o.ignore_eos = given->ignore_eos != 0;
    if (given->order) o.order = generate::parse_sampler_names(given->order);
    return o;
}

}  // namespace powerinfer::api

using namespace powerinfer;
using namespace powerinfer::api;

extern "C" {

void powerinfer_sampler_options_default(powerinfer_sampler_options* options, size_t struct_size) {
    powerinfer_sampler_options c = {};
    try {
        const SamplerOptions o;
        c.seed = o.seed;
        c.min_keep = o.min_keep;
        c.temperature = o.temperature;
        c.dynatemp_range = o.dynatemp_range;
        c.dynatemp_exponent = o.dynatemp_exponent;
        c.top_k = o.top_k;
        c.top_p = o.top_p;
        c.min_p = o.min_p;
        c.typical_p = o.typical_p;
        c.tail_free_z = o.tail_free_z;
        c.top_n_sigma = o.top_n_sigma;
        c.xtc_probability = o.xtc_probability;
        c.xtc_threshold = o.xtc_threshold;
        c.repeat_last_n = o.repeat_last_n;
        c.repeat_penalty = o.repeat_penalty;
        c.frequency_penalty = o.frequency_penalty;
        c.presence_penalty = o.presence_penalty;
        c.penalize_newline = o.penalize_newline;
        c.dry_multiplier = o.dry_multiplier;
        c.dry_base = o.dry_base;
        c.dry_allowed_length = o.dry_allowed_length;
        c.dry_penalty_last_n = o.dry_penalty_last_n;
        c.mirostat = o.mirostat;
        c.mirostat_tau = o.mirostat_tau;
        c.mirostat_eta = o.mirostat_eta;
        c.adaptive_target = o.adaptive_target;
        c.adaptive_decay = o.adaptive_decay;
        c.ignore_eos = o.ignore_eos;
    } catch (...) {  // no memory for the lists: struct_size 0 is refused by whoever is given it
        if (options && struct_size >= sizeof options->struct_size) options->struct_size = 0;
        return;
    }
    write_default(c, options, struct_size);
}

powerinfer_status powerinfer_sampler_new(const powerinfer_session* session, const powerinfer_sampler_options* options,
                                         powerinfer_sampler** sampler, powerinfer_error* error) {
    return guarded(error, [&] {
        need(sampler, "sampler");
        *sampler = new powerinfer_sampler{Sampler(need(session, "session").session, sampler_options(options))};
    });
}

void powerinfer_sampler_free(powerinfer_sampler** sampler) {
    if (sampler) delete std::exchange(*sampler, nullptr);
}

powerinfer_status powerinfer_sampler_sample(powerinfer_sampler* sampler, const float* logits, size_t n, int32_t* token,
                                            powerinfer_error* error) {
    return guarded(error, [&] {
        need(token, "token");
        *token = need(sampler, "sampler").sampler.sample(&need(logits, "logits"), n);
    });
}

powerinfer_status powerinfer_sampler_accept(powerinfer_sampler* sampler, int32_t token, powerinfer_error* error) {
    return guarded(error, [&] { need(sampler, "sampler").sampler.accept(token); });
}

uint32_t powerinfer_sampler_seed(const powerinfer_sampler* sampler) { return sampler ? sampler->sampler.seed() : 0; }

}  // extern "C"
