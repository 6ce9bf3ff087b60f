#include "engine/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace powerinfer::engine {
namespace {

constexpr int kBlock = kernels::kAttentionBlock;
constexpr int kRun = 1024;              // positions that one state sums up; a multiple of kBlock
constexpr int kRows = 16;               // query heads that share a read of keys and values, if a token has fewer
constexpr int kSharedPerThread = 64;    // blocks and heads from which runs need not be handed out one by one
constexpr size_t kPartialBytes = size_t{16} << 20;

size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

}  // namespace

Attention::Attention(const model::ModelSpec& spec, int n_threads_max)
    : spec_(spec),
      rows_max_(std::max(kRows, spec.n_group())),
      encoded_stride_(quant::activation_bytes(quant::ActivationEncoding::q8_32, spec.head_dim)),
      partials_(kPartialBytes),
      open_runs_(new std::atomic<int>[static_cast<size_t>(kSharedPerThread * n_threads_max)]) {
    const size_t query_bytes = static_cast<size_t>(spec.head_dim) * sizeof(float) + encoded_stride_;
    thread_bytes_ = round_up(static_cast<size_t>(rows_max_) * query_bytes, 64) +
                    2 * state_floats(rows_max_) * sizeof(float);
    scratch_ = AlignedBuffer(thread_bytes_ * static_cast<size_t>(n_threads_max));
}

size_t Attention::state_floats(int rows) const {
    return round_up(static_cast<size_t>(rows) * static_cast<size_t>(spec_.head_dim + 2), 16);
}

Attention::State Attention::state_at(float* memory, int rows) const {
    return {memory, memory + rows, memory + 2 * rows};
}

/// First position that a token sees.
int Attention::first_position(const Block& block, int token) const {
    return spec_.sliding_window > 0 ? std::max(0, block.position + token + 1 - spec_.sliding_window) : 0;
}

void Attention::make_blocks(std::span<const TokenPlace> places) {
    const int most = std::max(1, kRows / spec_.n_group());
    blocks_.clear();
    for (size_t t = 0; t < places.size(); ++t) {
        Block* last = blocks_.empty() ? nullptr : &blocks_.back();
        if (last && last->n_tokens < most && places[t].seq == last->seq &&
            places[t].position == last->position + last->n_tokens) {
            ++last->n_tokens;
        } else {
            blocks_.push_back({static_cast<int64_t>(t), 1, places[t].seq, places[t].position});
        }
    }
}

void Attention::run(int layer, std::span<const TokenPlace> places, const float* q, float* out, KvCache& cache,
                    const kernels::Ops& ops, ThreadPool& pool, int n_threads) {
    make_blocks(places);
    Pass pass{layer, q, out, cache, ops, ops.attention[static_cast<size_t>(cache.type())], 0, 0, false};
    for (const Block& block : blocks_) {
        pass.rows = std::max(pass.rows, block.n_tokens * spec_.n_group());
        pass.n_runs = std::max(pass.n_runs, (block.position + block.n_tokens - 1) / kRun + 1);
    }
    const auto n_slots = static_cast<int64_t>(blocks_.size()) * spec_.n_head_kv;
    const double bytes = static_cast<double>(n_slots) * pass.n_runs * static_cast<double>(state_floats(pass.rows)) * 4;
    pass.split = pass.n_runs > 1 && n_slots < kSharedPerThread * n_threads && bytes <= kPartialBytes;
    if (pass.split) {
        for (int64_t slot = 0; slot < n_slots; ++slot)
            open_runs_[static_cast<size_t>(slot)].store(pass.n_runs, std::memory_order_relaxed);
    }
    const int64_t n_items = n_slots * (pass.split ? pass.n_runs : 1);
    std::atomic<int64_t> next{0};
    pool.run(
        [&](int thread) {
            for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n_items;) one_item(pass, i, thread);
        },
        n_threads);
}

void Attention::one_item(const Pass& pass, int64_t item, int thread) {
    const int64_t slot = pass.split ? item / pass.n_runs : item;
    const auto n_blocks = static_cast<int64_t>(blocks_.size());
    const Block& block = blocks_[static_cast<size_t>(slot % n_blocks)];
    const auto head = static_cast<int>(slot / n_blocks);
    const size_t floats = state_floats(rows_max_);
    auto* memory = reinterpret_cast<float*>(scratch_.data() + static_cast<size_t>(thread + 1) * thread_bytes_) - 2 * floats;
    const State all = state_at(memory, rows_max_), one = state_at(memory + floats, rows_max_);
    size_t q_stride = 0;
    const uint8_t* q = queries(pass, block, head, thread, q_stride);
    if (!pass.split) {
        for (int run = 0; run < pass.n_runs; ++run) {
            one_run(pass, block, head, run, q, q_stride, one);
            fold(block, run, one, all);
        }
        finish(pass, block, head, all);
        return;
    }
    float* partials = partials_.as<float>() + static_cast<size_t>(slot * pass.n_runs) * state_floats(pass.rows);
    const auto partial = [&](int run) {
        return state_at(partials + static_cast<size_t>(run) * state_floats(pass.rows), pass.rows);
    };
    const auto run = static_cast<int>(item % pass.n_runs);
    one_run(pass, block, head, run, q, q_stride, partial(run));
    if (open_runs_[static_cast<size_t>(slot)].fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    for (int r = 0; r < pass.n_runs; ++r) fold(block, r, partial(r), all);
    finish(pass, block, head, all);
}

/// The queries of a block, scaled and, where the cache asks for it, encoded: row after row.
const uint8_t* Attention::queries(const Pass& pass, const Block& block, int head, int thread, size_t& stride) {
    const int n_group = spec_.n_group();
    const int64_t head_dim = spec_.head_dim;
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    uint8_t* encoded = scratch_.data() + static_cast<size_t>(thread) * thread_bytes_;
    auto* scaled = reinterpret_cast<float*>(encoded + static_cast<size_t>(rows_max_) * encoded_stride_);
    for (int t = 0; t < block.n_tokens; ++t) {
        const float* from = pass.q + (block.first_token + t) * spec_.n_embd_q() + head * n_group * head_dim;
        float* to = scaled + t * n_group * head_dim;
        for (int64_t i = 0; i < n_group * head_dim; ++i) to[i] = from[i] * scale;
    }
    if (pass.cache.type() != DType::Q8_0) {
        stride = static_cast<size_t>(head_dim) * sizeof(float);
        return reinterpret_cast<const uint8_t*>(scaled);
    }
    stride = encoded_stride_;
    for (int r = 0; r < block.n_tokens * n_group; ++r)
        pass.ops.encode(quant::ActivationEncoding::q8_32, scaled + r * head_dim,
                        encoded + static_cast<size_t>(r) * encoded_stride_, head_dim);
    return encoded;
}

void Attention::one_run(const Pass& pass, const Block& block, int head, int run, const uint8_t* q, size_t q_stride,
                        const State& state) const {
    const int n_group = spec_.n_group(), n_rows = block.n_tokens * n_group;
    std::fill_n(state.max, n_rows, -std::numeric_limits<float>::infinity());
    std::fill_n(state.sum, n_rows, 0.0f);
    std::fill_n(state.acc, static_cast<size_t>(n_rows) * static_cast<size_t>(spec_.head_dim), 0.0f);
    const KvCache::Head keys = pass.cache.keys(block.seq, pass.layer, head);
    const KvCache::Head values = pass.cache.values(block.seq, pass.layer, head);
    const size_t stride = pass.cache.row_stride();
    // Positions [begin, end) for tokens [t0, t1) of the block.
    const auto attend = [&](int t0, int t1, int begin, int end) {
        const auto first = static_cast<size_t>(begin);
        const int row = t0 * n_group;
        pass.attend({.q = q + static_cast<size_t>(row) * q_stride,
                     .q_stride = q_stride,
                     .n_group = (t1 - t0) * n_group,
                     .head_dim_k = spec_.head_dim,
                     .head_dim_v = spec_.head_dim,
                     .k = keys.rows + first * stride,
                     .v = values.rows + first * stride,
                     .k_stride = stride,
                     .v_stride = stride,
                     .k_scales = keys.scales + first,
                     .v_scales = values.scales + first,
                     .scale_stride = pass.cache.scale_stride(),
                     .n_positions = end - begin,
                     .softcap = 0,
                     .max = state.max + row,
                     .sum = state.sum + row,
                     .acc = state.acc + static_cast<int64_t>(row) * spec_.head_dim});
    };
    const int end = std::min((run + 1) * kRun, block.position + block.n_tokens);
    // Between these, every token of the block sees every position.
    const int all_from = first_position(block, block.n_tokens - 1);
    const int all_to = block.position + 1 >= end ? end : (block.position + 1) / kBlock * kBlock;
    for (int begin = std::max(run * kRun, first_position(block, 0) / kBlock * kBlock); begin < end;) {
        if (begin >= all_from && begin < all_to) {
            attend(0, block.n_tokens, begin, all_to);
            begin = all_to;
            continue;
        }
        const int stop = std::min(begin + kBlock, end);
        const auto from = [&](int t) { return std::max(begin, first_position(block, t)); };
        const auto to = [&](int t) { return std::min(stop, block.position + t + 1); };
        for (int t = 0; t < block.n_tokens;) {
            int same = t + 1;
            while (same < block.n_tokens && from(same) == from(t) && to(same) == to(t)) ++same;
            if (from(t) < to(t)) attend(t, same, from(t), to(t));
            t = same;
        }
        begin = stop;
    }
}

/// Adds the state of a run to that of the runs before it, for the tokens that see positions of the run.
void Attention::fold(const Block& block, int run, const State& from, const State& into) const {
    const int n_group = spec_.n_group();
    const int64_t head_dim = spec_.head_dim;
    for (int t = 0; t < block.n_tokens; ++t) {
        const int first_run = first_position(block, t) / kRun;
        if (run < first_run || run * kRun > block.position + t) continue;
        for (int64_t r = t * n_group; r < (t + 1) * n_group; ++r) {
            const float* more = from.acc + r * head_dim;
            float* acc = into.acc + r * head_dim;
            if (run == first_run) {
                into.max[r] = from.max[r];
                into.sum[r] = from.sum[r];
                std::copy_n(more, head_dim, acc);
                continue;
            }
            const float max = into.max[r] >= from.max[r] ? into.max[r] : from.max[r];
            const float shrink = std::exp(into.max[r] - max), weight = std::exp(from.max[r] - max);
            into.max[r] = max;
            into.sum[r] = into.sum[r] * shrink + from.sum[r] * weight;
            for (int64_t i = 0; i < head_dim; ++i) acc[i] = acc[i] * shrink + more[i] * weight;
        }
    }
}

void Attention::finish(const Pass& pass, const Block& block, int head, const State& state) const {
    const int n_group = spec_.n_group();
    const int64_t head_dim = spec_.head_dim;
    for (int r = 0; r < block.n_tokens * n_group; ++r) {
        float* out = pass.out + (block.first_token + r / n_group) * spec_.n_embd_q() + (head * n_group + r % n_group) * head_dim;
        const float inverse = 1.0f / state.sum[r];
        for (int64_t i = 0; i < head_dim; ++i) out[i] = state.acc[r * head_dim + i] * inverse;
    }
}

}  // namespace powerinfer::engine
