// What a user may ask of a generation: every knob of sampling with its default, and the reasons why a text ends.
// Not the sampling itself: see powerinfer.h.
#pragma once

#include <powerinfer/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace powerinfer::generate {

/// The links a chain may consist of. `adaptive_p`, where listed, replaces the final draw.
enum class SamplerKind {
    penalties,
    dry,
    top_n_sigma,
    top_k,
    typical_p,
    top_p,
    min_p,
    xtc,
    temperature,
    adaptive_p,
    tail_free,
};

struct LogitBias {
    int32_t id = 0;
    float bias = 0;  ///< added to the raw logit; minus infinity forbids the token
};

inline constexpr uint32_t kRandomSeed = 0xFFFFFFFF;  ///< -1: ask the operating system for a seed

POWERINFER_API std::vector<SamplerKind> default_sampler_order();

/// Defaults are those of today's llama.cpp programs.
struct SamplerOptions {
    uint32_t seed = kRandomSeed;
    int min_keep = 0;  ///< no filter leaves fewer candidates than this (nor fewer than one)

    float temperature = 0.8f;  ///< <= 0: the most likely token
    float dynatemp_range = 0;  ///< > 0: temperature +- range, chosen by entropy
    float dynatemp_exponent = 1;
    int top_k = 40;          ///< <= 0: off
    float top_p = 0.95f;     ///< >= 1: off
    float min_p = 0.05f;     ///< <= 0: off
    float typical_p = 1;     ///< >= 1: off
    float tail_free_z = 1;   ///< >= 1: off
    float top_n_sigma = -1;  ///< <= 0: off
    float xtc_probability = 0;
    float xtc_threshold = 0.1f;  ///< > 0.5: off

    int repeat_last_n = 64;  ///< window of the penalties; 0: off; -1: the context
    float repeat_penalty = 1;
    float frequency_penalty = 0;
    float presence_penalty = 0;
    bool penalize_newline = true;

    float dry_multiplier = 0;  ///< 0: off
    float dry_base = 1.75f;    ///< < 1: off
    int dry_allowed_length = 2;
    int dry_penalty_last_n = 64;  ///< 0: off; -1: the context
    std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};

    int mirostat = 0;  ///< 0 off, 1 or 2: replaces every truncating sampler; penalties and temperature stay
    float mirostat_tau = 5;
    float mirostat_eta = 0.1f;
    float adaptive_target = -1;  ///< < 0: plain draw
    float adaptive_decay = 0.9f;

    std::vector<LogitBias> logit_bias;  ///< entries for the same token add up
    bool ignore_eos = false;            ///< forbid every token that ends a generation
    std::vector<SamplerKind> order = default_sampler_order();
};

enum class FinishReason {
    end_of_generation,  ///< the model ended its answer
    stop_string,        ///< one of the user's strings came up
    length,             ///< as many tokens as were asked for
    context_full,       ///< no room, and shifting was not asked for
    cancelled,          ///< a callback or request_stop() ended it
};

}  // namespace powerinfer::generate

namespace powerinfer {

using generate::default_sampler_order;
using generate::FinishReason;
using generate::kRandomSeed;
using generate::LogitBias;
using generate::SamplerKind;
using generate::SamplerOptions;

}  // namespace powerinfer
