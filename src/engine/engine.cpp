#include "engine/engine.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "engine/forward.h"
#include "engine/kv_cache.h"
#include "engine/weights.h"

namespace powerinfer::engine {

double EngineCounts::active_share() const {
    uint64_t fired = 0, neurons = 0;
    for (const LayerCounts& layer : layers) {
        fired += layer.fired;
        neurons += layer.neurons;
    }
    return neurons == 0 ? 0.0 : static_cast<double>(fired) / static_cast<double>(neurons);
}

struct Engine::Impl {
    std::shared_ptr<const model::Model> model;
    plan::Plan plan;
    const kernels::Ops& ops;
    int n_threads, n_threads_batch;
    ThreadPool pool;
    Weights weights;
    KvCache cache;
    Forward forward;
    EngineCounts counts;
    std::vector<float> logits;  // [n_logits][n_vocab]
    size_t n_logits = 0;
    uint64_t hash = 0;

    Impl(std::shared_ptr<const model::Model> m, const plan::Plan& p, const kernels::Ops& o, int threads,
         int threads_batch, const std::string& layout_path, const LogSink& log, const Progress& progress)
        : model(std::move(m)),
          plan(p),
          ops(o),
          n_threads(threads),
          n_threads_batch(threads_batch),
          pool(std::max(threads, threads_batch)),
          weights(prepare_weights(*model, plan, ops, pool, layout_path, log, progress)),
          cache(model->spec, plan.n_ctx, plan.n_seq, plan.kv_type),
          forward(model->spec, plan, weights, ops, pool) {
        counts.layers.resize(static_cast<size_t>(model->spec.n_layer));
    }

    void check_seq(int seq) const {
        if (seq < 0 || seq >= plan.n_seq)
            fail(ErrorKind::bad_argument, "sequence {} does not exist, expected 0 to {}", seq, plan.n_seq - 1);
    }
    void check_tokens(std::span<const BatchToken> tokens) const;
    void check_finite(std::span<const float> computed) const;
    void run_pass(std::span<const BatchToken> tokens);
};

void Engine::Impl::check_tokens(std::span<const BatchToken> tokens) const {
    std::vector<int> n_past(static_cast<size_t>(plan.n_seq));
    for (int s = 0; s < plan.n_seq; ++s) n_past[static_cast<size_t>(s)] = cache.n_past(s);
    for (const BatchToken& t : tokens) {
        check_seq(t.seq);
        if (t.id < 0 || t.id >= model->spec.n_vocab)
            fail(ErrorKind::bad_argument, "token id {} is not in the vocabulary, expected 0 to {}", t.id,
                 model->spec.n_vocab - 1);
        if (++n_past[static_cast<size_t>(t.seq)] > plan.n_ctx)
            fail(ErrorKind::out_of_memory, "sequence {} would exceed its context of {} tokens", t.seq, plan.n_ctx);
    }
}

void Engine::Impl::check_finite(std::span<const float> computed) const {
    for (size_t i = 0; i < computed.size(); ++i) {
        if (!std::isfinite(computed[i]))
            fail(ErrorKind::internal, "the logit of token {} is not finite: the output weights are damaged",
                 i % static_cast<size_t>(model->spec.n_vocab));
    }
}

void Engine::Impl::run_pass(std::span<const BatchToken> tokens) {
    const int threads = tokens.size() == 1 ? n_threads : n_threads_batch;
    std::vector<int32_t> ids;
    std::vector<TokenPlace> places;
    std::vector<int> n_past(static_cast<size_t>(plan.n_seq));
    for (int s = 0; s < plan.n_seq; ++s) n_past[static_cast<size_t>(s)] = cache.n_past(s);
    for (const BatchToken& t : tokens) {
        ids.push_back(t.id);
        places.push_back({t.seq, n_past[static_cast<size_t>(t.seq)]++});
    }
    forward.run(ids, places, cache, threads, counts);
    std::vector<int64_t> wanted;
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].want_logits) wanted.push_back(static_cast<int64_t>(i));
    }
    if (!wanted.empty()) {
        const auto n_vocab = static_cast<size_t>(model->spec.n_vocab);
        logits.resize(std::max(logits.size(), (n_logits + wanted.size()) * n_vocab));
        float* out = logits.data() + n_logits * n_vocab;
        forward.logits(wanted, out, threads, counts);
        check_finite({out, wanted.size() * n_vocab});
        n_logits += wanted.size();
        hash = fnv1a(logits.data() + (n_logits - 1) * n_vocab, n_vocab * sizeof(float));
    }
    for (int s = 0; s < plan.n_seq; ++s) cache.set_n_past(s, n_past[static_cast<size_t>(s)]);
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Engine Engine::load(std::shared_ptr<const model::Model> model, const plan::Plan& plan, const EngineOptions& options,
                    const LogSink& log, const Progress& progress) {
    constexpr int kMaxThreads = 1024;
    const CpuInfo cpu = read_cpu_info();
    const int n_threads = options.n_threads > 0 ? options.n_threads : cpu.n_physical;
    const int n_batch_threads = options.n_threads_batch > 0 ? options.n_threads_batch : n_threads;
    if (std::max(n_threads, n_batch_threads) > kMaxThreads)
        fail(ErrorKind::bad_argument, "{} threads were asked for, expected at most {}",
             std::max(n_threads, n_batch_threads), kMaxThreads);
    const kernels::Ops& ops = kernels::ops(cpu, options.isa);
    return Engine(std::make_unique<Impl>(std::move(model), plan, ops, n_threads, n_batch_threads,
                                         options.layout_path, log, progress));
}

const model::ModelSpec& Engine::spec() const {
    return impl_->model->spec;
}
const plan::Plan& Engine::plan() const {
    return impl_->plan;
}
std::string_view Engine::isa() const {
    return impl_->ops.isa;
}
int Engine::n_threads() const {
    return impl_->n_threads;
}
int Engine::n_threads_batch() const {
    return impl_->n_threads_batch;
}

void Engine::step(std::span<const BatchToken> tokens) {
    impl_->check_tokens(tokens);
    impl_->n_logits = 0;
    const auto n_batch = static_cast<size_t>(impl_->plan.n_batch);
    for (size_t i = 0; i < tokens.size(); i += n_batch)
        impl_->run_pass(tokens.subspan(i, std::min(n_batch, tokens.size() - i)));
}

std::span<const float> Engine::logits(size_t i) const {
    const auto n_vocab = static_cast<size_t>(impl_->model->spec.n_vocab);
    if (i >= impl_->n_logits)
        fail(ErrorKind::bad_argument, "logits {} were asked for, but the last step computed {}", i, impl_->n_logits);
    return {impl_->logits.data() + i * n_vocab, n_vocab};
}
size_t Engine::n_logits() const {
    return impl_->n_logits;
}
uint64_t Engine::logits_hash() const {
    return impl_->hash;
}

int Engine::n_past(int seq) const {
    impl_->check_seq(seq);
    return impl_->cache.n_past(seq);
}

void Engine::truncate(int seq, int n_past) {
    impl_->check_seq(seq);
    if (n_past < 0 || n_past > impl_->cache.n_past(seq))
        fail(ErrorKind::bad_argument, "cannot keep {} of the {} tokens of sequence {}", n_past, impl_->cache.n_past(seq), seq);
    impl_->cache.set_n_past(seq, n_past);
}

void Engine::shift(int seq, int n_keep, int n_discard) {
    impl_->check_seq(seq);
    if (n_keep < 0 || n_discard < 0 || n_discard > impl_->cache.n_past(seq) - n_keep)
        fail(ErrorKind::bad_argument, "cannot keep {} and drop {} of the {} tokens of sequence {}", n_keep, n_discard,
             impl_->cache.n_past(seq), seq);
    if (n_discard > 0) impl_->cache.shift(seq, n_keep, n_discard, RopeTable(spec().rope), impl_->ops);
}

void Engine::copy(int from, int to, int n_past) {
    impl_->check_seq(from);
    impl_->check_seq(to);
    if (n_past < 0 || n_past > impl_->cache.n_past(from))
        fail(ErrorKind::bad_argument, "cannot copy {} of the {} tokens of sequence {}", n_past, impl_->cache.n_past(from), from);
    impl_->cache.copy(from, to, n_past);
}

std::vector<std::span<const uint8_t>> Engine::cached(int seq, int n_past) const {
    impl_->check_seq(seq);
    if (n_past < 0 || n_past > impl_->cache.n_past(seq))
        fail(ErrorKind::bad_argument, "cannot give {} of the {} tokens of sequence {}", n_past, impl_->cache.n_past(seq), seq);
    const std::vector<std::span<uint8_t>> pieces = impl_->cache.pieces(seq, n_past);
    return {pieces.begin(), pieces.end()};
}

void Engine::restore(int seq, int n_past, const std::function<void(std::span<uint8_t>)>& fill) {
    impl_->check_seq(seq);
    if (n_past < 0 || n_past > impl_->cache.n_ctx())
        fail(ErrorKind::bad_argument, "cannot restore {} tokens: the context has {}", n_past, impl_->cache.n_ctx());
    impl_->cache.set_n_past(seq, 0);
    for (const std::span<uint8_t> piece : impl_->cache.pieces(seq, n_past)) fill(piece);
    impl_->cache.set_n_past(seq, n_past);
}

void Engine::observe(Observer observer) {
    impl_->forward.observe(std::move(observer));
}

const EngineCounts& Engine::counts() const {
    return impl_->counts;
}

void Engine::reset_counts() {
    impl_->counts = {};
    impl_->counts.layers.resize(static_cast<size_t>(spec().n_layer));
}

}  // namespace powerinfer::engine
