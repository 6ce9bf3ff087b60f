// What is behind the handles of the public API. Not for anybody outside this room.
#pragma once

#include <powerinfer/powerinfer.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "generate/sampler.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace powerinfer {

struct Model::Impl {
    std::shared_ptr<const model::Model> model;
    std::optional<tokenizer::Tokenizer> tokenizer;  ///< nothing for a file without a vocabulary

    /// Throws Error{unsupported} for a file without a vocabulary.
    const tokenizer::Tokenizer& vocabulary() const;
};

struct Session::Impl {
    Model model;
    engine::Engine engine;
    std::vector<std::vector<Token>> tokens;  ///< per sequence, those in the cache
    Timings timings;                         ///< without weight_bytes, which the engine counts
    std::atomic<bool> stop{false};
    mutable std::atomic<bool> busy{false};

    Impl(const Model& m, const SessionOptions& options);

    /// Runs the tokens and keeps `tokens` true, also when the engine fails half way.
    void step(const std::vector<engine::BatchToken>& batch);
    void check_seq(int seq) const;
    Generation generate(const std::vector<Token>& prompt, const GenerateOptions& options,
                        const TextCallback& callback);
};

struct Sampler::Impl {
    generate::Sampler sampler;
    int n_vocab;
    std::string chain;
};

namespace api {

/// A sampler for a vocabulary (null: ids only) and the context of an engine.
generate::Sampler make_sampler(const tokenizer::Tokenizer* tokenizer, const engine::Engine& engine,
                               const SamplerOptions& options);

/// Holds a session for one caller. Throws Error{bad_argument} where somebody else is inside.
class Occupied {
  public:
    explicit Occupied(std::atomic<bool>& busy) : busy_(busy) {
        if (busy_.exchange(true, std::memory_order_acquire))
            fail(ErrorKind::bad_argument,
                 "The session is in use, by another thread or by the call whose callback called it; wait until that "
                 "call returns.");
    }
    ~Occupied() { busy_.store(false, std::memory_order_release); }
    Occupied(const Occupied&) = delete;
    Occupied& operator=(const Occupied&) = delete;

  private:
    std::atomic<bool>& busy_;
};

/// Adds the time of its life to a sum of seconds.
class Timer {
  public:
    explicit Timer(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
    ~Timer() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    double& sum_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace api
}  // namespace powerinfer
