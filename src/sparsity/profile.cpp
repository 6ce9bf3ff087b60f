#include "sparsity/profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/hash.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufFile;
using formats::GgufType;
using formats::GgufValue;
using formats::GgufWriter;

constexpr std::string_view kArchitecture = "powerinfer.profile";
constexpr uint32_t kVersion = 1;
constexpr int64_t kMaxLayers = 4096, kMaxNeurons = 1 << 24;
constexpr size_t kMaxSources = 1000;
constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // of any count: torch tensors hold int64

std::string key(std::string_view name) {
    return fmt::format("powerinfer.profile.{}", name);
}

struct Moment {
    std::string_view suffix;
    std::vector<double> LayerProfile::*values;
    bool may_be_negative;
};
constexpr std::array<Moment, 3> kMoments = {{{"sum", &LayerProfile::sum, true},
                                             {"squares", &LayerProfile::sum_of_squares, false},
                                             {"contribution", &LayerProfile::contribution, false}}};

std::string layer_key(int layer, std::string_view suffix) {
    return fmt::format("powerinfer.profile.{}.{}", layer, suffix);
}

template <class T>
GgufValue array_of(GgufType element, const std::vector<T>& values) {
    return {.type = GgufType::array, .element = element, .data = values};
}

int read_size(const GgufFile& file, std::string_view name, int64_t low, int64_t high) {
    const uint64_t value = file.get_uint(key(name));
    if (value < static_cast<uint64_t>(low) || value > static_cast<uint64_t>(high))
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected {} to {}", file.path(), key(name), value,
             low, high);
    return static_cast<int>(value);
}

/// The numbers of an array of the wanted kind and length.
template <class T>
const std::vector<T>& read_numbers(const GgufFile& file, const std::string& name, std::string_view kind,
                                   int n_ff) {
    const GgufValue* value = file.find(name);
    if (!value) fail(ErrorKind::bad_file, "'{}' has no key '{}', which its profile needs", file.path(), name);
    const auto* numbers = std::get_if<std::vector<T>>(&value->data);
    if (!numbers)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, expected array of {}", file.path(), name,
             type_text(*value), kind);
    if (numbers->size() != static_cast<size_t>(n_ff))
        fail(ErrorKind::bad_file, "'{}': key '{}' has {} values, expected one for each of {} neurons",
             file.path(), name, numbers->size(), n_ff);
    return *numbers;
}

LayerProfile read_layer(const GgufFile& file, int layer, int n_ff, uint64_t n_tokens, bool has_moments) {
    LayerProfile out;
    const std::string fires = layer_key(layer, "fires");
    for (const uint64_t n : read_numbers<uint64_t>(file, fires, "u64", n_ff)) {
        if (n > (n_tokens > 0 ? n_tokens : kMost))
            fail(ErrorKind::bad_file, "'{}': tensor '{}' holds the count {}, expected 0 to the {} tokens",
                 file.path(), fires, n, n_tokens);
        out.fires.push_back(static_cast<uint64_t>(n));
    }
    if (!has_moments) return out;
    for (const Moment& moment : kMoments) {
        const std::string name = layer_key(layer, moment.suffix);
        out.*moment.values = read_numbers<double>(file, name, "f64", n_ff);
        for (const double x : out.*moment.values) {
            if (!std::isfinite(x) || (x < 0 && !moment.may_be_negative))
                fail(ErrorKind::bad_file, "'{}': key '{}' holds {}, expected a finite number{}", file.path(),
                     name, x, moment.may_be_negative ? "" : " of at least 0");
        }
    }
    return out;
}

/// Throws unless the profile can be written and read back.
void check(const ActivationProfile& profile) {
    const auto n_ff = static_cast<size_t>(profile.n_ff);
    bool good = n_ff > 0 && !profile.layers.empty();
    for (const LayerProfile& layer : profile.layers) {
        good = good && layer.fires.size() == n_ff && layer.has_moments() == profile.has_moments();
        for (const Moment& m : kMoments)
            good = good && (layer.*m.values).size() == (profile.has_moments() ? n_ff : 0);
    }
    if (!good) fail(ErrorKind::internal, "a profile has layers of different sizes");
}

}  // namespace

uint64_t ActivationProfile::tokens_or_bound() const {
    if (n_tokens > 0) return n_tokens;
    uint64_t most = 1;
    for (const LayerProfile& layer : layers)
        for (const uint64_t n : layer.fires) most = std::max(most, n);
    return most;
}

double ActivationProfile::frequency(int layer, int64_t neuron) const {
    return static_cast<double>(layers[static_cast<size_t>(layer)].fires[static_cast<size_t>(neuron)]) /
           static_cast<double>(tokens_or_bound());
}

double ActivationProfile::active_share(int layer) const {
    double sum = 0;
    for (const uint64_t n : layers[static_cast<size_t>(layer)].fires) sum += static_cast<double>(n);
    return sum / static_cast<double>(tokens_or_bound()) / n_ff;
}

double ActivationProfile::share_covering(int layer, double part) const {
    std::vector<uint64_t> fires = layers[static_cast<size_t>(layer)].fires;
    std::sort(fires.begin(), fires.end(), std::greater<>());
    double total = 0, sum = 0;
    for (const uint64_t n : fires) total += static_cast<double>(n);
    if (total == 0) return 0;
    size_t count = 0;
    while (count < fires.size() && sum < part * total) sum += static_cast<double>(fires[count++]);
    return static_cast<double>(count) / n_ff;
}

void ActivationProfile::merge(const ActivationProfile& other) {
    if (other.n_layer() != n_layer() || other.n_ff != n_ff || other.n_embd != n_embd)
        fail(ErrorKind::bad_argument,
             "these are profiles of different models: {} layers of {} neurons (n_embd {}) and {} of {} "
             "(n_embd {})",
             n_layer(), n_ff, n_embd, other.n_layer(), other.n_ff, other.n_embd);
    if (other.fingerprint != fingerprint)
        fail(ErrorKind::bad_argument,
             "these are profiles of different models: fingerprints {:016x} and {:016x}", fingerprint,
             other.fingerprint);
    if (other.numbering != numbering)
        fail(ErrorKind::bad_argument,
             "the profiles number their neurons differently: one model file's were moved");
    if (other.has_moments() != has_moments() || (other.n_tokens == 0) != (n_tokens == 0))
        fail(ErrorKind::bad_argument,
             "one profile knows its tokens and moments and the other has counts alone; both must be of one "
             "kind");
    const auto add = [](uint64_t& a, uint64_t b) {
        if (b > kMost || a > kMost - b)
            fail(ErrorKind::bad_argument, "a count of the merged profile exceeds {}", kMost);
        a += b;
    };
    add(n_tokens, other.n_tokens);
    for (size_t i = 0; i < layers.size(); ++i) {
        LayerProfile& to = layers[i];
        const LayerProfile& from = other.layers[i];
        for (size_t j = 0; j < to.fires.size(); ++j) add(to.fires[j], from.fires[j]);
        for (const Moment& m : kMoments)
            for (size_t j = 0; j < (to.*m.values).size(); ++j) (to.*m.values)[j] += (from.*m.values)[j];
    }
    if (sources.size() + other.sources.size() > kMaxSources)
        fail(ErrorKind::bad_argument, "the merged profile would name {} sources, expected at most {}",
             sources.size() + other.sources.size(), kMaxSources);
    sources.insert(sources.end(), other.sources.begin(), other.sources.end());
}

void ActivationProfile::check_fits(const model::Model& model, const std::string& label) const {
    if (n_layer() != model.spec.n_layer || n_ff != model.spec.n_ff ||
        (n_embd != 0 && n_embd != model.spec.n_embd))
        fail(ErrorKind::bad_argument,
             "'{}' is a profile of another model: it has {} layers of {} neurons (n_embd {}), the model {} "
             "of {} (n_embd {})",
             label, n_layer(), n_ff, n_embd, model.spec.n_layer, model.spec.n_ff, model.spec.n_embd);
    if (fingerprint != 0 && fingerprint != fingerprint_of(model))
        fail(ErrorKind::bad_argument,
             "'{}' is a profile of another model of the same shape: its fingerprint is {:016x}, the model's "
             "{:016x}",
             label, fingerprint, fingerprint_of(model));
    if (numbering != numbering_of(*model.file))
        fail(ErrorKind::bad_argument,
             "'{}' numbers the neurons otherwise than the model file does: they were moved in one of the two",
             label);
}

ActivationProfile empty_profile(const model::Model& model) {
    ActivationProfile profile;
    profile.numbering = numbering_of(*model.file);
    profile.fingerprint = fingerprint_of(model);
    profile.n_embd = model.spec.n_embd;
    profile.n_ff = model.spec.n_ff;
    const auto n = static_cast<size_t>(profile.n_ff);
    profile.layers.assign(
        static_cast<size_t>(model.spec.n_layer),
        {std::vector<uint64_t>(n), std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)});
    return profile;
}

uint64_t fingerprint_of(const model::Model& model) {
    const model::ModelSpec& s = model.spec;
    const std::array<int64_t, 8> shape = {s.n_vocab, s.n_embd,    s.n_layer,  s.n_ff,
                                          s.n_head,  s.n_head_kv, s.head_dim, s.gated};
    uint64_t hash = fnv1a(shape.data(), sizeof(shape));
    const auto add = [&](const TensorView& t) {
        if (t) hash = fnv1a(t.data, t.n_bytes(), hash);
    };
    for (const model::LayerTensors& layer : model.tensors.layers) {
        add(layer.attn_norm);
        add(layer.ffn_norm);
    }
    add(model.tensors.output_norm);
    return hash == 0 ? 1 : hash;
}

uint64_t numbering_of(const GgufFile& file) {
    uint64_t hash = 0;
    for (int layer = 0;; ++layer) {
        const auto order = file.find_ints(fmt::format("powerinfer.neuron_order.{}", layer));
        if (!order) return hash;
        if (layer == 0) hash = fnv1a(nullptr, 0);
        hash = fnv1a(order->data(), order->size() * sizeof(int64_t), hash);
    }
}

void declare_profile(GgufWriter& out, const ActivationProfile& profile) {
    check(profile);
    out.set(key("version"), GgufValue::of_u32(kVersion));
    out.set(key("tokens"), GgufValue::of_u64(profile.n_tokens));
    out.set(key("fingerprint"), GgufValue::of_u64(profile.fingerprint));
    out.set(key("numbering"), GgufValue::of_u64(profile.numbering));
    out.set(key("n_layer"), GgufValue::of_u32(static_cast<uint32_t>(profile.n_layer())));
    out.set(key("n_embd"), GgufValue::of_u32(static_cast<uint32_t>(profile.n_embd)));
    out.set(key("n_ff"), GgufValue::of_u32(static_cast<uint32_t>(profile.n_ff)));
    out.set(key("sources"), GgufValue::of_strings(profile.sources));
    for (int i = 0; i < profile.n_layer(); ++i) {
        const LayerProfile& layer = profile.layers[static_cast<size_t>(i)];
        out.set(layer_key(i, "fires"), array_of(GgufType::u64, layer.fires));
        if (!profile.has_moments()) continue;
        for (const Moment& m : kMoments)
            out.set(layer_key(i, m.suffix), array_of(GgufType::f64, layer.*m.values));
    }
}

void write_profile(const std::string& path, const ActivationProfile& profile) {
    GgufWriter out(path, formats::GgufMagic::gguf);
    out.set("general.architecture", GgufValue::of_string(std::string(kArchitecture)));
    declare_profile(out, profile);
    out.finish();
}

bool has_profile(const GgufFile& file) {
    return file.has(key("version"));
}

ActivationProfile read_profile(const GgufFile& file) {
    if (!has_profile(file))
        fail(ErrorKind::bad_file,
             "'{}' holds no activation profile (no key '{}'); `powerinfer profile` makes one", file.path(),
             key("version"));
    if (const uint64_t version = file.get_uint(key("version")); version != kVersion)
        fail(ErrorKind::unsupported, "'{}': its profile has version {}, expected {}", file.path(), version,
             kVersion);
    ActivationProfile profile;
    profile.n_tokens = file.get_uint(key("tokens"));
    if (profile.n_tokens > kMost)
        fail(ErrorKind::bad_file, "'{}': key '{}' is {}, which no text has", file.path(), key("tokens"),
             profile.n_tokens);
    profile.fingerprint = file.get_uint(key("fingerprint"));
    profile.numbering = numbering_of(file);
    if (profile.numbering == 0) profile.numbering = file.get_uint(key("numbering"), 0);
    const int n_layer = read_size(file, "n_layer", 1, kMaxLayers);
    profile.n_embd = read_size(file, "n_embd", 0, kMaxNeurons);
    profile.n_ff = read_size(file, "n_ff", 1, kMaxNeurons);
    if (const auto* sources = file.find_strings(key("sources"))) {
        if (sources->size() > kMaxSources)
            fail(ErrorKind::bad_file, "'{}': key '{}' lists {} sources, expected at most {}", file.path(),
                 key("sources"), sources->size(), kMaxSources);
        profile.sources = *sources;
    }
    const bool has_moments = file.has(layer_key(0, kMoments[0].suffix));
    for (int i = 0; i < n_layer; ++i)
        profile.layers.push_back(read_layer(file, i, profile.n_ff, profile.n_tokens, has_moments));
    return profile;
}

ActivationProfile open_profile(const std::string& path) {
    return read_profile(GgufFile::open(path));
}

}  // namespace powerinfer::sparsity
