#include <cmath>
#include <numbers>

#include "base/error.h"
#include "convert/family.h"

namespace powerinfer::convert {
namespace {

using formats::GgufValue;

/// The divisor of each frequency as Llama 3.1 describes it: 1 for wavelengths well inside the original
/// context, the factor for those well beyond, a smooth passage between.
std::vector<float> llama3_divisors(const HfRope& rope, int64_t n_dims) {
    const auto n_ctx = static_cast<double>(rope.n_ctx_original.value());
    std::vector<float> divisors;
    for (int64_t i = 0; i < n_dims / 2; ++i) {
        const double frequency =
            std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(n_dims));
        const double turns = n_ctx * frequency / (2 * std::numbers::pi);  // over the original context
        double divisor = 1.0;
        if (turns < rope.low_freq_factor) {
            divisor = rope.factor;
        } else if (turns <= rope.high_freq_factor) {
            const double smooth =
                (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
            divisor = 1.0 / ((1.0 - smooth) / rope.factor + smooth);
        }
        divisors.push_back(static_cast<float>(divisor));
    }
    return divisors;
}

/// 0.1 * m * ln(factor) + 1: how much YaRN scales the rotated vectors.
double yarn_magnitude(double factor, double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
}

void set_yarn_keys(Blueprint& b, const HfRope& rope, int64_t n_ctx, const std::string& path) {
    if (!rope.truncate)
        fail(ErrorKind::unsupported,
             "'{}' wants YaRN with 'truncate' false, which the file format cannot say", path);
    const auto f32 = [](double v) { return GgufValue::of_f32(static_cast<float>(v)); };
    b.set("rope.scaling.type", GgufValue::of_string("yarn"));
    b.set("rope.scaling.factor", f32(rope.factor));
    b.set("rope.scaling.original_context_length",
          GgufValue::of_u32(static_cast<uint32_t>(rope.n_ctx_original.value_or(n_ctx))));
    double magnitude = yarn_magnitude(rope.factor, 1.0);
    if (rope.attention_factor)
        magnitude = *rope.attention_factor;
    else if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0)
        magnitude =
            yarn_magnitude(rope.factor, *rope.mscale) / yarn_magnitude(rope.factor, *rope.mscale_all_dim);
    // The key multiplies the usual magnitude, the config states the whole of it.
    const double relative = magnitude / yarn_magnitude(rope.factor, 1.0);
    if (relative != 1.0) b.set("rope.scaling.attn_factor", f32(relative));
    if (rope.beta_fast.value_or(0) != 0) b.set("rope.scaling.yarn_beta_fast", f32(*rope.beta_fast));
    if (rope.beta_slow.value_or(0) != 0) b.set("rope.scaling.yarn_beta_slow", f32(*rope.beta_slow));
}

}  // namespace

std::vector<float> set_rope_keys(Blueprint& b, const HfConfig& config, int64_t n_dims, int64_t n_ctx,
                                 const LogSink& sink) {
    const HfRope rope = read_rope(config);
    if (!rope.theta_is_given)
        log(sink, LogLevel::info, "'{}' has no 'rope_theta'; {} is what such configs mean", config.path(),
            rope.theta);
    b.set("rope.dimension_count", GgufValue::of_u32(static_cast<uint32_t>(n_dims)));
    b.set("rope.freq_base", GgufValue::of_f32(static_cast<float>(rope.theta)));
    if (rope.type == "default" || rope.type == "none") return {};
    if (rope.type == "llama3") {
        if (!(rope.low_freq_factor > 0 && rope.high_freq_factor > rope.low_freq_factor))
            fail(ErrorKind::bad_file,
                 "'{}' has the llama3 frequency factors {} and {}; the high one must be larger",
                 config.path(), rope.low_freq_factor, rope.high_freq_factor);
        return llama3_divisors(rope, n_dims);
    }
    if (rope.type == "linear") {
        b.set("rope.scaling.type", GgufValue::of_string("linear"));
        b.set("rope.scaling.factor", GgufValue::of_f32(static_cast<float>(rope.factor)));
    } else if (rope.type == "yarn") {
        set_yarn_keys(b, rope, n_ctx, config.path());
    } else if (rope.type == "dynamic") {
        // It changes nothing for as long as a text fits the length the model was trained for.
        log(sink, LogLevel::warning, "dynamic RoPE scaling is left out: it only acts beyond {} positions",
            n_ctx);
    } else {
        fail(ErrorKind::unsupported,
             "'{}' wants RoPE scaling '{}'; default, linear, llama3, yarn and dynamic can be "
             "converted",
             config.path(), rope.type);
    }
    return {};
}

}  // namespace powerinfer::convert
