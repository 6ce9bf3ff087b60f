#include "tools/sampling_defaults.h"

#include <cmath>
#include <functional>
#include <string>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

using formats::GgufValue;
using generate::SamplerOptions;

/// Numbers of either kind, as the writers of these keys are not of one mind.
double number_of(const GgufValue& v) {
    if (const auto* d = std::get_if<double>(&v.data)) return *d;
    if (const auto* i = std::get_if<int64_t>(&v.data)) return static_cast<double>(*i);
    if (const auto* u = std::get_if<uint64_t>(&v.data)) return static_cast<double>(*u);
    fail(ErrorKind::bad_file, "it is {}, expected a number", type_text(v));
}

float float_in(const GgufValue& v, double low, double high) {
    const double x = number_of(v);
    if (!(x >= low && x <= high)) fail(ErrorKind::bad_file, "it is {}, expected {:g} to {:g}", x, low, high);
    return static_cast<float>(x);
}

int int_in(const GgufValue& v, double low, double high) {
    const double x = number_of(v);
    if (!(x >= low && x <= high) || x != std::trunc(x))
        fail(ErrorKind::bad_file, "it is {}, expected a whole number from {} to {}", x, low, high);
    return static_cast<int>(x);
}

std::vector<generate::SamplerKind> order_of(const GgufValue& v) {
    const auto* text = std::get_if<std::string>(&v.data);
    if (!text) fail(ErrorKind::bad_file, "it is {}, expected a string", type_text(v));
    return generate::parse_sampler_names(*text);
}

constexpr double kMostTokens = 1 << 30, kLargest = 3e38;

/// A key after "general.sampling.", the options that overrule it, and what it sets.
struct Row {
    const char* key;
    std::vector<std::string> options;
    std::function<void(SamplerOptions&, const GgufValue&)> set;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
        {"sequence", {"--samplers", "--sampler-seq"}, [](SamplerOptions& o, const GgufValue& v) { o.order = order_of(v); }},
        {"top_k", {"--top-k"}, [](SamplerOptions& o, const GgufValue& v) { o.top_k = int_in(v, -kMostTokens, kMostTokens); }},
        {"top_p", {"--top-p"}, [](SamplerOptions& o, const GgufValue& v) { o.top_p = float_in(v, 0, kLargest); }},
        {"min_p", {"--min-p"}, [](SamplerOptions& o, const GgufValue& v) { o.min_p = float_in(v, 0, 1); }},
        {"xtc_probability", {"--xtc-probability"}, [](SamplerOptions& o, const GgufValue& v) { o.xtc_probability = float_in(v, 0, 1); }},
        {"xtc_threshold", {"--xtc-threshold"}, [](SamplerOptions& o, const GgufValue& v) { o.xtc_threshold = float_in(v, 0, 1); }},
        {"temp", {"--temp"}, [](SamplerOptions& o, const GgufValue& v) { o.temperature = float_in(v, -kLargest, kLargest); }},
        {"penalty_last_n", {"--repeat-last-n"}, [](SamplerOptions& o, const GgufValue& v) { o.repeat_last_n = int_in(v, -1, kMostTokens); }},
        {"penalty_repeat", {"--repeat-penalty"}, [](SamplerOptions& o, const GgufValue& v) { o.repeat_penalty = float_in(v, 1e-6, kLargest); }},
        {"mirostat", {"--mirostat"}, [](SamplerOptions& o, const GgufValue& v) { o.mirostat = int_in(v, 0, 2); }},
        {"mirostat_tau", {"--mirostat-ent"}, [](SamplerOptions& o, const GgufValue& v) { o.mirostat_tau = float_in(v, 0, kLargest); }},
        {"mirostat_eta", {"--mirostat-lr"}, [](SamplerOptions& o, const GgufValue& v) { o.mirostat_eta = float_in(v, 0, kLargest); }},
    };
    return all;
}

}  // namespace

SamplerOptions sampling_options(const Arguments& a, const formats::GgufFile& file, const LogSink& log) {
    SamplerOptions o = a.sampling;
    if (a.program->habits == Habits::powerinfer) return o;
    std::string taken;
    for (const Row& row : rows()) {
        const std::string key = std::string("general.sampling.") + row.key;
        const GgufValue* value = file.find(key);
        if (!value) continue;
        bool overruled = false;
        for (const std::string& option : row.options) overruled = overruled || a.given.count(option) > 0;
        if (overruled) continue;
        try {
            row.set(o, *value);
        } catch (const Error& e) {
            fail(ErrorKind::bad_file, "'{}': key '{}': {}", file.path(), key, e.what());
        }
        taken += (taken.empty() ? "" : ", ") + std::string(row.key);
    }
    if (!taken.empty()) powerinfer::log(log, LogLevel::info, "sampling by the model file: {}", taken);
    return o;
}

}  // namespace powerinfer::tools
