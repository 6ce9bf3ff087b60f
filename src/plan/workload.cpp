#include "plan/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"

namespace powerinfer::plan {
namespace {

using model::LayerTensors;
using sparsity::Mode;

Piece piece(const TensorView& v) {
    return v ? Piece{static_cast<double>(v.n_bytes()), static_cast<double>(v.n_elements())} : Piece{};
}

Piece row_of(const TensorView& v) {
    return v ? Piece{static_cast<double>(v.row_bytes()), static_cast<double>(v.ne[0])} : Piece{};
}

Piece matrix(DType type, int64_t n_in, int64_t n_out) {
    return {static_cast<double>(row_bytes(type, n_in)) * static_cast<double>(n_out), static_cast<double>(n_in * n_out)};
}

Piece floats(int64_t n) { return matrix(DType::F32, n, 1); }

/// Adds a tensor, if there is one, to a piece and its list.
void add(Piece& sum, std::vector<uint64_t>& tensors, const Piece& p) {
    if (!(p.bytes > 0)) return;
    sum += p;
    tensors.push_back(static_cast<uint64_t>(p.bytes));
}

/// A neuron's part of a down projection that is not stored by neuron: its bytes are spread evenly.
Piece column_of(const TensorView& down) {
    const Piece all = piece(down);
    const auto n = static_cast<double>(down.ne[0]);
    return {std::ceil(all.bytes / n), all.weights / n};
}

/// Mid-text: half of the cache is filled, on average.
constexpr double kReadShareOfCache = 0.5;

/// Everything that the result depends on, so that a saved plan can tell whether it still fits.
uint64_t fingerprint(const Workload& w) {
    uint64_t hash = fnv1a(w.model.data(), w.model.size());
    const auto mix = [&](double v) { hash = fnv1a(&v, sizeof v, hash); };
    const auto mix_piece = [&](const Piece& p) { mix(p.bytes), mix(p.weights); };
    mix_piece(w.head);
    mix(static_cast<double>(w.embedding_bytes));
    mix(static_cast<double>(w.scratch_bytes));
    mix(w.tied_head);
    for (const LayerLoad& l : w.layers) {
        mix_piece(l.attention), mix_piece(l.shared), mix_piece(l.always), mix_piece(l.fired);
        mix(static_cast<double>(l.kv_bytes));
        for (const uint32_t b : l.row_bytes) mix(b);
        for (const Group& g : l.groups) mix(g.frequency), mix(g.n_neurons);
    }
    return hash;
}

void check_frequencies(const Frequencies& frequencies, size_t n_layer, int n_ff) {
    if (frequencies.size() != n_layer)
        fail(ErrorKind::bad_argument, "firing frequencies are given for {} layers, the model has {}", frequencies.size(), n_layer);
    for (size_t l = 0; l < n_layer; ++l) {
        if (frequencies[l].size() != static_cast<size_t>(n_ff))
            fail(ErrorKind::bad_argument, "layer {} has {} firing frequencies, expected {}", l, frequencies[l].size(), n_ff);
        for (const double f : frequencies[l])
            if (!(f >= 0 && f <= 1)) fail(ErrorKind::bad_argument, "layer {} has a firing frequency of {}, expected 0 to 1", l, f);
    }
}

}  // namespace

Piece& Piece::operator+=(const Piece& other) {
    bytes += other.bytes;
    weights += other.weights;
    return *this;
}

int64_t Workload::n_neurons(size_t layer) const {
    int64_t n = 0;
    for (const Group& g : layers[layer].groups) n += g.n_neurons;
    return n;
}

uint64_t Workload::layer_bytes(size_t layer) const {
    const LayerLoad& l = layers[layer];
    uint64_t row = 0;
    for (const uint32_t b : l.row_bytes) row += b;
    return static_cast<uint64_t>(l.attention.bytes + l.shared.bytes) + l.kv_bytes + row * static_cast<uint64_t>(n_neurons(layer));
}

uint64_t Workload::total_bytes() const {
    uint64_t bytes = embedding_bytes + (tied_head ? 0 : static_cast<uint64_t>(head.bytes));
    for (size_t l = 0; l < layers.size(); ++l) bytes += layer_bytes(l);
    return bytes;
}

std::vector<int32_t> hottest_first(const std::vector<double>& frequency) {
    std::vector<int32_t> order(frequency.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return frequency[static_cast<size_t>(a)] > frequency[static_cast<size_t>(b)];
    });
    return order;
}

std::vector<Group> groups_of(std::vector<double> frequency) {
    std::sort(frequency.begin(), frequency.end(), std::greater<>());
    std::vector<Group> groups;
    for (size_t begin = 0; begin < frequency.size(); begin += kGroupNeurons) {
        const size_t n = std::min<size_t>(kGroupNeurons, frequency.size() - begin);
        double sum = 0;
        for (size_t i = begin; i < begin + n; ++i) sum += frequency[i];
        groups.push_back({sum / static_cast<double>(n), static_cast<uint32_t>(n)});
    }
    return groups;
}

Frequencies frequencies_of(const sparsity::ActivationProfile& profile) {
    const auto tokens = static_cast<double>(profile.tokens_or_bound());
    Frequencies all;
    for (const sparsity::LayerProfile& layer : profile.layers) {
        std::vector<double> f;
        f.reserve(layer.fires.size());
        for (const uint64_t n : layer.fires) f.push_back(static_cast<double>(n) / tokens);
        all.push_back(std::move(f));
    }
    return all;
}

Workload workload_of(const model::Model& model, const Plan& plan, const Frequencies& frequencies) {
    const model::ModelSpec& spec = model.spec;
    Workload w;
    w.model = fmt::format("{} ({} layers of {} neurons, {} wide)", spec.name.empty() ? spec.architecture : spec.name,
                          spec.n_layer, spec.n_ff, spec.n_embd);
    w.n_embd = spec.n_embd;
    w.n_vocab = spec.n_vocab;
    for (const TensorView* v : {&model.tensors.output, &model.tensors.output_norm}) add(w.head, w.head_tensors, piece(*v));
    w.embedding_bytes = model.tensors.token_embd.n_bytes();
    w.tied_head = spec.tied_output;
    w.read_share_of_kv = kReadShareOfCache;
    w.scratch_bytes = plan.scratch_bytes;
    if (plan.mode != Mode::off) check_frequencies(frequencies, model.tensors.layers.size(), spec.n_ff);
    for (size_t i = 0; i < model.tensors.layers.size(); ++i) {
        const LayerTensors& t = model.tensors.layers[i];
        LayerLoad l;
        for (const TensorView* v : {&t.attn_norm, &t.attn_q, &t.attn_k, &t.attn_v, &t.attn_output, &t.attn_q_bias,
                                    &t.attn_k_bias, &t.attn_v_bias, &t.attn_output_bias})
            add(l.attention, l.attention_tensors, piece(*v));
        l.kv_bytes = plan.kv_bytes / model.tensors.layers.size();
        const bool predicts = plan.mode == Mode::predict;
        for (const TensorView* v : {&t.ffn_norm, &t.ffn_down_bias}) add(l.shared, l.shared_tensors, piece(*v));
        if (predicts) add(l.shared, l.shared_tensors, piece(t.fc1));
        const Piece gate = row_of(t.ffn_gate), up = row_of(t.ffn_up), down = t.ffn_down_t ? row_of(t.ffn_down_t) : column_of(t.ffn_down);
        for (const Piece& p : {gate, up, down})
            if (p.bytes > 0) l.row_bytes.push_back(static_cast<uint32_t>(p.bytes));
        if (predicts) {
            l.always = row_of(t.fc2);
            l.row_bytes.push_back(static_cast<uint32_t>(l.always.bytes));
            for (const Piece& p : {gate, up, down}) l.fired += p;
        } else if (spec.gated) {
            l.always = gate;
            l.fired = up;
            l.fired += down;
        } else {
            l.always = up;
            l.fired = down;
        }
        l.groups = groups_of(plan.mode == Mode::off ? std::vector<double>(static_cast<size_t>(spec.n_ff), 1.0) : frequencies[i]);
        w.layers.push_back(std::move(l));
    }
    w.fingerprint = fingerprint(w);
    return w;
}

Workload workload_of(const Shape& s, const Frequencies& frequencies) {
    check_frequencies(frequencies, static_cast<size_t>(s.n_layer), s.n_ff);
    Workload w;
    w.model = fmt::format("{} ({} layers of {} neurons, {} wide, {}{})", s.name, s.n_layer, s.n_ff, s.n_embd, info(s.type).name,
                          s.rank > 0 ? fmt::format(", predictors of rank {}", s.rank) : "");
    w.n_embd = s.n_embd;
    w.n_vocab = s.n_vocab;
    add(w.head, w.head_tensors, matrix(s.type, s.n_embd, s.n_vocab));
    w.embedding_bytes = static_cast<uint64_t>(w.head.bytes);
    add(w.head, w.head_tensors, floats(s.n_embd));
    w.read_share_of_kv = kReadShareOfCache;
    w.scratch_bytes = sizeof(float) * (static_cast<uint64_t>(s.n_batch) *
                                           static_cast<uint64_t>(6 * s.n_embd + 2 * s.n_embd_kv + 5 * s.n_ff) +
                                       static_cast<uint64_t>(s.n_vocab));
    for (const std::vector<double>& f : frequencies) {
        LayerLoad l;
        for (const int n : {s.n_embd, s.n_embd_kv, s.n_embd_kv, s.n_embd})
            add(l.attention, l.attention_tensors, matrix(s.type, s.n_embd, n));
        add(l.attention, l.attention_tensors, floats(s.n_embd));
        l.kv_bytes = 2 * static_cast<uint64_t>(s.n_ctx) * row_bytes(s.kv_type, s.n_embd_kv);
        add(l.shared, l.shared_tensors, floats(s.n_embd));
        const Piece row = matrix(s.type, s.n_embd, 1);
        l.row_bytes.assign(3, static_cast<uint32_t>(row.bytes));
        if (s.rank > 0) {
            add(l.shared, l.shared_tensors, matrix(s.predictor_type, s.n_embd, s.rank));
            l.always = matrix(s.predictor_type, s.rank, 1);
            l.row_bytes.push_back(static_cast<uint32_t>(l.always.bytes));
            l.fired = row * 3;
        } else {
            l.always = row;
            l.fired = row * 2;
        }
        l.groups = groups_of(f);
        w.layers.push_back(std::move(l));
    }
    w.fingerprint = fingerprint(w);
    return w;
}

std::vector<double> power_law(int n_ff, double active_share, double share_of_80) {
    const auto n = static_cast<size_t>(n_ff);
    std::vector<double> f(n);
    // With m neurons cut off at 1, the others must make what is left of the sum: c follows, and m is right once it grows
    // to where the curve falls below 1.
    const auto shape = [&](double exponent) {
        for (size_t k = 0; k < n; ++k) f[k] = std::pow(static_cast<double>(k + 1), -exponent);
        double tail = std::accumulate(f.begin(), f.end(), 0.0), left = active_share * n_ff;
        size_t m = 0;
        while (m + 1 < n && left / tail * f[m] > 1) tail -= f[m++], left -= 1;
        const double c = left / tail;
        for (size_t k = 0; k < n; ++k) f[k] = k < m ? 1.0 : std::clamp(c * f[k], 0.0, 1.0);
    };
    const auto covering = [&] {
        const double wanted = 0.8 * std::accumulate(f.begin(), f.end(), 0.0);
        double sum = 0;
        size_t k = 0;
        while (k < n && sum < wanted) sum += f[k++];
        return static_cast<double>(k) / static_cast<double>(n);
    };
    double low = 0, high = 4;
    shape(low);
    if (covering() < share_of_80)
        fail(ErrorKind::bad_argument, "no firing curve has 80 % of its weight on {} of the neurons, expected up to 0.8", share_of_80);
    shape(high);
    if (covering() > share_of_80)
        fail(ErrorKind::bad_argument, "no firing curve with mean {} has 80 % of its weight on as few as {} of the neurons",
             active_share, share_of_80);
    for (int i = 0; i < 40; ++i) {
        const double exponent = (low + high) / 2;
        shape(exponent);
        (covering() > share_of_80 ? low : high) = exponent;
    }
    return f;
}

}  // namespace powerinfer::plan
