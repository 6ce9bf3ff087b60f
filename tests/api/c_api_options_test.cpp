// Options of the C API: defaults, every field of the sampling, callers built with other versions.
#include "api/c_api.h"

#include <limits>

namespace powerinfer::test {
namespace {

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

}  // namespace
}  // namespace powerinfer::test
