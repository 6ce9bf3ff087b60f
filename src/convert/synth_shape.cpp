// How large a random model is to be: named shapes, their changes, and the bytes that they take.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "convert/synth.h"

namespace powerinfer::convert {
namespace {

struct NamedShape {
    std::string_view name;
    SynthShape shape;
};
constexpr NamedShape kShapes[] = {
    {"tiny", {.n_vocab = 512, .n_embd = 256, .n_layer = 2, .n_ff = 1024, .n_head = 8, .n_head_kv = 8, .n_ctx = 512}},
    {"llama-1b", {.n_embd = 2048, .n_layer = 22, .n_ff = 5632, .n_head = 32, .n_head_kv = 4}},
    {"llama-7b", {}},
    {"mistral-7b", {.n_ff = 14336, .n_head_kv = 8, .n_ctx = 32768}},
    {"llama-13b", {.n_embd = 5120, .n_layer = 40, .n_ff = 13824, .n_head = 40, .n_head_kv = 40}},
    {"llama-70b", {.n_embd = 8192, .n_layer = 80, .n_ff = 28672, .n_head = 64, .n_head_kv = 8}},
};

struct Field {
    std::string_view name;
    int SynthShape::*member;
    int most;  ///< far beyond any model, and within what a model file may say
};
constexpr Field kFields[] = {
    {"n_vocab", &SynthShape::n_vocab, 1 << 22}, {"n_embd", &SynthShape::n_embd, 1 << 17},
    {"n_layer", &SynthShape::n_layer, 1024},    {"n_ff", &SynthShape::n_ff, 1 << 20},
    {"n_head", &SynthShape::n_head, 1 << 12},   {"n_head_kv", &SynthShape::n_head_kv, 1 << 12},
    {"n_ctx", &SynthShape::n_ctx, 1 << 24},
};

/// Bytes that any file of this kind takes at the least.
double least_bytes(const SynthOptions& o) {
    const SynthShape& s = o.shape;
    const auto bytes = [](DType type, double n) { return n * info(type).bytes / info(type).block; };
    const double d = s.n_embd, ff = s.n_ff, kv = s.n_head_kv * s.head_dim();
    const double layer = bytes(o.type, 2 * d * d + 2 * d * kv + 3 * d * ff) +
                         (o.predictors ? bytes(o.predictor_type, (d + ff) * o.rank) : 0);
    return s.n_layer * layer + bytes(o.type, 2 * d * s.n_vocab);
}

}  // namespace

SynthShape synth_shape(std::string_view text) {
    const std::string_view base = text.substr(0, text.find(','));
    const auto* named = std::find_if(std::begin(kShapes), std::end(kShapes), [&](const NamedShape& n) { return n.name == base; });
    if (named == std::end(kShapes)) {
        std::string names;
        for (const NamedShape& n : kShapes) names += (names.empty() ? "" : ", ") + std::string(n.name);
        fail(ErrorKind::bad_argument, "unknown shape '{}': expected one of {}, optionally followed by changes such as ',n_layer=8'",
             base, names);
    }
    SynthShape shape = named->shape;
    for (size_t at = base.size(); at < text.size();) {
        const size_t end = std::min(text.find(',', at + 1), text.size());
        const std::string_view change = text.substr(at + 1, end - at - 1);
        const size_t equals = change.find('=');
        const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const Field& f) { return f.name == change.substr(0, equals); });
        int value = 0;
        const char* last = change.data() + change.size();
        const bool good = field != std::end(kFields) && equals != std::string_view::npos &&
                          std::from_chars(change.data() + equals + 1, last, value).ptr == last && value > 0;
        if (!good)
            fail(ErrorKind::bad_argument, "shape '{}': '{}' is not a change such as n_layer=8 (n_vocab, n_embd, n_layer, n_ff, n_head, n_head_kv, n_ctx)",
                 text, change);
        if (value > field->most)
            fail(ErrorKind::bad_argument, "shape '{}': {} is {}, expected at most {}", text, field->name, value, field->most);
        shape.*(field->member) = value;
        at = end;
    }
    if (shape.n_embd % shape.n_head != 0 || shape.n_head % shape.n_head_kv != 0)
        fail(ErrorKind::bad_argument, "shape '{}': {} heads must divide n_embd {} and be a multiple of {} key/value heads", text,
             shape.n_head, shape.n_embd, shape.n_head_kv);
    if (shape.n_vocab < 260) fail(ErrorKind::bad_argument, "shape '{}': n_vocab is {}, expected at least 260", text, shape.n_vocab);
    return shape;
}

uint64_t synth_bytes(const SynthOptions& o) {
    return static_cast<uint64_t>(least_bytes(o)) + (64 << 20);
}

void require_space(const std::string& path, const SynthOptions& o) {
    std::error_code unknown;
    const auto folder = std::filesystem::absolute(path, unknown).parent_path();
    const auto space = std::filesystem::space(folder, unknown);
    if (!unknown && static_cast<double>(space.available) < least_bytes(o))
        fail(ErrorKind::io, "cannot write '{}': {}: the model takes {:.2f} GB, {:.2f} GB are free", path,
             std::make_error_code(std::errc::no_space_on_device).message(), least_bytes(o) / 1e9,
             static_cast<double>(space.available) / 1e9);
}

}  // namespace powerinfer::convert
