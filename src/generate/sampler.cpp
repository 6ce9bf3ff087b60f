#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "generate/sampler_filters.h"

namespace powerinfer::generate {

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

const SamplerOptions& validated(const SamplerOptions& options, int n_vocab) {
    if (n_vocab < 1) fail(ErrorKind::bad_argument, "A sampler needs a vocabulary of at least one token.");
    validate(options, n_vocab);
    return options;
}

/// Never more than the context, so that no option decides how much memory is taken.
int window(int last_n, int n_ctx) {
    return std::max(last_n >= 0 ? std::min(last_n, n_ctx) : n_ctx, 1);
}

uint32_t chosen_seed(uint32_t seed) {
    if (seed != kRandomSeed) return seed;
    std::random_device device;
    uint32_t random = device();
    while (random == kRandomSeed) random = device();
    return random;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options, SamplerVocab vocab)
    : options_(validated(options, vocab.n_vocab)),
      chain_(active_chain(options)),
      bias_(options.logit_bias),
      seed_(chosen_seed(options.seed)),
      candidates_(vocab.n_vocab),
      draw_generator_(seed_),
      xtc_generator_(seed_) {
    const auto forbid = [&](TokenId id) {
        if (id >= 0 && id < vocab.n_vocab) bias_.push_back({id, kForbidden});
    };
    if (options.ignore_eos)
        for (const TokenId id : vocab.end_of_generation) forbid(id);
    for (const TokenId id : vocab.suppressed) forbid(id);
    for (const SamplerKind kind : chain_) {
        if (kind == SamplerKind::penalties)
            penalties_.emplace(vocab.n_vocab, window(options.repeat_last_n, vocab.n_ctx),
                               options.repeat_penalty, options.frequency_penalty, options.presence_penalty,
                               options.penalize_newline ? tokenizer::kNoToken : vocab.newline);
        if (kind == SamplerKind::dry)
            dry_.emplace(window(options.dry_penalty_last_n, vocab.n_ctx), options.dry_multiplier,
                         options.dry_base, options.dry_allowed_length, std::move(vocab.dry_breakers),
                         vocab.n_vocab);
        if (kind == SamplerKind::adaptive_p)
            adaptive_.emplace(options.adaptive_target, options.adaptive_decay);
    }
    if (options.mirostat != 0)
        mirostat_.emplace(options.mirostat, vocab.n_vocab, options.mirostat_tau, options.mirostat_eta);
}

void Sampler::apply(SamplerKind kind) {
    const SamplerOptions& o = options_;
    const auto min_keep = static_cast<size_t>(o.min_keep);
    switch (kind) {
        case SamplerKind::penalties:
            return penalties_->apply(candidates_);
        case SamplerKind::dry:
            return dry_->apply(candidates_);
        case SamplerKind::top_n_sigma:
            return forbid_below_n_sigma(candidates_, o.top_n_sigma);
        case SamplerKind::top_k:
            return keep_top_k(candidates_, std::max(o.top_k, o.min_keep));
        case SamplerKind::typical_p:
            return keep_typical(candidates_, o.typical_p, min_keep);
        case SamplerKind::top_p:
            return keep_top_p(candidates_, o.top_p, min_keep);
        case SamplerKind::min_p:
            return keep_min_p(candidates_, o.min_p, min_keep);
        case SamplerKind::tail_free:
            return keep_tail_free(candidates_, o.tail_free_z, min_keep);
        case SamplerKind::xtc:
            if (candidates_.size() >= 2 && xtc_generator_.next_float() <= o.xtc_probability)
                exclude_top_choices(candidates_, o.xtc_threshold, min_keep);
            return;
        case SamplerKind::temperature:
            if (o.dynatemp_range > 0)
                return apply_dynamic_temperature(candidates_, o.temperature, o.dynatemp_range,
                                                 o.dynatemp_exponent);
            return apply_temperature(candidates_, o.temperature);
        case SamplerKind::adaptive_p:
            return;  // takes the place of the draw
    }
}

size_t Sampler::draw_one() {
    if (mirostat_) return mirostat_->draw(candidates_, draw_generator_);
    if (adaptive_) return adaptive_->draw(candidates_, draw_generator_);
    return draw(candidates_, draw_generator_);
}

TokenId Sampler::sample(std::span<const float> logits) {
    candidates_.reset(logits);
    for (const LogitBias& entry : bias_) {
        float& logit = candidates_.items()[static_cast<size_t>(entry.id)].logit;
        logit = entry.bias == kForbidden ? kForbidden : add_capped(logit, entry.bias);
    }
    for (const SamplerKind kind : chain_) apply(kind);
    return candidates_.items()[draw_one()].id;
}

void Sampler::forget_history() {
    if (penalties_) penalties_->forget();
    if (dry_) dry_->forget();
}

void Sampler::accept(TokenId token) {
    if (penalties_) penalties_->accept(token);
    if (dry_) dry_->accept(token);
}

}  // namespace powerinfer::generate
