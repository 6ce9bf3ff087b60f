#include "tools/kernel_rates.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

#include "base/aligned.h"
#include "base/cpu_info.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "quant/format.h"
#include "quant/lane_order.h"
#include "tools/cache_folder.h"
#include "tools/numbers.h"
#include "tools/perf.h"
#include "tools/version.h"

namespace powerinfer::tools {
namespace {

namespace fs = std::filesystem;
using kernels::Ops;

constexpr int64_t kColumns = 4096;
constexpr int64_t kTokens = 128;
/// More than caches hold, also the tenth of it that is read by rows; less where memory is short.
size_t bytes_of_matrix() {
    constexpr size_t kMost = size_t{320} << 20;
    const uint64_t available = available_memory();
    return available == 0 ? kMost : std::max<size_t>(size_t{16} << 20, std::min<uint64_t>(kMost, available / 8) >> 20 << 20);
}

/// Shortest of several runs, after one that warms up.
double seconds(const std::function<void()>& run) {
    double best = 1e9;
    run();
    for (int i = 0; i < 3; ++i) {
        const Stopwatch watch;
        run();
        best = std::min(best, watch.seconds());
    }
    return best;
}

/// One matrix of any codes with scales near one, and activations.
class Bench {
  public:
    Bench(const Ops& ops, ThreadPool& pool, DType type)
        : ops_(ops), pool_(pool), id_(static_cast<size_t>(type)), stride_(row_bytes(type, kColumns)),
          encoding_(quant::format(type).activation), act_stride_(quant::activation_bytes(encoding_, kColumns)),
          weights_(bytes_of_matrix()), acts_(act_stride_ * kTokens), out_(weights_.size() / stride_) {
        n_rows_ = static_cast<int64_t>(weights_.size() / stride_) / kernels::kRowGroup * kernels::kRowGroup;
        pool.for_each(static_cast<int64_t>(weights_.size() >> 20), 16, [&](int64_t begin, int64_t end) {
            std::memset(weights_.data() + (begin << 20), 0x3A, static_cast<size_t>((end - begin) << 20));
        });
        std::mt19937 random(1);
        std::vector<float> x(kColumns);
        for (int64_t t = 0; t < kTokens; ++t) {
            for (float& v : x) v = static_cast<float>(random() % 2001) / 1000 - 1;
            ops.encode(encoding_, x.data(), acts_.data() + static_cast<size_t>(t) * act_stride_, kColumns);
        }
        for (int32_t r = 0; r < n_rows_; ++r) {
            if (random() % 10 == 0) ids_.push_back(r);
        }
        coefs_.assign(ids_.size(), 1e-3f);
    }

    plan::KernelRates rates() {
        const double all = static_cast<double>(n_rows_) * static_cast<double>(stride_);
        const double some = static_cast<double>(ids_.size()) * static_cast<double>(stride_);
        return {.dense = all / seconds([&] { dense(); }),
                .rows = some / seconds([&] { rows(); }),
                .sums = some / seconds([&] { sums(); }),
                .prompt = kPromptRows * kTokens * kColumns / seconds([&] { prompt(); }),
                .prompt_lists = ops_.dot_lists[id_] ? lists() : 0};
    }

  private:
    static constexpr int64_t kPromptRows = 512, kTile = 64;  // 512 rows of F32 take 8 MiB

    kernels::DotFn whole() const { return ops_.dot_interleaved[id_] ? ops_.dot_interleaved[id_] : ops_.dot[id_]; }
    kernels::DotArgs args(int64_t begin, int64_t end, float* out) const {
        kernels::DotArgs a{};
        a.weights = weights_.data() + static_cast<size_t>(begin) * stride_;
        a.row_stride = stride_;
        a.n_rows = end - begin;
        a.n = kColumns;
        a.acts = acts_.data();
        a.act_stride = act_stride_;
        a.out = out;
        return a;
    }
    void dense() {
        pool_.for_each(n_rows_, 64, [&](int64_t begin, int64_t end) { whole()(args(begin, end, out_.data() + begin)); });
    }
    void rows() {
        pool_.for_each(static_cast<int64_t>(ids_.size()), 64, [&](int64_t begin, int64_t end) {
            kernels::DotArgs a = args(0, end - begin, out_.data() + begin);
            a.row_ids = ids_.data() + begin;
            ops_.dot[id_](a);
        });
    }
    void sums() {
        pool_.run([&](int thread) {
            const auto n = static_cast<int64_t>(ids_.size());
            const int64_t begin = n * thread / pool_.size(), end = n * (thread + 1) / pool_.size();
            std::vector<float> out(kColumns);
            ops_.axpy[id_]({.weights = weights_.data(),
                            .row_stride = stride_,
                            .row_ids = ids_.data() + begin,
                            .coef = coefs_.data() + begin,
                            .n_rows = end - begin,
                            .n = kColumns,
                            .out = out.data()});
        });
    }
    void prompt() {
        std::vector<float> out(static_cast<size_t>(kPromptRows * kTokens));
        pool_.for_each(kPromptRows, kTile, [&](int64_t begin, int64_t end) {
            kernels::DotArgs a = args(begin, end, out.data() + begin);
            a.n_tokens = kTokens;
            a.out_stride = kPromptRows;
            ops_.dot[id_](a);  // rows that may also be picked are not interleaved
        });
    }
    double lists() {
        const size_t stride = quant::lane_order_bytes(encoding_, kColumns);
        AlignedBuffer acts(stride * kTokens);
        for (size_t t = 0; t < kTokens; ++t)
            quant::to_lane_order(encoding_, acts_.data() + t * act_stride_, acts.data() + t * stride, kColumns);
        std::vector<int32_t> starts = {0}, tokens;
        for (int64_t r = 0; r < kTile; ++r) {
            for (int32_t t = 0; t < kTokens; ++t) {
                if ((t * 7 + r * 3) % 8 == 0) tokens.push_back(t);
            }
            starts.push_back(static_cast<int32_t>(tokens.size()));
        }
        const double best = seconds([&] {
            pool_.for_each(kPromptRows, kTile, [&](int64_t begin, int64_t end) {
                std::vector<float> out(tokens.size());
                ops_.dot_lists[id_]({.weights = weights_.data() + static_cast<size_t>(begin) * stride_,
                                     .row_stride = stride_,
                                     .n_rows = end - begin,
                                     .n = kColumns,
                                     .acts = acts.data(),
                                     .act_stride = stride,
                                     .starts = starts.data(),
                                     .tokens = tokens.data(),
                                     .out = out.data()});
            });
        });
        return static_cast<double>(tokens.size()) * (kPromptRows / kTile) * kColumns / best;
    }

    const Ops& ops_;
    ThreadPool& pool_;
    size_t id_, stride_;
    quant::ActivationEncoding encoding_;
    size_t act_stride_;
    int64_t n_rows_ = 0;
    AlignedBuffer weights_, acts_;
    std::vector<float> out_, coefs_;
    std::vector<int32_t> ids_;
};

/// What was kept before, as far as it is of this machine.
plan::RatesByType kept(const fs::path& path, const std::string& machine, const LogSink& log) {
    std::error_code ignored;
    if (path.empty() || !fs::exists(path, ignored)) return {};
    try {
        return plan::rates_from_json(read_text_file(path.string()), machine, path.string()).value_or(plan::RatesByType());
    } catch (const Error& e) {
        powerinfer::log(log, LogLevel::warning, "measuring again: {}", e.what());
        return {};
    }
}

}  // namespace

std::set<DType> ffn_types(const model::Model& model) {
    std::set<DType> types;
    for (const model::LayerTensors& l : model.tensors.layers) {
        for (const TensorView* v : {&l.ffn_gate, &l.ffn_up, &l.ffn_down, &l.ffn_down_t, &l.fc1, &l.fc2}) {
            if (*v) types.insert(v->type);
        }
    }
    return types;
}

plan::RatesByType kernel_rates(const std::set<DType>& types, int n_threads, const std::string& isa, const LogSink& log,
                               bool anew) {
    const CpuInfo cpu = read_cpu_info();
    const Ops& ops = kernels::ops(cpu, isa);
    const int threads = n_threads > 0 ? n_threads : cpu.n_physical;
    const std::string version = version_text(), build = version.substr(0, version.find('\n'));
    const std::string machine = fmt::format("{}, {} threads, {}, {}", cpu.name, threads, ops.isa, build);
    const fs::path path = cache_file("kernels.json");
    plan::RatesByType known = kept(path, machine, log), wanted;
    bool measured = false;
    std::optional<ThreadPool> pool;
    for (const DType type : types) {
        if (!ops.dot[static_cast<size_t>(type)]) continue;
        if (anew || known.find(type) == known.end()) {
            powerinfer::log(log, LogLevel::info, "measuring the kernels for {}", info(type).name);
            if (!pool) pool.emplace(threads);
            known[type] = Bench(ops, *pool, type).rates();
            measured = true;
        }
        wanted[type] = known[type];
    }
    if (measured) keep_in_cache(path, plan::to_json(known, machine), log);
    return wanted;
}

}  // namespace powerinfer::tools
