// `bench`: the speed of every combination of the given settings. One warm-up, then repetitions from an empty cache, with
// random tokens that are the same in every run, so that the hash of the last logits can be compared.
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <random>
#include <thread>

#include "base/cpu_info.h"
#include "base/error.h"
#include "convert/file_type.h"
#include "convert/synth.h"
#include "tools/bandwidth.h"
#include "tools/bench_report.h"
#include "tools/commands.h"
#include "tools/fma_rate.h"
#include "tools/kernel_rates.h"
#include "tools/option_rows.h"
#include "tools/perf.h"
#include "tools/setup.h"
#include "tools/synth.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

struct Test {
    int n_prompt, n_gen, n_depth, n_parallel;
};

struct Settings {
    int n_batch, n_ubatch, n_threads;
    DType cache_type;
    sparsity::Mode mode;
    bool repack;
};

template <class T>
std::vector<T> or_default(std::vector<T> given, T otherwise) {
    return given.empty() ? std::vector<T>{otherwise} : given;
}

std::vector<Test> tests(const BenchArgs& b) {
    std::vector<Test> all;
    for (const int depth : or_default(b.n_depth, 0)) {
        for (const int n : or_default(b.n_prompt, 512))
            if (n > 0) all.push_back({n, 0, depth, 1});
        for (const int n : or_default(b.n_gen, 128))
            for (const int n_parallel : or_default(b.n_parallel, 1))
                if (n > 0) all.push_back({0, n, depth, n_parallel});
        for (const auto& [n_prompt, n_gen] : b.prompt_gen)
            if (n_prompt + n_gen > 0) all.push_back({n_prompt, n_gen, depth, 1});
    }
    if (all.empty()) fail(ErrorKind::bad_argument, "there is nothing to measure: every length is 0");
    return all;
}

std::vector<Settings> settings(const BenchArgs& b) {
    std::vector<Settings> all;
    for (const int n_batch : or_default(b.n_batch, 2048))
        for (const int n_ubatch : or_default(b.n_ubatch, 512))
            for (const DType type : or_default(b.cache_type, DType::F16))
                for (const int n_threads : or_default(b.n_threads, read_cpu_info().n_physical))
                    for (const sparsity::Mode mode : or_default(b.sparsity, sparsity::Mode::automatic))
                        for (const int repack : or_default(b.repack, 1))
                            all.push_back({n_batch, n_ubatch, n_threads, type, mode, repack != 0});
    return all;
}

/// "llama 1.10 B Q4_0"
std::string model_type(const formats::GgufFile& file, uint64_t n_params) {
    std::string type = "mixed";
    const uint64_t number = file.get_uint("general.file_type", UINT64_MAX);
    for (const convert::FileType& t : convert::file_types())
        if (!t.copy && t.number == number) type = t.name;
    const double n = static_cast<double>(n_params);
    return fmt::format("{} {} {}", file.get_string("general.architecture", "unknown"),
                       n < 1e9 ? fmt::format("{:.2f}M", n / 1e6) : fmt::format("{:.2f}B", n / 1e9), type);
}

std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::tm parts = {};
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &parts));
    return text;
}

class Runner {
  public:
    Runner(engine::Engine& engine, int n_batch) : engine_(engine), n_batch_(static_cast<size_t>(n_batch)) {}

    /// Synthetic models give neighbouring ids overlapping active sets, as neighbouring words have, so their text is a
    /// run of neighbours.
    static constexpr int32_t kFirstWord = 300;

    /// Fills the caches of all sequences with the same tokens.
    void start(int n_depth, int n_parallel) {
        random_.seed(1);
        next_ = kFirstWord;
        for (int seq = 0; seq < n_parallel; ++seq) engine_.truncate(seq, 0);
        prompt(n_depth);
        for (int seq = 1; seq < n_parallel && n_depth > 0; ++seq) engine_.copy(0, seq, n_depth);
        n_depth_ = n_depth;
        n_parallel_ = n_parallel;
        random_after_ = random_;
        next_after_ = next_;
    }
    /// Back to what start() left.
    void rewind() {
        random_ = random_after_;
        next_ = next_after_;
        for (int seq = 0; seq < n_parallel_; ++seq) engine_.truncate(seq, n_depth_);
    }
    void prompt(int n) {
        for (size_t left = static_cast<size_t>(n); left > 0;) {
            batch_.clear();
            const size_t size = std::min(left, n_batch_);
            for (size_t i = 0; i < size; ++i) batch_.push_back({token(), 0, i + 1 == left});
            engine_.step(batch_);
            left -= size;
        }
    }
    void generate(int n) {
        for (int i = 0; i < n; ++i) {
            batch_.clear();
            for (int seq = 0; seq < n_parallel_; ++seq) batch_.push_back({token(), seq, true});
            engine_.step(batch_);
        }
    }

  private:
    int32_t token() {
        if (engine_.spec().name == convert::kSynthName) return next_++ % engine_.spec().n_vocab;
        return static_cast<int32_t>(random_() % static_cast<uint32_t>(engine_.spec().n_vocab));
    }

    engine::Engine& engine_;
    size_t n_batch_;
    int n_depth_ = 0, n_parallel_ = 1;
    std::mt19937 random_, random_after_;
    int32_t next_ = kFirstWord, next_after_ = kFirstWord;
    std::vector<engine::BatchToken> batch_;
};

double selected_share(const engine::EngineCounts& counts) {
    uint64_t selected = 0, all = 0;
    for (const engine::LayerCounts& layer : counts.layers) {
        selected += layer.selected;
        all += layer.neurons;
    }
    return static_cast<double>(selected) / static_cast<double>(std::max<uint64_t>(all, 1));
}

void measure(engine::Engine& engine, const Test& test, const BenchArgs& b, BenchResult& r) {
    Runner runner(engine, r.n_batch);
    runner.start(test.n_depth, test.n_parallel);
    if (b.warmup) {
        runner.prompt(std::min(test.n_prompt, r.n_batch));
        runner.generate(std::min(test.n_gen, 1));
    }
    for (int i = 0; i < b.repetitions; ++i) {
        if (b.delay_s > 0) std::this_thread::sleep_for(std::chrono::seconds(b.delay_s));
        runner.rewind();
        engine.reset_counts();
        const Stopwatch watch;
        runner.prompt(test.n_prompt);
        runner.generate(test.n_gen);
        r.samples_ns.push_back(static_cast<uint64_t>(watch.seconds() * 1e9));
    }
    r.weight_bytes = static_cast<double>(engine.counts().weight_bytes);
    r.active_share = engine.counts().active_share();
    r.selected_share = selected_share(engine.counts());
    r.hash = engine.logits_hash();
}

std::vector<BenchResult> bench_model(Arguments a, const std::string& path) {
    const LogSink log = log_to_stderr(std::min(a.log.verbosity, a.log.verbosity >= 4 ? 5 : 2));
    a.model.path = path;
    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    BenchResult common;
    common.cpu_info = read_cpu_info().name;
    common.model_filename = path;
    for (const formats::GgufTensor& t : file->tensors()) {
        common.model_size += t.view.n_bytes();
        common.model_n_params += static_cast<uint64_t>(t.view.n_elements());
    }
    common.model_type = model_type(*file, common.model_n_params);

    std::vector<BenchResult> results;
    const std::vector<Test> all_tests = tests(a.bench);
    int n_ctx = 8, n_seq = 1;
    for (const Test& t : all_tests) {
        n_ctx = std::max(n_ctx, t.n_prompt + t.n_gen + t.n_depth);
        n_seq = std::max(n_seq, t.n_parallel);
    }
    for (const Settings& s : settings(a.bench)) {
        a.model.repack = s.repack;
        const plan::RatesByType rates = a.bench.explain ? kernel_rates(ffn_types(*model), s.n_threads, a.context.isa, log, true)
                                                         : rates_for(*model, s.mode, s.n_threads, a.context.isa, log);
        const plan::Plan plan = plan::solve(
            *model, {.n_ctx = n_ctx, .n_seq = n_seq, .n_batch = std::min(s.n_batch, s.n_ubatch),
                     .kv_type = s.cache_type, .mode = s.mode, .rates = rates,
                     .repack_bytes = repack_allowance(a.model)});
        if (a.bench.explain) say("{}", plan::explain(plan, rates));
        engine::EngineOptions options = engine_options(a);
        options.n_threads = options.n_threads_batch = s.n_threads;
        auto engine = engine::Engine::load(model, plan, options, log);
        for (const Test& t : all_tests) {
            BenchResult r = common;
            r.n_batch = s.n_batch;
            r.n_ubatch = s.n_ubatch;
            r.n_threads = s.n_threads;
            for (const auto& [name, type] : cache_types())
                if (type == s.cache_type) r.type_k = r.type_v = name;
            r.sparsity = sparsity::name(engine.plan().mode);
            r.repack = s.repack;
            r.isa = engine.isa();
            r.n_prompt = t.n_prompt;
            r.n_gen = t.n_gen;
            r.n_depth = t.n_depth;
            r.n_parallel = t.n_parallel;
            r.test_time = now_utc();
            // Beside each measurement: on a shared machine both move by the minute.
            if (a.bench.bandwidth) r.read_bandwidth = measure_read_bandwidth(s.n_threads);
            if (a.bench.fma) r.fma_rate = measure_fma_rate(s.n_threads);
            if (a.bench.progress) say("llama-bench: {} {} {}\n", path, r.sparsity, r.test_name());
            measure(engine, t, a.bench, r);
            results.push_back(std::move(r));
        }
    }
    return results;
}

}  // namespace

int bench(const Arguments& a) {
    require_no_words(a);
    std::vector<std::string> models = a.bench.models;
    if (models.empty() && a.bench.synth.empty()) fail(ErrorKind::bad_argument, "--model or --synth is required");
    for (const std::string& path : models) formats::GgufFile::open(path);  // so that none is missing at the end of the work
    std::vector<BenchResult> results;
    for (const std::string& path : models)
        for (BenchResult& r : bench_model(a, path)) results.push_back(std::move(r));
    for (const std::string& shape : a.bench.synth) {
        const TemporarySynth model(a, shape);
        for (BenchResult& r : bench_model(a, model.path())) {
            r.model_filename = shape;
            results.push_back(std::move(r));
        }
    }
    fmt::print("{}", bench_report(a.bench.output, results));
    if (a.bench.output_err != "none") say("{}", bench_report(a.bench.output_err, results));
    for (const BenchResult& r : results)
        if (r.read_bandwidth > 0)
            say("powerinfer: memory is read at {:.1f} GB/s with {} threads before {} {}\n", r.read_bandwidth / 1e9,
                r.n_threads, r.sparsity, r.test_name());
    return 0;
}

}  // namespace powerinfer::tools
