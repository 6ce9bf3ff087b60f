#include "engine/feed_forward.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "quant/activation_q8.h"
#include "quant/lane_order.h"

namespace powerinfer::engine {
namespace {

using kernels::GateActivation;
using sparsity::Mode;

// Enough chunks to keep many threads evenly busy, few enough that adding their partial sums costs little.
constexpr int64_t kMaxChunks = 32;
// Neurons and tokens of one tile of the many-token path: weights and activations of a tile stay in the second-level cache.
constexpr int64_t kTileNeurons = 64;
constexpr int64_t kTileTokens = 64;
// Tokens of a tile where rows meet token lists: the longer the lists, the less it costs to take a row apart.
constexpr int64_t kListedTokens = 128;
// Columns of the down projection summed at a time: a multiple of every block size.
constexpr int64_t kTileColumns = kernels::kPreparedColumns;
// Tokens from which on it pays to take the rows of the down projection apart once for all.
constexpr int64_t kPreparedTokens = 24;
GateActivation kernel_activation(model::Activation a) {
    switch (a) {
        case model::Activation::silu: return GateActivation::silu;
        case model::Activation::relu: return GateActivation::relu;
        case model::Activation::relu_squared: return GateActivation::relu_squared;
        case model::Activation::gelu: return GateActivation::gelu;
        case model::Activation::drelu: return GateActivation::drelu;
    }
    return GateActivation::silu;
}

/// A multiple of the largest block, so that a chunk's part of h can be encoded by itself.
int64_t chunk_of(int64_t n_ff) {
    const int64_t chunk = (n_ff + kMaxChunks - 1) / kMaxChunks;
    const int64_t multiple = n_ff % 256 == 0 ? 256 : 64;
    return (chunk + multiple - 1) / multiple * multiple;
}

int block_of(quant::ActivationEncoding encoding) {
    return encoding == quant::ActivationEncoding::q8_32 ? 32 : 256;
}

/// Listed rows of `m` (or n_rows rows from `first` when the list is null) times one vector.
void dot_rows(const Matrix& m, int64_t first, const int32_t* row_ids, int64_t n_rows, const uint8_t* act, float* out) {
    if (n_rows == 0) return;
    m.dot({.weights = row_ids ? m.data : m.data + static_cast<size_t>(first) * m.row_stride,
           .row_stride = m.row_stride,
           .row_ids = row_ids,
           .n_rows = n_rows,
           .n = m.n_in,
           .acts = act,
           .out = out});
    if (m.bias) {
        for (int64_t r = 0; r < n_rows; ++r) out[r] += m.bias[row_ids ? row_ids[r] : first + r];
    }
}

}  // namespace

FeedForward::FeedForward(const model::ModelSpec& spec, int n_batch, int64_t max_rank, int n_threads_max, double dense_from)
    : spec_(spec),
      activation_(kernel_activation(spec.activation)),
      dense_from_(dense_from),
      chunk_(chunk_of(spec.n_ff)),
      n_chunks_((spec.n_ff + chunk_ - 1) / chunk_),
      h_(static_cast<size_t>(n_batch) * static_cast<size_t>(spec.n_ff) * sizeof(float)),
      coefs_(static_cast<size_t>(n_batch) * static_cast<size_t>(spec.n_ff) * sizeof(float)),
      ids_(static_cast<size_t>(n_batch) * static_cast<size_t>(spec.n_ff) * sizeof(int32_t)),
      starts_(static_cast<size_t>(n_batch) * static_cast<size_t>(n_chunks_ + 1) * sizeof(int32_t)),
      partial_(static_cast<size_t>(n_chunks_) * static_cast<size_t>(spec.n_embd) * sizeof(float)),
      predictor_inputs_(spec.n_embd, n_batch, max_rank),
      h_acts_(spec.n_ff, n_batch),
      scratch_(static_cast<size_t>(n_threads_max)) {
    const auto tile = static_cast<size_t>(std::max(chunk_, kTileNeurons * kListedTokens));
    for (Scratch& s : scratch_) {
        for (auto* list : {&s.ids, &s.fired, &s.tokens}) list->resize(tile);
        for (auto* values : {&s.gate, &s.up, &s.h, &s.logits, &s.values}) values->resize(tile);
        s.encoded.resize(quant::activation_bytes(quant::ActivationEncoding::q8_32, (chunk_ + 255) / 256 * 256));
    }
}

void FeedForward::run(int layer, const FfnWeights& weights, Mode mode, const float* residual, Activations& normed, float* y,
                      const kernels::Ops& ops, ThreadPool& pool, int n_threads, LayerCounts& counts,
                      uint64_t& weight_bytes) {
    Call call{layer, weights, mode, normed, y, ops, pool, n_threads};
    normed.prepare(weights.gate.encoding, ops, pool, n_threads);
    normed.prepare(weights.up.encoding, ops, pool, n_threads);
    if (mode == Mode::predict) predictor_inputs_.set(weights.predictor, residual, normed, ops, pool, n_threads);
    if (observer_) {
        show_neurons(call, residual);
        down_step(call);
    } else if (call.n_tokens() == 1 && weights.is_by_neuron()) {
        one_token(call);
    } else {
        compute_neurons(call);
        down_step(call);
    }
    const auto tokens = static_cast<uint64_t>(call.n_tokens());
    counts.neurons += tokens * static_cast<uint64_t>(spec_.n_ff);
    counts.selected += call.selected;
    counts.positive += call.positive;
    counts.fired += call.fired;
    weight_bytes += call.rows_gate * weights.gate.row_stride;
    weight_bytes += call.rows_up * (weights.up.row_stride + weights.down_t.row_stride + weights.grouped.code_stride);
    if (weights.down) weight_bytes += static_cast<uint64_t>(weights.down.n_out) * weights.down.row_stride;
    if (mode == Mode::predict) weight_bytes += weights.predictor.n_bytes(spec_.n_ff);
    if (weights.down_bias) {
        for (int64_t t = 0; t < call.n_tokens(); ++t) ops.add(weights.down_bias, y + t * spec_.n_embd, spec_.n_embd);
    }
}

void FeedForward::one_token(Call& call) {
    std::atomic<int64_t> next{0};
    call.pool.run(
        [&](int thread) {
            for (int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < n_chunks_;)
                one_token_chunk(call, scratch_[static_cast<size_t>(thread)], c);
        },
        call.n_threads);
    // The partial sums, in chunk order.
    const float* partial = partial_.as<float>();
    call.pool.for_each(
        spec_.n_embd, 1024,
        [&](int64_t begin, int64_t end) {
            std::memset(call.y + begin, 0, static_cast<size_t>(end - begin) * sizeof(float));
            for (int64_t c = 0; c < n_chunks_; ++c) call.ops.add(partial + c * spec_.n_embd + begin, call.y + begin, end - begin);
        },
        call.n_threads);
}

void FeedForward::one_token_chunk(Call& call, Scratch& s, int64_t chunk) {
    const FfnWeights& w = call.weights;
    const int64_t begin = chunk * chunk_;
    const int64_t n = std::min<int64_t>(chunk_, spec_.n_ff - begin);

    // 1. Who may fire: all, or those the predictor names.
    int64_t n_selected = n;
    const int32_t* selected = nullptr;
    if (call.mode == Mode::predict) {
        predictor_inputs_.scores(w.predictor, begin, n, 0, 1, s.logits.data(), n);
        n_selected = 0;
        for (int64_t j = 0; j < n; ++j) {
            if (w.predictor.selects(s.logits[static_cast<size_t>(j)]))
                s.ids[static_cast<size_t>(n_selected++)] = static_cast<int32_t>(begin + j);
        }
        selected = s.ids.data();
    }
    dot_rows(w.gate, begin, selected, n_selected, call.normed.data(w.gate.encoding), s.gate.data());

    // 2. Who does fire: a gate that is not above zero costs no up row and no down row.
    int64_t n_fired = n_selected;
    const int32_t* fired = selected;
    const auto n_positive = std::count_if(s.gate.begin(), s.gate.begin() + n_selected, [](float g) { return g > 0; });
    if (call.mode != Mode::off) {
        n_fired = 0;
        for (int64_t k = 0; k < n_selected; ++k) {
            const float g = s.gate[static_cast<size_t>(k)];
            if (g <= 0) continue;  // NaN goes on, to be reported
            s.gate[static_cast<size_t>(n_fired)] = g;
            s.fired[static_cast<size_t>(n_fired++)] = selected ? selected[k] : static_cast<int32_t>(begin + k);
        }
        fired = s.fired.data();
    }
    dot_rows(w.up, begin, fired, n_fired, call.normed.data(w.up.encoding), s.up.data());
    call.ops.gate(activation_, s.gate.data(), s.up.data(), s.h.data(), n_fired);
    const int64_t n_up = n_fired;
    if (activation_ == GateActivation::drelu && call.mode != Mode::off) {  // a second gate: up may say no as well
        n_fired = 0;
        for (int64_t k = 0; k < n_up; ++k) {
            if (s.h[static_cast<size_t>(k)] == 0) continue;
            s.h[static_cast<size_t>(n_fired)] = s.h[static_cast<size_t>(k)];
            s.fired[static_cast<size_t>(n_fired++)] = s.fired[static_cast<size_t>(k)];
        }
    }

    // 3. Their rows of the down projection, one after another.
    float* partial = partial_.as<float>() + chunk * spec_.n_embd;
    std::memset(partial, 0, static_cast<size_t>(spec_.n_embd) * sizeof(float));
    if (w.is_grouped()) {
        add_chunk_grouped(call, s, chunk, n_fired);
    } else {
        w.down_t.axpy(
            {.weights = w.down_t.data,
             .row_stride = w.down_t.row_stride,
             .row_ids = fired,
             .coef = s.h.data(),
             .n_rows = n_fired,
             .n = spec_.n_embd,
             .out = partial,
             .first_row = begin});
    }
    call.selected.fetch_add(static_cast<uint64_t>(n_selected), std::memory_order_relaxed);
    call.positive.fetch_add(static_cast<uint64_t>(n_positive), std::memory_order_relaxed);
    call.fired.fetch_add(static_cast<uint64_t>(n_up), std::memory_order_relaxed);
    call.rows_gate.fetch_add(static_cast<uint64_t>(n_selected), std::memory_order_relaxed);
    call.rows_up.fetch_add(static_cast<uint64_t>(n_up), std::memory_order_relaxed);
}

void FeedForward::add_chunk_grouped(Call& call, Scratch& s, int64_t chunk, int64_t n_fired) {
    const FfnWeights& w = call.weights;
    const int64_t begin = chunk * chunk_;
    const int64_t n = std::min<int64_t>(chunk_, spec_.n_ff - begin);
    // h of the whole chunk, silent neurons zero, encoded as the dense product would encode it.
    float* h = s.values.data();
    std::fill_n(h, n, 0.0f);
    for (int64_t k = 0; k < n_fired; ++k) {
        int32_t& id = s.fired[static_cast<size_t>(k)];
        id -= static_cast<int32_t>(begin);
        h[id] = s.h[static_cast<size_t>(k)];
    }
    call.ops.encode(w.grouped_encoding, h, s.encoded.data(), n);
    call.ops.grouped_axpy({.matrix = &w.grouped,
                           .first_neuron = begin,
                           .ids = s.fired.data(),
                           .n_ids = n_fired,
                           .q = reinterpret_cast<const int8_t*>(s.encoded.data()),
                           .d = reinterpret_cast<const float*>(s.encoded.data() +
                                                               quant::q8_parts(w.grouped_encoding, n).d),
                           .d_block = block_of(w.grouped_encoding),
                           .column = 0,
                           .n = spec_.n_embd,
                           .out = partial_.as<float>() + chunk * spec_.n_embd});
}

void FeedForward::compute_neurons(Call& call) {
    if (call.mode != Mode::off) {
        for (const Matrix* m : {&call.weights.gate, &call.weights.up}) {
            if (m->dot_lists) call.normed.prepare_lanes(m->encoding, call.ops, call.pool, call.n_threads);
        }
    }
    const int64_t n_blocks = (spec_.n_ff + kTileNeurons - 1) / kTileNeurons;
    std::atomic<int64_t> next{0};
    call.pool.run(
        [&](int thread) {
            for (int64_t b; (b = next.fetch_add(1, std::memory_order_relaxed)) < n_blocks;)
                neuron_block(call, scratch_[static_cast<size_t>(thread)], b * kTileNeurons,
                             std::min<int64_t>((b + 1) * kTileNeurons, spec_.n_ff));
        },
        call.n_threads);
}

void FeedForward::down_step(Call& call) {
    if (call.weights.down) return dense_down(call);
    if (call.mode != Mode::off) list_active(call);
    if (call.weights.is_grouped()) {
        h_acts_.set(h_.as<float>(), spec_.n_ff, spec_.n_ff, call.n_tokens());
        h_acts_.prepare(call.weights.grouped_encoding, call.ops, call.pool, call.n_threads);
    }
    down_tiles(call);
}

void FeedForward::dense_down(Call& call) {
    h_acts_.set(h_.as<float>(), spec_.n_ff, spec_.n_ff, call.n_tokens());
    multiply({{&call.weights.down, call.y, spec_.n_embd}}, h_acts_, call.ops, call.pool, call.n_threads);
}

void FeedForward::neuron_block(Call& call, Scratch& s, int64_t begin, int64_t end) {
    const int64_t tile = call.mode == Mode::off ? kTileTokens : kListedTokens;
    for (int64_t t = 0; t < call.n_tokens(); t += tile)
        neuron_tile(call, s, begin, end, t, std::min(tile, call.n_tokens() - t));
}

void FeedForward::neuron_tile(Call& call, Scratch& s, int64_t begin, int64_t end, int64_t token, int64_t n_tokens) {
    const FfnWeights& w = call.weights;
    const int64_t n = end - begin;
    float* h = h_.as<float>() + token * spec_.n_ff + begin;
    const auto acts_of = [&](const Matrix& m, const Activations& a) {
        return a.data(m.encoding) + static_cast<size_t>(token) * a.stride(m.encoding);
    };
    // Rows [first, first + count) of the tile times all its tokens: out[t][j].
    const auto dense_rows = [&](const Matrix& m, const Activations& a, int64_t first, int64_t count, float* out) {
        m.dot({.weights = m.data + static_cast<size_t>(begin + first) * m.row_stride,
               .row_stride = m.row_stride,
               .n_rows = count,
               .n = m.n_in,
               .acts = acts_of(m, a),
               .act_stride = a.stride(m.encoding),
               .n_tokens = n_tokens,
               .out = out + first,
               .out_stride = kTileNeurons});
        if (m.bias == nullptr) return;
        for (int64_t t = 0; t < n_tokens; ++t) {
            for (int64_t j = first; j < first + count; ++j) out[t * kTileNeurons + j] += m.bias[begin + j];
        }
    };
    const auto dense = [&](const Matrix& m, const Activations& a, float* out) { dense_rows(m, a, 0, n, out); };
    // Every row of the tile times its tokens s.tokens[starts[j] ...], into values of the same order.
    const auto listed_rows = [&](const Matrix& m, const int32_t* starts, float* values) {
        const uint8_t* rows = m.data + static_cast<size_t>(begin) * m.row_stride;
        if (m.dot_lists) {
            const size_t stride = quant::lane_order_bytes(m.encoding, m.n_in);
            m.dot_lists({.weights = rows,
                         .row_stride = m.row_stride,
                         .n_rows = n,
                         .n = m.n_in,
                         .acts = call.normed.lanes(m.encoding) + static_cast<size_t>(token) * stride,
                         .act_stride = stride,
                         .starts = starts,
                         .tokens = s.tokens.data(),
                         .out = values});
        }
        for (int64_t j = 0; j < n; ++j) {
            const int64_t n_listed = starts[j + 1] - starts[j];
            if (n_listed == 0) continue;
            float* out = values + starts[j];
            if (!m.dot_lists) {
                m.dot({.weights = rows + static_cast<size_t>(j) * m.row_stride,
                       .row_stride = m.row_stride,
                       .n_rows = 1,
                       .n = m.n_in,
                       .acts = acts_of(m, call.normed),
                       .act_stride = call.normed.stride(m.encoding),
                       .token_ids = s.tokens.data() + starts[j],
                       .n_tokens = n_listed,
                       .out = out,
                       .out_stride = 1});
            }
            if (m.bias == nullptr) continue;
            for (int64_t k = 0; k < n_listed; ++k) out[k] += m.bias[begin + j];
        }
    };
    const auto at = [&](int64_t t, int64_t j) { return static_cast<size_t>(t * kTileNeurons + j); };

    const auto pairs = static_cast<uint64_t>(n * n_tokens);
    uint64_t n_selected = pairs, n_positive = 0, n_fired = pairs, rows_gate = static_cast<uint64_t>(n), rows_up = rows_gate;
    if (call.mode == Mode::off) {
        dense(w.gate, call.normed, s.gate.data());
        dense(w.up, call.normed, s.up.data());
        for (int64_t t = 0; t < n_tokens; ++t) {
            const float* gates = &s.gate[at(t, 0)];
            n_positive += static_cast<uint64_t>(std::count_if(gates, gates + n, [](float g) { return g > 0; }));
            call.ops.gate(activation_, gates, &s.up[at(t, 0)], h + t * spec_.n_ff, n);
        }
    } else {
        // Unselected pairs get a gate of -1, which no sparse activation lets through.
        if (call.mode == Mode::predict) {
            predictor_inputs_.scores(w.predictor, begin, n, token, n_tokens, s.logits.data(), kTileNeurons);
            n_selected = 0;
            for (int64_t t = 0; t < n_tokens; ++t) {
                for (int64_t j = 0; j < n; ++j) n_selected += w.predictor.selects(s.logits[at(t, j)]);
            }
        }
        const auto is_selected = [&](int64_t t, int64_t j) {
            return call.mode != Mode::predict || w.predictor.selects(s.logits[at(t, j)]);
        };
        // Fills out[t][j] for the pairs that `wanted` names, a group of rows at a time by whichever way costs less; both
        // give the same bits.
        const auto compute = [&](const Matrix& m, uint64_t n_wanted, float* out, auto&& wanted) {
            if (n_wanted == pairs) {
                dense(m, call.normed, out);
                return static_cast<uint64_t>(n);
            }
            const double most = static_cast<double>(n_tokens) * (m.dot_lists ? dense_from_ : 1);
            int32_t starts[kTileNeurons + 1];
            int32_t total = 0;
            uint64_t n_rows = 0;
            for (int64_t first = 0; first < n; first += kernels::kRowGroup) {
                const int64_t end_of_group = std::min(n, first + kernels::kRowGroup);
                const int32_t before = total;
                for (int64_t j = first; j < end_of_group; ++j) {
                    starts[j] = total;
                    for (int64_t t = 0; t < n_tokens; ++t) {
                        s.tokens[static_cast<size_t>(total)] = static_cast<int32_t>(t);
                        total += wanted(t, j);
                    }
                    n_rows += total > starts[j];
                }
                if (total - before <= most) continue;
                dense_rows(m, call.normed, first, end_of_group - first, out);
                total = before;
                std::fill(starts + first, starts + end_of_group, total);
            }
            starts[n] = total;
            listed_rows(m, starts, s.values.data());
            for (int64_t j = 0; j < n; ++j) {
                for (int32_t k = starts[j]; k < starts[j + 1]; ++k)
                    out[at(s.tokens[static_cast<size_t>(k)], j)] = s.values[static_cast<size_t>(k)];
            }
            return n_rows;
        };
        rows_gate = compute(w.gate, n_selected, s.gate.data(), is_selected);
        n_fired = 0;
        for (int64_t t = 0; t < n_tokens; ++t) {
            for (int64_t j = 0; j < n; ++j) {
                float& g = s.gate[at(t, j)];
                if (!is_selected(t, j) || g <= 0) {
                    g = -1;
                } else {
                    ++n_fired;
                }
            }
        }
        n_positive = n_fired;
        rows_up = compute(w.up, n_fired, s.up.data(), [&](int64_t t, int64_t j) { return !(s.gate[at(t, j)] <= 0); });
        for (int64_t t = 0; t < n_tokens; ++t) {
            for (int64_t j = 0; j < n; ++j) {
                if (s.gate[at(t, j)] <= 0) s.up[at(t, j)] = 0;
            }
            call.ops.gate(activation_, &s.gate[at(t, 0)], &s.up[at(t, 0)], h + t * spec_.n_ff, n);
        }
    }
    call.selected.fetch_add(n_selected, std::memory_order_relaxed);
    call.positive.fetch_add(n_positive, std::memory_order_relaxed);
    call.fired.fetch_add(n_fired, std::memory_order_relaxed);
    call.rows_gate.fetch_add(rows_gate, std::memory_order_relaxed);
    call.rows_up.fetch_add(rows_up, std::memory_order_relaxed);
}

void FeedForward::list_active(Call& call) {
    call.pool.for_each(
        call.n_tokens(), 1,
        [&](int64_t begin, int64_t end) {
            for (int64_t t = begin; t < end; ++t) {
                const float* h = h_.as<float>() + t * spec_.n_ff;
                float* coefs = coefs_.as<float>() + t * spec_.n_ff;
                int32_t* ids = ids_.as<int32_t>() + t * spec_.n_ff;
                int32_t* starts = starts_.as<int32_t>() + t * (n_chunks_ + 1);
                int32_t count = 0;
                for (int64_t j = 0; j < spec_.n_ff; ++j) {
                    if (j % chunk_ == 0) starts[j / chunk_] = count;
                    if (h[j] == 0) continue;
                    coefs[count] = h[j];
                    ids[count++] = static_cast<int32_t>(j);
                }
                starts[n_chunks_] = count;
            }
        },
        call.n_threads);
}

void FeedForward::down_tiles(Call& call) {
    const int64_t n_tiles = (spec_.n_embd + kTileColumns - 1) / kTileColumns;
    const kernels::PreparedAxpy& prepared = call.weights.down_t.prepared_axpy;
    const bool prepare = call.n_tokens() >= kPreparedTokens && prepared.prepare != nullptr;
    std::atomic<int64_t> next{0};
    call.pool.run(
        [&](int thread) {
            AlignedBuffer& rows = scratch_[static_cast<size_t>(thread)].prepared;
            const size_t bytes = static_cast<size_t>(chunk_) * prepared.row_bytes;
            if (prepare && rows.size() < bytes) rows = AlignedBuffer(bytes);
            for (int64_t tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < n_tiles;)
                down_tile(call, tile * kTileColumns, prepare ? rows.data() : nullptr);
        },
        call.n_threads);
}

void FeedForward::down_tile(Call& call, int64_t column, uint8_t* prepared) {
    const Matrix& down = call.weights.down_t;
    const int64_t width = std::min<int64_t>(kTileColumns, spec_.n_embd - column);
    for (int64_t t = 0; t < call.n_tokens(); ++t)
        std::memset(call.y + t * spec_.n_embd + column, 0, static_cast<size_t>(width) * sizeof(float));
    // Chunks outside, tokens inside: the rows' pieces are read once and reused from the cache.
    for (int64_t c = 0; c < n_chunks_; ++c) {
        if (prepared) {
            down.prepared_axpy.prepare(
                {.weights = down.data + static_cast<size_t>(c * chunk_) * down.row_stride + row_bytes(down.type, column),
                 .row_stride = down.row_stride,
                 .n_rows = std::min<int64_t>(chunk_, spec_.n_ff - c * chunk_),
                 .n = width,
                 .dst = prepared});
        }
        for (int64_t t = 0; t < call.n_tokens(); ++t) {
            float partial[kTileColumns] = {};
            if (call.weights.is_grouped()) {
                add_tile_grouped(call, t, c, column, width, partial);
            } else {
                add_tile(call, t, c, column, width, prepared, partial);
            }
            call.ops.add(partial, call.y + t * spec_.n_embd + column, width);
        }
    }
}

void FeedForward::add_tile(Call& call, int64_t t, int64_t chunk, int64_t column, int64_t width, const uint8_t* prepared,
                           float* out) {
    const Matrix& down = call.weights.down_t;
    const int64_t first = chunk * chunk_;
    kernels::AxpyArgs args{.weights = prepared ? prepared : down.data + row_bytes(down.type, column),
                           .row_stride = prepared ? down.prepared_axpy.row_bytes : down.row_stride,
                           .coef = nullptr,
                           .n_rows = std::min<int64_t>(chunk_, spec_.n_ff - first),
                           .n = width,
                           .out = out,
                           .first_row = first,
                           .base_row = prepared ? first : 0};
    if (call.mode == Mode::off) {
        args.coef = h_.as<float>() + t * spec_.n_ff + first;
    } else {
        const int32_t* starts = starts_.as<int32_t>() + t * (n_chunks_ + 1);
        args.row_ids = ids_.as<int32_t>() + t * spec_.n_ff + starts[chunk];
        args.coef = coefs_.as<float>() + t * spec_.n_ff + starts[chunk];
        args.n_rows = starts[chunk + 1] - starts[chunk];
    }
    (prepared ? down.prepared_axpy.axpy : down.axpy)(args);
}

void FeedForward::add_tile_grouped(Call& call, int64_t t, int64_t chunk, int64_t column, int64_t width, float* out) {
    const auto encoding = call.weights.grouped_encoding;
    const int32_t* starts = starts_.as<int32_t>() + t * (n_chunks_ + 1);
    const uint8_t* encoded = h_acts_.data(encoding) + static_cast<size_t>(t) * h_acts_.stride(encoding);
    call.ops.grouped_axpy(
        {.matrix = &call.weights.grouped,
         .ids = ids_.as<int32_t>() + t * spec_.n_ff + starts[chunk],
         .n_ids = starts[chunk + 1] - starts[chunk],
         .q = reinterpret_cast<const int8_t*>(encoded),
         .d = reinterpret_cast<const float*>(encoded + quant::q8_parts(encoding, spec_.n_ff).d),
         .d_block = block_of(encoding),
         .column = column,
         .n = width,
         .out = out});
}

}  // namespace powerinfer::engine
