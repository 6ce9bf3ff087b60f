#include <algorithm>
#include <system_error>

#include "api/handles.h"
#include "base/dtype.h"
#include "base/memory.h"
#include "sparsity/mode.h"

namespace powerinfer {
namespace {

constexpr int kMaxSequences = 4096;

void check_at_least(int value, int least, std::string_view option) {
    if (value < least)
        fail(ErrorKind::bad_argument, "The session option {} is {}; it must be at least {}.", option, value, least);
}

plan::Budget budget(const SessionOptions& options, const model::ModelSpec& spec) {
    check_at_least(options.n_ctx, 0, "n_ctx");
    check_at_least(options.n_seq, 1, "n_seq");
    check_at_least(options.n_batch, 1, "n_batch");
    check_at_least(options.n_threads, 0, "n_threads");
    check_at_least(options.n_threads_batch, 0, "n_threads_batch");
    if (options.n_seq > kMaxSequences)
        fail(ErrorKind::bad_argument, "The session option n_seq is {}; it must be at most {}.", options.n_seq,
             kMaxSequences);
    const std::optional<DType> kv_type = find_dtype(std::string_view(options.kv_type));
    if (!kv_type)
        fail(ErrorKind::bad_argument, "The session option kv_type is '{}'; it must be f32, f16, bf16 or q8_0.", options.kv_type);
    plan::Budget b;
    b.n_ctx = options.n_ctx;
    b.n_seq = options.n_seq;
    // A pass never holds more tokens than the cache, so a large number costs no memory.
    const int64_t n_ctx = options.n_ctx > 0 ? options.n_ctx : spec.n_ctx_train;
    b.n_batch = static_cast<int>(std::clamp<int64_t>(n_ctx * options.n_seq, 1, options.n_batch));
    b.kv_type = *kv_type;
    b.repack_bytes = options.repack ? available_memory() / 10 * 9 : 0;
    b.mode = sparsity::mode_from_name(options.sparsity);
    return b;
}

engine::Engine load_engine(const std::shared_ptr<const model::Model>& model, const SessionOptions& options) {
    const plan::Plan plan = plan::solve(*model, budget(options, model->spec));
    log(options.log, LogLevel::info, "{}", plan::summary(plan));
    const engine::EngineOptions with{
        .n_threads = options.n_threads, .n_threads_batch = options.n_threads_batch, .isa = options.isa};
    try {
        return engine::Engine::load(model, plan, with, options.log, options.progress);
    } catch (const std::system_error& e) {
        fail(ErrorKind::out_of_memory, "The system does not start {} threads: {}.",
             std::max(options.n_threads, options.n_threads_batch), e.what());
    }
}

}  // namespace

Session::Impl::Impl(const Model& m, const SessionOptions& options)
    : model(m), engine(load_engine(m.impl_->model, options)), tokens(static_cast<size_t>(options.n_seq)) {}

void Session::Impl::check_seq(int seq) const {
    if (seq < 0 || seq >= static_cast<int>(tokens.size()))
        fail(ErrorKind::bad_argument, "Sequence {} does not exist, expected 0 to {}.", seq, tokens.size() - 1);
}

void Session::Impl::step(const std::vector<engine::BatchToken>& batch) {
    const bool is_decode = batch.size() == 1;
    const api::Timer timer(is_decode ? timings.decode_seconds : timings.prompt_seconds);
    (is_decode ? timings.n_decode : timings.n_prompt) += static_cast<int64_t>(batch.size());
    const auto remember = [&] {
        for (const engine::BatchToken& t : batch) {
            if (t.seq < 0 || t.seq >= static_cast<int>(tokens.size())) continue;
            std::vector<Token>& held = tokens[static_cast<size_t>(t.seq)];
            if (held.size() < static_cast<size_t>(engine.n_past(t.seq))) held.push_back(t.id);
        }
    };
    try {
        engine.step(batch);
    } catch (...) {
        remember();
        throw;
    }
    remember();
}

Session::Session(const Model& model, const SessionOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Model& Session::model() const { return impl_->model; }
int Session::n_ctx() const { return impl_->engine.plan().n_ctx; }
int Session::n_seq() const { return impl_->engine.plan().n_seq; }
int Session::n_threads() const { return impl_->engine.n_threads(); }
int Session::n_threads_batch() const { return impl_->engine.n_threads_batch(); }
std::string Session::isa() const { return std::string(impl_->engine.isa()); }
std::string Session::sparsity() const { return std::string(sparsity::name(impl_->engine.plan().mode)); }
std::string Session::plan() const { return plan::summary(impl_->engine.plan()); }

void Session::request_stop() noexcept { impl_->stop.store(true, std::memory_order_relaxed); }
void Session::clear_stop() noexcept { impl_->stop.store(false, std::memory_order_relaxed); }

Generation Session::generate(std::string_view prompt, const GenerateOptions& options, const TextCallback& callback) {
    return generate(impl_->model.tokenize(prompt, true, true), options, callback);
}

Generation Session::generate(const std::vector<Token>& prompt, const GenerateOptions& options,
                             const TextCallback& callback) {
    const api::Occupied occupied(impl_->busy);
    // A request that came while it ended by itself is answered too, and must not end the next one.
    struct Answered {
        std::atomic<bool>& stop;
        ~Answered() { stop.store(false, std::memory_order_relaxed); }
    } answered{impl_->stop};
    return impl_->generate(prompt, options, callback);
}

void Session::step(const std::vector<StepToken>& tokens) {
    const api::Occupied occupied(impl_->busy);
    std::vector<engine::BatchToken> batch;
    batch.reserve(tokens.size());
    for (const StepToken& t : tokens) batch.push_back({t.id, t.seq, t.want_logits});
    impl_->step(batch);
}

void Session::append(const std::vector<Token>& tokens, int seq) {
    const api::Occupied occupied(impl_->busy);
    std::vector<engine::BatchToken> batch;
    batch.reserve(tokens.size());
    for (const Token t : tokens) batch.push_back({t, seq, false});
    if (!batch.empty()) batch.back().want_logits = true;
    impl_->step(batch);
}

Logits Session::logits(size_t i) const {
    const auto values = impl_->engine.logits(i);
    return {values.data(), values.size()};
}
size_t Session::n_logits() const { return impl_->engine.n_logits(); }
uint64_t Session::logits_hash() const { return impl_->engine.logits_hash(); }

const std::vector<Token>& Session::tokens(int seq) const {
    impl_->check_seq(seq);
    return impl_->tokens[static_cast<size_t>(seq)];
}

void Session::truncate(int seq, int n) {
    const api::Occupied occupied(impl_->busy);
    impl_->engine.truncate(seq, n);
    impl_->tokens[static_cast<size_t>(seq)].resize(static_cast<size_t>(n));
}

void Session::shift(int seq, int n_keep, int n_discard) {
    const api::Occupied occupied(impl_->busy);
    impl_->engine.shift(seq, n_keep, n_discard);
    std::vector<Token>& held = impl_->tokens[static_cast<size_t>(seq)];
    held.erase(held.begin() + n_keep, held.begin() + n_keep + n_discard);
}

void Session::copy(int from, int to, int n) {
    const api::Occupied occupied(impl_->busy);
    impl_->engine.copy(from, to, n);
    if (from == to) return impl_->tokens[static_cast<size_t>(to)].resize(static_cast<size_t>(n));
    const std::vector<Token>& source = impl_->tokens[static_cast<size_t>(from)];
    impl_->tokens[static_cast<size_t>(to)].assign(source.begin(), source.begin() + n);
}

double Session::active_share() const { return impl_->engine.counts().active_share(); }

double Session::active_share(int layer) const {
    const auto& layers = impl_->engine.counts().layers;
    if (layer < 0 || layer >= static_cast<int>(layers.size()))
        fail(ErrorKind::bad_argument, "Layer {} does not exist, expected 0 to {}.", layer, layers.size() - 1);
    const engine::LayerCounts& counts = layers[static_cast<size_t>(layer)];
    return counts.neurons == 0 ? 0.0 : static_cast<double>(counts.fired) / static_cast<double>(counts.neurons);
}

Timings Session::timings() const {
    Timings t = impl_->timings;
    t.weight_bytes = impl_->engine.counts().weight_bytes;
    return t;
}

void Session::reset_counters() {
    const api::Occupied occupied(impl_->busy);
    impl_->timings = {};
    impl_->engine.reset_counts();
}

}  // namespace powerinfer
