#include "generate/sampler_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace powerinfer::generate {

namespace {

struct SamplerRow {
    SamplerKind kind;
    std::string_view name;
    char letter;
    std::array<std::string_view, 3> spellings;  // lower case, without '-' and '_'
};

constexpr std::array<SamplerRow, 11> kSamplers = {{
    {SamplerKind::penalties, "penalties", 'e', {"penalties"}},
    {SamplerKind::dry, "dry", 'd', {"dry"}},
    {SamplerKind::top_n_sigma, "top_n_sigma", 's', {"topnsigma"}},
    {SamplerKind::top_k, "top_k", 'k', {"topk"}},
    {SamplerKind::typical_p, "typ_p", 'y', {"typp", "typ", "typicalp"}},
    {SamplerKind::top_p, "top_p", 'p', {"topp", "nucleus"}},
    {SamplerKind::min_p, "min_p", 'm', {"minp"}},
    {SamplerKind::xtc, "xtc", 'x', {"xtc"}},
    {SamplerKind::temperature, "temperature", 't', {"temperature", "temp"}},
    {SamplerKind::adaptive_p, "adaptive_p", 'a', {"adaptivep"}},
    {SamplerKind::tail_free, "tfs_z", 'f', {"tfsz", "tfs", "tailfree"}},
}};

std::string known_names() {
    std::string list;
    for (const SamplerRow& row : kSamplers) {
        if (!list.empty()) list += ", ";
        list += row.name;
    }
    return list;
}

std::string known_letters() {
    std::string list;
    for (const SamplerRow& row : kSamplers) list += row.letter;
    return list;
}

void append_once(std::vector<SamplerKind>& order, SamplerKind kind) {
    if (std::find(order.begin(), order.end(), kind) != order.end())
        fail(ErrorKind::bad_argument, "The sampler order names '{}' twice; each sampler may appear once.",
             name(kind));
    order.push_back(kind);
}

std::string folded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '-' || c == '_' || c == ' ') continue;
        out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

void check(bool good, std::string_view option, double value, std::string_view legal) {
    if (!good)
        fail(ErrorKind::bad_argument, "The sampling option {} is {:g}; it must be {}.", option, value, legal);
}

void check_finite(std::string_view option, float value) {
    check(std::isfinite(value), option, value, "a finite number");
}

void check_share(std::string_view option, float value) {
    check(value >= 0 && value <= 1, option, value, "between 0 and 1");
}

bool is_active(SamplerKind kind, const SamplerOptions& o) {
    switch (kind) {
        case SamplerKind::penalties:
            return o.repeat_last_n != 0 &&
                   (o.repeat_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0);
        case SamplerKind::dry:
            return o.dry_multiplier != 0 && o.dry_base >= 1 && o.dry_penalty_last_n != 0;
        case SamplerKind::top_n_sigma:
            return o.top_n_sigma > 0;
        case SamplerKind::top_k:
            return o.top_k > 0;
        case SamplerKind::typical_p:
            return o.typical_p < 1;
        case SamplerKind::top_p:
            return o.top_p < 1;
        case SamplerKind::min_p:
            return o.min_p > 0;
        case SamplerKind::xtc:
            return o.xtc_probability > 0 && o.xtc_threshold <= 0.5f;
        case SamplerKind::temperature:
            return o.temperature != 1 || o.dynatemp_range > 0;
        case SamplerKind::adaptive_p:
            return true;
        case SamplerKind::tail_free:
            return o.tail_free_z < 1;
    }
    return false;
}

}  // namespace

std::vector<SamplerKind> active_chain(const SamplerOptions& options) {
    std::vector<SamplerKind> chain;
    bool has_temperature = false;
    for (const SamplerKind kind : options.order) {
        if (!is_active(kind, options)) continue;
        const bool kept_by_mirostat =
            kind == SamplerKind::penalties || kind == SamplerKind::dry || kind == SamplerKind::temperature;
        if (options.mirostat != 0 && !kept_by_mirostat) continue;
        has_temperature |= kind == SamplerKind::temperature;
        chain.push_back(kind);
    }
    if (options.mirostat != 0 && !has_temperature && is_active(SamplerKind::temperature, options))
        chain.push_back(SamplerKind::temperature);
    return chain;
}

std::vector<SamplerKind> default_sampler_order() {
    using enum SamplerKind;
    return {penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature};
}

std::vector<SamplerKind> powerinfer_sampler_order() {
    using enum SamplerKind;
    return {penalties, top_k, tail_free, typical_p, top_p, min_p, temperature};
}

void validate(const SamplerOptions& o, int n_vocab) {
    check(o.min_keep >= 0, "min_keep", o.min_keep, "0 or more");
    check_finite("temperature", o.temperature);
    check(std::isfinite(o.dynatemp_range) && o.dynatemp_range >= 0, "dynatemp_range", o.dynatemp_range,
          "0 or more");
    check_finite("dynatemp_exponent", o.dynatemp_exponent);
    check(std::isfinite(o.top_p) && o.top_p >= 0, "top_p", o.top_p, "0 or more (1 and above: off)");
    check_finite("min_p", o.min_p);
    check(std::isfinite(o.typical_p) && o.typical_p >= 0, "typical_p", o.typical_p,
          "0 or more (1 and above: off)");
    check(std::isfinite(o.tail_free_z) && o.tail_free_z >= 0, "tfs_z", o.tail_free_z,
          "0 or more (1 and above: off)");
    check_finite("top_n_sigma", o.top_n_sigma);
    check_share("xtc_probability", o.xtc_probability);
    check_share("xtc_threshold", o.xtc_threshold);
    check(o.repeat_last_n >= -1, "repeat_last_n", o.repeat_last_n, "-1 (the context), 0 (off) or more");
    check(std::isfinite(o.repeat_penalty) && o.repeat_penalty > 0, "repeat_penalty", o.repeat_penalty,
          "a finite number above 0 (1: off)");
    check_finite("frequency_penalty", o.frequency_penalty);
    check_finite("presence_penalty", o.presence_penalty);
    check_finite("dry_multiplier", o.dry_multiplier);
    check_finite("dry_base", o.dry_base);
    check(o.dry_allowed_length >= 0, "dry_allowed_length", o.dry_allowed_length, "0 or more");
    check(o.dry_penalty_last_n >= -1, "dry_penalty_last_n", o.dry_penalty_last_n,
          "-1 (the context), 0 (off) or more");
    check(o.mirostat >= 0 && o.mirostat <= 2, "mirostat", o.mirostat, "0 (off), 1 or 2");
    check(std::isfinite(o.mirostat_tau) && o.mirostat_tau >= 0, "mirostat_tau", o.mirostat_tau, "0 or more");
    check(std::isfinite(o.mirostat_eta) && o.mirostat_eta >= 0, "mirostat_eta", o.mirostat_eta, "0 or more");
    check(std::isfinite(o.adaptive_target) && o.adaptive_target <= 1, "adaptive_target", o.adaptive_target,
          "between 0 and 1, or negative (off)");
    check_share("adaptive_decay", o.adaptive_decay);
    for (const LogitBias& entry : o.logit_bias) {
        if (entry.id < 0 || entry.id >= n_vocab)
            fail(ErrorKind::bad_argument,
                 "The sampling option logit_bias names token {}; the vocabulary has tokens 0 to {}.",
                 entry.id, n_vocab - 1);
        if (std::isnan(entry.bias) || entry.bias == INFINITY)
            fail(ErrorKind::bad_argument,
                 "The sampling option logit_bias is {} for token {}; it must be a finite number or minus "
                 "infinity.",
                 entry.bias, entry.id);
    }
    for (auto kind = o.order.begin(); kind != o.order.end(); ++kind)
        if (std::find(o.order.begin(), kind, *kind) != kind)
            fail(ErrorKind::bad_argument, "The sampler order names '{}' twice; each sampler may appear once.",
                 name(*kind));
}

std::string_view name(SamplerKind kind) {
    for (const SamplerRow& row : kSamplers)
        if (row.kind == kind) return row.name;
    return "?";
}

std::vector<SamplerKind> parse_sampler_names(std::string_view text) {
    std::vector<SamplerKind> order;
    while (!text.empty()) {
        const size_t end = std::min(text.find(';'), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string key = folded(word);
        if (key.empty()) continue;
        const auto row = std::find_if(kSamplers.begin(), kSamplers.end(), [&](const SamplerRow& r) {
            return std::find(r.spellings.begin(), r.spellings.end(), key) != r.spellings.end();
        });
        if (row == kSamplers.end())
            fail(ErrorKind::bad_argument, "There is no sampler '{}'; known are {}.", word, known_names());
        append_once(order, row->kind);
    }
    return order;
}

std::vector<SamplerKind> parse_sampler_letters(std::string_view letters) {
    std::vector<SamplerKind> order;
    for (const char letter : letters) {
        const auto row = std::find_if(kSamplers.begin(), kSamplers.end(),
                                      [&](const SamplerRow& r) { return r.letter == letter; });
        if (row == kSamplers.end())
            fail(ErrorKind::bad_argument,
                 "There is no sampler with the letter '{}'; known are the letters {} ({}).", letter,
                 known_letters(), known_names());
        append_once(order, row->kind);
    }
    return order;
}

LogitBias parse_logit_bias(std::string_view text) {
    LogitBias entry;
    const char* const end = text.data() + text.size();
    const auto id = std::from_chars(text.data(), end, entry.id);
    bool good = id.ec == std::errc() && entry.id >= 0 && id.ptr < end && (*id.ptr == '+' || *id.ptr == '-');
    if (good) {
        const auto bias = std::from_chars(id.ptr + 1, end, entry.bias);
        good = bias.ec == std::errc() && bias.ptr == end && !std::signbit(entry.bias);
        if (*id.ptr == '-') entry.bias = -entry.bias;
    }
    if (!good || std::isnan(entry.bias) || entry.bias == INFINITY)
        fail(ErrorKind::bad_argument,
             "The logit bias '{}' must be TOKEN_ID+BIAS or TOKEN_ID-BIAS, such as 15043-1.5.", text);
    return entry;
}

std::string describe_chain(const SamplerOptions& options) {
    std::string text = "logit-bias";
    bool adaptive = false;
    for (const SamplerKind kind : active_chain(options)) {
        if (kind == SamplerKind::adaptive_p) {
            adaptive = true;
            continue;
        }
        text += fmt::format(" -> {}", name(kind));
    }
    if (options.mirostat != 0) return text + fmt::format(" -> mirostat {}", options.mirostat);
    return text + (adaptive ? " -> adaptive_p" : " -> dist");
}

}  // namespace powerinfer::generate
