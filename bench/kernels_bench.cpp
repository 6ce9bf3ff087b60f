// How fast the kernels read weights (decode, sparse decode, axpy) and multiply (prompt), per format,
// instruction set and thread count. Weights are larger than the caches, so decode should approach the read
// bandwidth that BM_ReadBandwidth prints for the same number of threads in the same run. docs/performance.md
// keeps results.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "quant/format.h"
#include "quant/lane_order.h"

namespace powerinfer::kernels {
namespace {

constexpr int64_t kColumns = 4096;
constexpr size_t kWeightBytes = size_t{500} << 20;
constexpr size_t kReadBytes = size_t{2} << 30;

/// Memory that all benchmarks share: random bytes whose pairs are all sensible f16, f32 upper halves and
/// block scales.
const AlignedBuffer& memory(size_t bytes) {
    static AlignedBuffer all;  // in huge pages, as weights are that were re-laid
    if (all.size() < bytes) {
        all = AlignedBuffer(bytes);
        std::mt19937 random(1);
        std::vector<uint8_t> pattern(1 << 16);
        for (size_t i = 0; i < pattern.size(); ++i)
            pattern[i] = static_cast<uint8_t>((random() & 0xBB) | (i % 2 ? 0x20 : 0));
        for (size_t at = 0; at < bytes; at += pattern.size())
            std::memcpy(all.data() + at, pattern.data(), std::min(pattern.size(), bytes - at));
    }
    return all;
}

ThreadPool& pool(int n_threads) {
    static std::unique_ptr<ThreadPool> current;
    if (!current || current->size() != n_threads) current = std::make_unique<ThreadPool>(n_threads);
    return *current;
}

void rates(benchmark::State& state, double bytes, double operations) {
    using benchmark::Counter;
    state.counters["GB/s"] = Counter(bytes / 1e9, Counter::kIsIterationInvariantRate);
    state.counters["GOP/s"] = Counter(operations / 1e9, Counter::kIsIterationInvariantRate);
}

struct Matrix {
    DType type;
    size_t row_stride;
    int64_t n_rows;
    std::vector<uint8_t> acts;
    size_t act_stride;
    const uint8_t* weights;

    Matrix(DType t, int64_t n_tokens, size_t bytes, const Ops& ops)
        : type(t),
          row_stride(row_bytes(t, kColumns)),
          n_rows(static_cast<int64_t>(bytes / row_stride) / 16 * 16),
          weights(memory(kReadBytes).data()) {
        const auto encoding = quant::format(type).activation;
        act_stride = quant::activation_bytes(encoding, kColumns);
        acts.resize(act_stride * static_cast<size_t>(n_tokens));
        std::mt19937 random(2);
        std::vector<float> x(kColumns);
        for (int64_t i = 0; i < n_tokens; ++i) {
            for (float& v : x) v = std::normal_distribution<float>()(random);
            ops.encode(encoding, x.data(), acts.data() + static_cast<size_t>(i) * act_stride, kColumns);
        }
    }
    DotArgs args(int64_t begin, int64_t end, float* out) const {
        DotArgs a{};
        a.weights = weights + static_cast<size_t>(begin) * row_stride;
        a.row_stride = row_stride;
        a.n_rows = end - begin;
        a.n = kColumns;
        a.acts = acts.data();
        a.act_stride = act_stride;
        a.out = out;
        return a;
    }
};

/// Reading 2 GiB by the kernel with the least arithmetic per byte, the F32 dot product of the best
/// instruction set. A plain summing loop reads a tenth more slowly here, so this is the floor that the others
/// are held against.
void BM_ReadBandwidth(benchmark::State& state, const Ops& ops, int n_threads) {
    const Matrix m(DType::F32, 1, kReadBytes, ops);
    std::vector<float> out(static_cast<size_t>(m.n_rows));
    for (auto _ : state) {
        pool(n_threads).for_each(m.n_rows, 256, [&](int64_t begin, int64_t end) {
            ops.dot[static_cast<size_t>(DType::F32)](m.args(begin, end, out.data() + begin));
        });
    }
    rates(state, static_cast<double>(m.n_rows) * static_cast<double>(m.row_stride), 0);
}

DotFn dot_of(const Ops& ops, DType type, bool interleaved) {
    return (interleaved ? ops.dot_interleaved : ops.dot)[static_cast<size_t>(type)];
}

/// One token against a matrix that does not fit the caches.
void BM_Decode(benchmark::State& state, const Ops& ops, DType type, bool interleaved, int n_threads) {
    const DotFn dot = dot_of(ops, type, interleaved);
    const Matrix m(type, 1, kWeightBytes, ops);
    std::vector<float> out(static_cast<size_t>(m.n_rows));
    for (auto _ : state) {
        pool(n_threads).for_each(
            m.n_rows, 256, [&](int64_t begin, int64_t end) { dot(m.args(begin, end, out.data() + begin)); });
    }
    const auto bytes = static_cast<double>(m.n_rows) * static_cast<double>(m.row_stride);
    rates(state, bytes, 2.0 * static_cast<double>(m.n_rows) * kColumns);
}

/// The same with rows that stay in the second-level cache: what the arithmetic alone allows.
void BM_DecodeCached(benchmark::State& state, const Ops& ops, DType type, bool interleaved) {
    const DotFn dot = dot_of(ops, type, interleaved);
    const Matrix m(type, 1, size_t{400} << 10, ops);
    std::vector<float> out(static_cast<size_t>(m.n_rows));
    for (auto _ : state) dot(m.args(0, m.n_rows, out.data()));
    const auto bytes = static_cast<double>(m.n_rows) * static_cast<double>(m.row_stride);
    rates(state, bytes, 2.0 * static_cast<double>(m.n_rows) * kColumns);
}

/// One token against a tenth of the rows, chosen at random.
void BM_DecodeSparse(benchmark::State& state, const Ops& ops, DType type, int n_threads) {
    const Matrix m(type, 1, kWeightBytes * 4, ops);
    std::mt19937 random(3);
    std::vector<int32_t> ids;
    for (int32_t r = 0; r < m.n_rows; ++r) {
        if (random() % 10 == 0) ids.push_back(r);
    }
    const auto n = static_cast<int64_t>(ids.size());
    std::vector<float> out(ids.size());
    for (auto _ : state) {
        pool(n_threads).for_each(n, 64, [&](int64_t begin, int64_t end) {
            DotArgs a = m.args(0, end - begin, out.data() + begin);
            a.row_ids = ids.data() + begin;
            ops.dot[static_cast<size_t>(type)](a);
        });
    }
    rates(state, static_cast<double>(n) * static_cast<double>(m.row_stride),
          2.0 * static_cast<double>(n) * kColumns);
}

/// A tenth of the rows, chosen at random, added up (the down projection of a sparse feed-forward).
void BM_AxpySparse(benchmark::State& state, const Ops& ops, DType type, int n_threads) {
    const Matrix m(type, 1, kWeightBytes * 4, ops);
    std::mt19937 random(3);
    std::vector<int32_t> ids;
    std::vector<float> coef;
    for (int32_t r = 0; r < m.n_rows; ++r) {
        if (random() % 10 != 0) continue;
        ids.push_back(r);
        coef.push_back(1e-3f);
    }
    const auto n = static_cast<int64_t>(ids.size());
    std::vector<float> out(static_cast<size_t>(n_threads) * kColumns);
    for (auto _ : state) {
        pool(n_threads).run([&](int thread) {
            const int64_t begin = n * thread / n_threads, end = n * (thread + 1) / n_threads;
            ops.axpy[static_cast<size_t>(type)]({m.weights, m.row_stride, ids.data() + begin,
                                                 coef.data() + begin, end - begin, kColumns,
                                                 out.data() + thread * kColumns});
        });
    }
    rates(state, static_cast<double>(n) * static_cast<double>(m.row_stride),
          2.0 * static_cast<double>(n) * kColumns);
}

/// Several tokens (a batch of 4, a prompt of 512) against a matrix of 1024 rows.
void BM_Tokens(benchmark::State& state, const Ops& ops, DType type, bool interleaved, int64_t n_tokens,
               int n_threads) {
    constexpr int64_t kRows = 1024;
    const DotFn dot = dot_of(ops, type, interleaved);
    Matrix m(type, n_tokens, kWeightBytes, ops);
    std::vector<float> out(static_cast<size_t>(n_tokens * kRows));
    for (auto _ : state) {
        pool(n_threads).for_each(kRows, 64, [&](int64_t begin, int64_t end) {
            DotArgs a = m.args(begin, end, out.data() + begin);
            a.n_tokens = n_tokens;
            a.out_stride = kRows;
            dot(a);
        });
    }
    rates(state, static_cast<double>(kRows) * static_cast<double>(m.row_stride),
          2.0 * kRows * static_cast<double>(n_tokens) * kColumns);
}

/// A prompt of 128 against a matrix of 1024 rows, each of which a tenth of the tokens need, chosen at random.
void BM_Lists(benchmark::State& state, const Ops& ops, DType type) {
    constexpr int64_t kRows = 1024, kTokens = 128, kTile = 64;
    const Matrix m(type, kTokens, kWeightBytes, ops);
    const auto encoding = quant::format(type).activation;
    const size_t stride = quant::lane_order_bytes(encoding, kColumns);
    AlignedBuffer buffer(stride * kTokens);
    uint8_t* acts = buffer.data();
    for (size_t t = 0; t < kTokens; ++t)
        quant::to_lane_order(encoding, &m.acts[t * m.act_stride], acts + t * stride, kColumns);
    std::mt19937 random(4);
    std::vector<int32_t> starts, tokens;
    for (int64_t r = 0; r <= kRows; ++r) {
        starts.push_back(static_cast<int32_t>(tokens.size()));
        for (int32_t t = 0; t < kTokens && r < kRows; ++t) {
            if (random() % 10 == 0) tokens.push_back(t);
        }
    }
    std::vector<float> out(tokens.size());
    for (auto _ : state) {
        for (int64_t r = 0; r < kRows; r += kTile) {
            int32_t tile[kTile + 1];
            for (int64_t i = 0; i <= kTile; ++i) tile[i] = starts[static_cast<size_t>(r + i)] - starts[static_cast<size_t>(r)];
            const auto first = static_cast<size_t>(starts[static_cast<size_t>(r)]);
            ops.dot_lists[static_cast<size_t>(type)]({m.weights + static_cast<size_t>(r) * m.row_stride, m.row_stride, kTile,
                                                      kColumns, acts, stride, tile, tokens.data() + first,
                                                      out.data() + first});
        }
    }
    rates(state, static_cast<double>(kRows) * static_cast<double>(m.row_stride),
          2.0 * static_cast<double>(tokens.size()) * kColumns);
}

/// Attention of one token over KV heads of 128, each with `group` query heads and `positions` cached positions: as many
/// heads as fill `bytes`, handed out in runs of 1024 positions.
void BM_Attention(benchmark::State& state, const Ops& ops, DType type, int group, size_t bytes, int64_t positions,
                  int n_threads) {
    constexpr int64_t kRun = 1024;
    constexpr int kHead = 128;
    const size_t row = type == DType::Q8_0 ? kHead : row_bytes(type, kHead);
    const auto count = static_cast<size_t>(positions);
    const size_t scales = type == DType::Q8_0 ? count * kHead / 32 : 0;  // per side, in two bytes
    const size_t side = count * row + scales * sizeof(uint16_t);
    const auto n_heads = static_cast<int64_t>(std::max<size_t>(1, bytes / (2 * side)));
    const int64_t n_runs = positions / kRun;
    const auto encoding = quant::format(type).activation;
    const size_t q_stride = quant::activation_bytes(encoding, kHead);
    std::vector<uint8_t> q(q_stride * static_cast<size_t>(group));
    const std::vector<float> query(kHead, 0.01f);
    for (size_t g = 0; g < static_cast<size_t>(group); ++g) ops.encode(encoding, query.data(), &q[g * q_stride], kHead);
    const uint8_t* cache = memory(kReadBytes).data();
    for (auto _ : state) {
        pool(n_threads).for_each(n_heads * n_runs, 1, [&](int64_t item, int64_t) {
            std::vector<float> out(static_cast<size_t>(group) * (kHead + 2));
            std::fill_n(out.data(), group, -1e30f);
            const int64_t head = item / n_runs, first = item % n_runs * kRun;
            const uint8_t* k = cache + 2 * static_cast<size_t>(head) * side;
            AttentionArgs a{};
            a.q = q.data();
            a.q_stride = q_stride;
            a.n_group = group;
            a.head_dim_k = a.head_dim_v = kHead;
            a.k = k + static_cast<size_t>(first) * row;
            a.v = a.k + side;
            a.k_stride = a.v_stride = row;
            a.k_scales = reinterpret_cast<const uint16_t*>(k + count * row) + first;
            a.v_scales = a.k_scales + side / sizeof(uint16_t);
            a.scale_stride = count;
            a.n_positions = kRun;
            a.max = out.data();
            a.sum = a.max + group;
            a.acc = a.sum + group;
            ops.attention[static_cast<size_t>(type)](a);
        });
    }
    rates(state, static_cast<double>(n_heads) * 2.0 * static_cast<double>(side),
          4.0 * static_cast<double>(n_heads) * static_cast<double>(count) * kHead * group);
}

const bool kRegistered = [] {
    const CpuInfo cpu = read_cpu_info();
    const Ops& best = ops(cpu);
    std::vector<int> threads = {1};
    if (cpu.n_physical > 1) threads.push_back(cpu.n_physical);
    const auto add = [](const std::string& name, auto&& run) {
        benchmark::RegisterBenchmark(name.c_str(), run)
            ->MeasureProcessCPUTime()
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    };
    for (const int n : threads)
        add(fmt::format("read_bandwidth/{}", n),
            [=, &best](benchmark::State& s) { BM_ReadBandwidth(s, best, n); });
    for (const auto isa : available_isas(cpu)) {
        const Ops& table = ops(cpu, isa);
        for (const DType type : {DType::F16, DType::Q8_0}) {
            for (const int group : {1, 4, 8}) {
                add(fmt::format("attention_cached/{}/{}/{}", info(type).name, group, isa),
                    [=, &table](benchmark::State& s) { BM_Attention(s, table, type, group, 0, 1024, 1); });
                for (const int n : threads)
                    add(fmt::format("attention/{}/{}/{}/{}", info(type).name, group, isa, n),
                        [=, &table](benchmark::State& s) {
                            BM_Attention(s, table, type, group, kWeightBytes, 4096, n);
                        });
            }
        }
        for (size_t id = 0; id < kDTypeIdEnd; ++id) {
            if (!table.dot[id]) continue;
            const auto type = static_cast<DType>(id);
            for (const bool strips : {false, true}) {
                if (!dot_of(table, type, strips)) continue;
                const std::string kind = strips ? "_strips" : "";
                add(fmt::format("decode_cached{}/{}/{}", kind, info(type).name, isa),
                    [=, &table](benchmark::State& s) { BM_DecodeCached(s, table, type, strips); });
                for (const int n : threads) {
                    const std::string suffix = fmt::format("{}/{}/{}/{}", kind, info(type).name, isa, n);
                    add("decode" + suffix,
                        [=, &table](benchmark::State& s) { BM_Decode(s, table, type, strips, n); });
                    for (const int tokens : {4, 512})
                        add(fmt::format("tokens_{}{}", tokens, suffix), [=, &table](benchmark::State& s) {
                            BM_Tokens(s, table, type, strips, tokens, n);
                        });
                }
            }
            if (table.dot_lists[id])
                add(fmt::format("lists_128/{}/{}", info(type).name, isa),
                    [=, &table](benchmark::State& s) { BM_Lists(s, table, type); });
            for (const int n : threads) {
                const std::string suffix = fmt::format("/{}/{}/{}", info(type).name, isa, n);
                add("decode_sparse" + suffix,
                    [=, &table](benchmark::State& s) { BM_DecodeSparse(s, table, type, n); });
                add("axpy_sparse" + suffix,
                    [=, &table](benchmark::State& s) { BM_AxpySparse(s, table, type, n); });
            }
        }
    }
    return true;
}();

}  // namespace
}  // namespace powerinfer::kernels
