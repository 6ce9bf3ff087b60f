#include "api/handles.h"

namespace powerinfer {

generate::Sampler api::make_sampler(const tokenizer::Tokenizer* tokenizer, const engine::Engine& engine,
                                    const SamplerOptions& options) {
    const int n_vocab = engine.spec().n_vocab, n_ctx = engine.plan().n_ctx;
    generate::SamplerVocab vocab;
    vocab.n_vocab = n_vocab;
    vocab.n_ctx = n_ctx;
    if (tokenizer) vocab = generate::describe_vocab(*tokenizer, options, n_vocab, n_ctx);
    return generate::Sampler(options, std::move(vocab));
}

Sampler::Sampler(const Session& session, const SamplerOptions& options) {
    const Session::Impl& s = *session.impl_;
    const auto& tokenizer = s.model.impl_->tokenizer;
    impl_.reset(new Impl{api::make_sampler(tokenizer ? &*tokenizer : nullptr, s.engine, options),
                         s.engine.spec().n_vocab, generate::describe_chain(options)});
}
Sampler::Sampler(const Sampler& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Sampler& Sampler::operator=(const Sampler& other) {
    impl_ = std::make_unique<Impl>(*other.impl_);
    return *this;
}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Token Sampler::sample(const Session& session, size_t i) {
    const Logits logits = session.logits(i);
    const api::Timer timer(session.impl_->timings.sample_seconds);
    ++session.impl_->timings.n_sample;
    return sample(logits.data(), logits.size());
}

Token Sampler::sample(const float* logits, size_t n) {
    if (!logits || n != static_cast<size_t>(impl_->n_vocab))
        fail(ErrorKind::bad_argument, "{} logits were given to a sampler for a vocabulary of {} tokens.",
             logits ? n : 0, impl_->n_vocab);
    return impl_->sampler.sample({logits, n});
}

void Sampler::accept(Token token) {
    if (token < 0 || token >= impl_->n_vocab)
        fail(ErrorKind::bad_argument, "Token id {} is not in the vocabulary, expected 0 to {}.", token,
             impl_->n_vocab - 1);
    impl_->sampler.accept(token);
}

uint32_t Sampler::seed() const { return impl_->sampler.seed(); }
std::string Sampler::chain() const { return impl_->chain; }

}  // namespace powerinfer
