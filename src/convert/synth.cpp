#include "convert/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/cpu_info.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "convert/mix.h"
#include "formats/gguf.h"
#include "quant/format.h"

namespace powerinfer::convert {
namespace {

using formats::GgufValue;

// The constant of column 0. Large enough for small biases, small enough to leave the norm to the other columns.
constexpr float kCarrier = 8.0f;
// Non-zero entries of a row of A. All are equal and positive, which every block format represents without error.
constexpr int kMixed = 16;
// What all attention blocks, and all feed-forwards, add to the variance of a token vector (which starts at 1).
constexpr double kAddedVariance = 0.08;
constexpr float kNeighbourCorrelation = 0.7f;

/// A small fast generator (splitmix64); every row seeds its own, so rows can be made in any order.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    /// Nearly normal, variance 1: four random bytes summed.
    float normal() {
        const auto bits = static_cast<uint32_t>(next() >> 32);
        const uint32_t pairs = (bits & 0x00FF00FFu) + ((bits >> 8) & 0x00FF00FFu);
        const auto sum = static_cast<float>((pairs & 0xFFFFu) + (pairs >> 16));
        return (sum - 510.0f) * (1.0f / 147.8f);
    }

  private:
    uint64_t state_;
};

/// Inverse of the normal distribution function, by bisection.
double normal_quantile(double p) {
    double low = -8, high = 8;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
    }
    return low;
}

/// Firing frequencies min(1, c * k^-exponent) with the wanted mean, in random order.
std::vector<double> firing_frequencies(int n_ff, double mean, double exponent, Random& random) {
    std::vector<double> f(static_cast<size_t>(n_ff));
    const auto mean_of = [&](double c) {
        double sum = 0;
        for (size_t k = 0; k < f.size(); ++k)
            sum += f[k] = std::min(1.0, c * std::pow(static_cast<double>(k + 1), -exponent));
        return sum / n_ff;
    };
    double low = 0, high = std::pow(static_cast<double>(n_ff), exponent);
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (mean_of(middle) < mean ? low : high) = middle;
    }
    mean_of(high);
    for (size_t k = f.size(); k > 1; --k) std::swap(f[k - 1], f[random.next() % k]);
    return f;
}

/// Everything about one layer that its tensors share.
struct LayerRecipe {
    std::vector<float> b;          // [r][n_embd]
    std::vector<uint16_t> mixed;   // [n_ff][kMixed] rows of B that make a gate row
    std::vector<float> bias;       // [n_ff]
};

class Synth {
  public:
    Synth(const std::string& path, const SynthOptions& o, const LogSink& log, const Progress& progress)
        : o_(o),
          s_(o.shape),
          r_(o.rank / 2 - 1),
          log_(log),
          progress_(progress),
          pool_(o.n_threads > 0 ? o.n_threads : read_cpu_info().n_physical),
          out_(path, o.predictors ? formats::GgufMagic::pwri : formats::GgufMagic::gguf) {
        for (int i = 0; i < s_.n_layer; ++i) mean_share_factor_ += share_factor(i) / s_.n_layer;
    }

    void run() {
        write_keys();
        declare();
        out_.begin_data();
        for (const Planned& t : planned_) {
            report(progress_, static_cast<double>(done_) / static_cast<double>(total_), "writing " + t.name);
            (this->*t.make)(t);
            done_ += static_cast<uint64_t>(t.n_in * t.n_out);
        }
        out_.finish();
        powerinfer::log(log_, LogLevel::info, "wrote a random model: {} x {} layers, n_ff {}, active share {:.1f} %",
                        s_.n_embd, s_.n_layer, s_.n_ff, 100 * o_.active_share);
    }

  private:
    struct Planned {
        std::string name;
        DType type;
        int64_t n_in, n_out;
        int layer;
        float scale;
        void (Synth::*make)(const Planned&);
    };

    void write_keys() {
        const auto u32 = [&](const std::string& key, int v) { out_.set(key, GgufValue::of_u32(static_cast<uint32_t>(v))); };
        out_.set("general.architecture", GgufValue::of_string("llama"));
        out_.set("general.name", GgufValue::of_string(std::string(kSynthName)));
        u32("general.file_type", static_cast<int>(o_.mix ? o_.mix->number : file_type_number_of(o_.type)));
        u32("llama.context_length", s_.n_ctx);
        u32("llama.embedding_length", s_.n_embd);
        u32("llama.block_count", s_.n_layer);
        u32("llama.feed_forward_length", s_.n_ff);
        u32("llama.attention.head_count", s_.n_head);
        u32("llama.attention.head_count_kv", s_.n_head_kv);
        u32("llama.rope.dimension_count", s_.head_dim());
        u32("llama.vocab_size", s_.n_vocab);
        out_.set("llama.attention.layer_norm_rms_epsilon", GgufValue::of_f32(1e-5f));
        out_.set("powerinfer.activation", GgufValue::of_string("relu"));
        if (o_.predictors) out_.set("powerinfer.sparse_threshold", GgufValue::of_f32(threshold()));
        write_vocabulary();
    }

    /// Quantised predictors err by about this much of the gate's deviation; the threshold gives them that margin.
    float threshold() const {
        const bool exact = o_.predictor_type == DType::F32 && o_.type == DType::F32;
        if (exact) return 0.0f;
        const double bits = 8.0 * info(o_.predictor_type).bytes / info(o_.predictor_type).block;
        return bits >= 8 ? -0.02f : -0.25f;
    }

    void write_vocabulary() {
        std::vector<std::string> tokens;
        std::vector<double> scores;
        std::vector<int64_t> kinds;
        const auto add = [&](std::string text, double score, int64_t kind) {
            tokens.push_back(std::move(text));
            scores.push_back(score);
            kinds.push_back(kind);
        };
        add("<unk>", 0, 2);
        add("<s>", 0, 3);
        add("</s>", 0, 3);
        for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, 6);
        for (int id = 259; id < s_.n_vocab; ++id) add(fmt::format("\u2581w{}", id), -id, 1);
        out_.set("tokenizer.ggml.model", GgufValue::of_string("llama"));
        out_.set("tokenizer.ggml.tokens", GgufValue::of_strings(std::move(tokens)));
        out_.set("tokenizer.ggml.scores", GgufValue::of_f32s(std::move(scores)));
        out_.set("tokenizer.ggml.token_type", GgufValue::of_i32s(std::move(kinds)));
        out_.set("tokenizer.ggml.bos_token_id", GgufValue::of_u32(1));
        out_.set("tokenizer.ggml.eos_token_id", GgufValue::of_u32(2));
    }

    void declare() {
        const int d = s_.n_embd, kv = s_.n_head_kv * s_.head_dim();
        const float w = 1.0f / std::sqrt(static_cast<float>(d));
        const auto plan = [&](std::string name, DType type, int64_t n_in, int64_t n_out, int layer, float scale,
                              void (Synth::*make)(const Planned&)) {
            planned_.push_back({std::move(name), type, n_in, n_out, layer, scale, make});
        };
        plan("token_embd.weight", o_.type, d, s_.n_vocab, -1, 1, &Synth::embedding);
        plan("output_norm.weight", DType::F32, d, 1, -1, 1, &Synth::ones);
        plan("output.weight", o_.type, d, s_.n_vocab, -1, w, &Synth::random_matrix);
        const auto per_layer = static_cast<float>(std::sqrt(kAddedVariance / s_.n_layer));
        const float down = per_layer / std::sqrt(static_cast<float>(s_.n_ff * o_.active_share));
        for (int i = 0; i < s_.n_layer; ++i) {
            const std::string p = "blk." + std::to_string(i) + ".";
            plan(p + "attn_norm.weight", DType::F32, d, 1, i, 1, &Synth::ones);
            plan(p + "attn_q.weight", o_.type, d, d, i, w, &Synth::random_matrix);
            plan(p + "attn_k.weight", o_.type, d, kv, i, w, &Synth::random_matrix);
            plan(p + "attn_v.weight", o_.type, d, kv, i, w, &Synth::random_matrix);
            plan(p + "attn_output.weight", o_.type, d, d, i, per_layer * w, &Synth::silent_row_0);
            plan(p + "ffn_norm.weight", DType::F32, d, 1, i, 1, &Synth::ones);
            plan(p + "ffn_gate.weight", o_.type, d, s_.n_ff, i, 1, &Synth::gate);
            plan(p + "ffn_up.weight", o_.type, d, s_.n_ff, i, w, &Synth::random_matrix);
            if (o_.predictors) {
                plan(p + "ffn_down_t.weight", o_.type, d, s_.n_ff, i, down, &Synth::silent_column_0);
                plan(p + "fc1.weight", o_.predictor_type, d, o_.rank, i, 1, &Synth::fc1);
                plan(p + "fc2.weight", o_.predictor_type, o_.rank, s_.n_ff, i, 1, &Synth::fc2);
            } else {
                plan(p + "ffn_down.weight", o_.type, s_.n_ff, d, i, down, &Synth::silent_row_0);
            }
        }
        if (o_.mix != nullptr) mix_types();
        for (const Planned& t : planned_) {
            if (t.n_in % info(t.type).block != 0)
                fail(ErrorKind::bad_argument, "rows of {} elements ('{}') cannot be stored as {}, expected a multiple of {}",
                     t.n_in, t.name, info(t.type).name, info(t.type).block);
            out_.add_tensor(t.name, t.type, {t.n_in, t.n_out, 1, 1});
            total_ += static_cast<uint64_t>(t.n_in * t.n_out);
        }
    }

    void mix_types() {
        std::vector<MixTensor> tensors;
        for (const Planned& t : planned_)
            tensors.push_back({t.name, t.n_out == 1 ? DType::F32 : DType::F16, {t.n_in, t.n_out, 1, 1}});
        MixChoice choice;
        choice.target = o_.mix;
        choice.predictor = o_.predictor_type;
        MixFacts facts;
        facts.architecture = "llama";
        facts.n_layer = s_.n_layer;
        facts.n_head = s_.n_head;
        facts.n_head_kv = s_.n_head_kv;
        const std::vector<MixDecision> decisions = decide_types(choice, facts, tensors);
        for (size_t i = 0; i < planned_.size(); ++i) planned_[i].type = decisions[i].type;
    }

    uint64_t seed_of(const Planned& t, int64_t row) const {
        uint64_t h = o_.seed * 0x9E3779B97F4A7C15u;
        for (const char c : t.name) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
        return h + static_cast<uint64_t>(row) * 0xD1B54A32D192ED03u;
    }

    /// Makes rows in parallel, about 4 MiB at a time, and writes them in order. `fill(row, floats)` gives the values.
    template <class Fill>
    void write_rows(const Planned& t, Fill&& fill) {
        write_encoded_rows(t, [&](int64_t row, uint8_t* bytes) {
            std::vector<float> values(static_cast<size_t>(t.n_in));
            fill(row, values.data());
            quant::format(t.type).encode(values.data(), bytes, t.n_in, nullptr);
        });
    }

    template <class Fill>
    void write_encoded_rows(const Planned& t, Fill&& fill) {
        const size_t row_size = row_bytes(t.type, t.n_in);
        const int64_t at_once = std::clamp<int64_t>((4 << 20) / static_cast<int64_t>(row_size), 1, t.n_out);
        std::vector<uint8_t> bytes(row_size * static_cast<size_t>(at_once));
        for (int64_t first = 0; first < t.n_out; first += at_once) {
            const int64_t n = std::min(at_once, t.n_out - first);
            pool_.for_each(n, 16, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) fill(first + i, bytes.data() + static_cast<size_t>(i) * row_size);
            });
            out_.write(bytes.data(), row_size * static_cast<size_t>(n));
            report(progress_, static_cast<double>(done_) / static_cast<double>(total_), "writing " + t.name);
        }
    }

    /// Random rows put together from blocks that were encoded once: fast for every format. `silent_column_0` makes
    /// the first element of each row zero, `silent_row` makes one whole row zero.
    void random_rows(const Planned& t, bool silent_column_0, int64_t silent_row) {
        constexpr size_t kTemplates = 1024;
        const DTypeInfo& type = info(t.type);
        const int64_t piece = type.block == 1 ? std::gcd(t.n_in, int64_t{256}) : type.block;
        const size_t piece_bytes = row_bytes(t.type, piece);
        const auto make = [&](bool zero_first, uint64_t seed) {
            Random random(seed);
            std::vector<float> values(static_cast<size_t>(piece) * kTemplates);
            for (float& v : values) v = t.scale * random.normal();
            if (zero_first) {
                for (size_t i = 0; i < kTemplates; ++i) values[i * static_cast<size_t>(piece)] = 0;
            }
            std::vector<uint8_t> bytes(piece_bytes * kTemplates);
            quant::format(t.type).encode(values.data(), bytes.data(), static_cast<int64_t>(values.size()), nullptr);
            return bytes;
        };
        const std::vector<uint8_t> any = make(false, seed_of(t, -1)), first = make(silent_column_0, seed_of(t, -2));
        std::vector<float> zeros(static_cast<size_t>(t.n_in), 0.0f);
        write_encoded_rows(t, [&](int64_t row, uint8_t* bytes) {
            if (row == silent_row) return quant::format(t.type).encode(zeros.data(), bytes, t.n_in, nullptr);
            Random random(seed_of(t, row));
            for (int64_t i = 0; i < t.n_in / piece; ++i)
                std::memcpy(bytes + static_cast<size_t>(i) * piece_bytes,
                            (i == 0 ? first : any).data() + random.next() % kTemplates * piece_bytes, piece_bytes);
        });
    }

    void random_matrix(const Planned& t) { random_rows(t, false, -1); }
    void silent_row_0(const Planned& t) { random_rows(t, false, 0); }
    void silent_column_0(const Planned& t) { random_rows(t, true, -1); }

    void ones(const Planned& t) {
        write_rows(t, [&](int64_t, float* x) { std::fill_n(x, t.n_in, 1.0f); });
    }

    /// Each id's vector leans on its predecessor's: x = 0.7 x' + 0.71 noise, except for the constant column. A run of
    /// kRun ids starts afresh, so that runs can be made in parallel.
    void embedding(const Planned& t) {
        constexpr int64_t kRun = 64;
        const float fresh = std::sqrt(1 - kNeighbourCorrelation * kNeighbourCorrelation);
        write_rows(t, [&](int64_t row, float* x) {
            std::fill_n(x, t.n_in, 0.0f);
            const int64_t first = row / kRun * kRun;
            for (int64_t id = std::max(first, row - 8); id <= row; ++id) {  // 0.7^8 is little
                Random random(seed_of(t, id));
                const float share = id == first ? 1.0f : fresh;
                for (int64_t i = 0; i < t.n_in; ++i) x[i] = kNeighbourCorrelation * x[i] + share * random.normal();
            }
            x[0] = kCarrier;
        });
    }

    /// How much denser than the average a layer is, before scaling to the wanted mean: 0.7 to 1.3.
    double share_factor(int layer) const {
        return 0.7 + 0.6 * Random(o_.seed * 31u + static_cast<uint64_t>(layer) * 1000003u).uniform();
    }

    const LayerRecipe& recipe(int layer) {
        if (layer == recipe_layer_) return recipe_;
        recipe_layer_ = layer;
        Random random(o_.seed * 7919u + static_cast<uint64_t>(layer) * 104729u + 17u);
        recipe_.b.resize(static_cast<size_t>(r_) * static_cast<size_t>(s_.n_embd));
        const float w = 1.0f / std::sqrt(static_cast<float>(s_.n_embd));
        for (size_t i = 0; i < recipe_.b.size(); ++i)
            recipe_.b[i] = i % static_cast<size_t>(s_.n_embd) == 0 ? 0.0f : w * random.normal();
        recipe_.mixed.resize(static_cast<size_t>(s_.n_ff) * kMixed);
        for (uint16_t& k : recipe_.mixed) k = static_cast<uint16_t>(random.next() % static_cast<uint64_t>(r_));
        // Every layer has a law of its own: some layers are sparser, some laws steeper.
        const double share = o_.active_share * share_factor(layer) / mean_share_factor_;
        const double exponent = 0.7 + 0.3 * random.uniform();
        const auto f = firing_frequencies(s_.n_ff, std::min(share, 0.95), exponent, random);
        recipe_.bias.resize(f.size());
        // The carrier after the norm, next to the deviation of the other columns' product (1 after the norm).
        const double variance = 1 + kAddedVariance * layer / s_.n_layer;
        const double deviation = std::sqrt(variance);
        for (size_t j = 0; j < f.size(); ++j)
            recipe_.bias[j] = static_cast<float>(normal_quantile(std::clamp(f[j], 1e-4, 0.9999)) * deviation / kCarrier);
        return recipe_;
    }

    /// Entries of A are all 1/sqrt(kMixed); a row that names the same row of B twice has a double entry.
    static float mix() { return 1.0f / std::sqrt(static_cast<float>(kMixed)); }

    void gate(const Planned& t) {
        const LayerRecipe& recipe = this->recipe(t.layer);
        write_rows(t, [&](int64_t j, float* x) {
            std::fill_n(x, t.n_in, 0.0f);
            for (int k = 0; k < kMixed; ++k) {
                const float* b = recipe.b.data() + recipe.mixed[static_cast<size_t>(j * kMixed + k)] * static_cast<size_t>(t.n_in);
                for (int64_t i = 0; i < t.n_in; ++i) x[i] += mix() * b[i];
            }
            x[0] = recipe.bias[static_cast<size_t>(j)];
        });
    }

    void fc1(const Planned& t) {
        const LayerRecipe& recipe = this->recipe(t.layer);
        write_rows(t, [&](int64_t row, float* x) {
            std::fill_n(x, t.n_in, 0.0f);
            if (row < 2 * r_) {
                const float sign = row < r_ ? 1.0f : -1.0f;
                const float* b = recipe.b.data() + (row % r_) * t.n_in;
                for (int64_t i = 0; i < t.n_in; ++i) x[i] = sign * b[i];
            } else if (row < 2 * r_ + 2) {
                x[0] = row == 2 * r_ ? 1.0f : -1.0f;
            }
        });
    }

    void fc2(const Planned& t) {
        const LayerRecipe& recipe = this->recipe(t.layer);
        write_rows(t, [&](int64_t j, float* x) {
            std::fill_n(x, t.n_in, 0.0f);
            for (int k = 0; k < kMixed; ++k) {
                const auto row = recipe.mixed[static_cast<size_t>(j * kMixed + k)];
                x[row] += mix();
                x[r_ + row] -= mix();
            }
            x[2 * r_] = recipe.bias[static_cast<size_t>(j)];
            x[2 * r_ + 1] = -recipe.bias[static_cast<size_t>(j)];
        });
    }

    const SynthOptions& o_;
    const SynthShape& s_;
    int r_;
    const LogSink& log_;
    const Progress& progress_;
    ThreadPool pool_;
    formats::GgufWriter out_;
    std::vector<Planned> planned_;
    uint64_t total_ = 0, done_ = 0;
    double mean_share_factor_ = 0;
    LayerRecipe recipe_;
    int recipe_layer_ = -1;
};

}  // namespace

void write_synth(const std::string& path, const SynthOptions& options, const LogSink& log, const Progress& progress) {
    if (options.rank < 4 || options.rank % 2 != 0)
        fail(ErrorKind::bad_argument, "the predictor rank is {}, expected an even number of at least 4", options.rank);
    if (!(options.active_share > 0) || options.active_share > 1)
        fail(ErrorKind::bad_argument, "the active share is {}, expected above 0 and at most 1", options.active_share);
    const DType base = options.mix ? options.mix->base : options.type;
    for (const DType type : {base, options.predictor_type}) {
        if (quant::format(type).encode == nullptr)
            fail(ErrorKind::unsupported, "there is no encoder for {}, choose another type", info(type).name);
    }
    require_space(path, options);
    Synth(path, options, log, progress).run();
}

}  // namespace powerinfer::convert
