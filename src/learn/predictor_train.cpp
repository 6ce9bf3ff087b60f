// `train`: the two-layer network of the paper, started from `svd` and trained on recorded tokens.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/hash.h"
#include "learn/ffn_samples.h"
#include "learn/low_rank.h"
#include "learn/predictor_maker.h"
#include "learn/predictor_net.h"
#include "learn/profiler.h"

namespace powerinfer::learn {
namespace {

using sparsity::LayerPredictor;
using sparsity::PredictorSet;

constexpr int64_t kBatch = 256;
constexpr int64_t kSpan = 16;            // neighbouring tokens of a batch
constexpr int64_t kMostHeldOut = 8192;   // tokens that thresholds are made and measured on
constexpr int64_t kStartTokens = 8192;   // tokens that the start is computed from
constexpr int64_t kCheckTokens = 1024;   // of those held out, for the early stop
constexpr int kPatience = 3;             // checks without a better loss
constexpr float kOffset = 3.0f;          // hidden values start this many deviations above the ReLU's bend
constexpr double kGoal = 0.995;          // contribution kept at 1.5 times the true share: more rank is not needed

/// How much answers matter: firing neurons by what they contribute, the others alike and less.
class Importance {
  public:
    explicit Importance(const Floats& contributions) {
        double sum = 0;
        int64_t n = 0;
        for (const float v : contributions.values) {
            sum += static_cast<double>(v);
            n += v > 0;
        }
        mean_ = static_cast<float>(sum / static_cast<double>(std::max<int64_t>(n, 1)));
        const double share = static_cast<double>(n) / static_cast<double>(std::max<size_t>(contributions.values.size(), 1));
        no_ = -static_cast<float>(std::clamp(2 * share, 0.05, 0.5));
    }
    float of(float contribution) const {
        return contribution > 0 ? 0.3f + std::min(contribution / std::max(mean_, 1e-30f), 8.0f) : no_;
    }

  private:
    float mean_, no_;
};

class LayerTraining {
  public:
    LayerTraining(const model::Model& model, int layer, const MakerOptions& options, Multiplier& multiply)
        : model_(model), layer_(layer), options_(options), multiply_(multiply),
          spec_(spec_of(options)),
          recording_(LayerRecording::open(options.folder, layer)), norms_(down_norms(model, layer)),
          n_train_(recording_.n_tokens() - std::min(kMostHeldOut, recording_.n_tokens() / 4)) {
        held_out_x_ = predictor_input(model, recording_, layer, n_train_, recording_.n_tokens() - n_train_, spec_.input);
        held_out_ = contributions(norms_, recording_, n_train_, recording_.n_tokens() - n_train_, multiply);
    }

    /// Grows or shrinks the rank until the goal lies between two ranks; gives all that were trained.
    std::vector<Candidate> candidates() {
        const std::vector<int64_t> ranks = ranks_to_try(options_, model_.spec.n_embd);
        std::vector<Candidate> all;
        auto at = static_cast<int64_t>(ranks.size() / 2);
        bool shrinks = false, grows = false;
        while (at >= 0 && at < static_cast<int64_t>(ranks.size())) {
            all.push_back(candidate(ranks[static_cast<size_t>(at)]));
            const bool good = reaches_goal(all.back().curve);
            if (good ? grows : shrinks) break;
            (good ? shrinks : grows) = true;
            at += good ? -1 : 1;
        }
        return all;
    }

  private:
    static bool reaches_goal(const Curve& curve) {
        for (const CurvePoint& p : curve.points) {
            if (p.share <= 1.5 * curve.true_share) return 1 - p.lost >= kGoal;
        }
        return false;
    }

    Candidate candidate(int64_t rank) {
        Candidate c;
        const Net net = trained(rank);
        c.predictor.fc1 = encoded(net.first, options_.type);
        c.predictor.fc2 = encoded(net.second, options_.type);
        c.predictor.fc1_bias = net.first_bias;
        c.predictor.fc2_bias = net.second_bias;
        c.curve = make_curve(scores_of(c.predictor, spec_, held_out_x_, multiply_), held_out_, !options_.original_form,
                             multiply_.pool());
        return c;
    }

    // A finished network is kept beside the recording, so that a stopped run goes on behind it.
    std::string file_of(int64_t rank) const {
        return (std::filesystem::path(options_.folder) / fmt::format("layer_{}.rank_{}.gguf", layer_, rank)).string();
    }
    uint64_t identity() const {
        const int64_t facts[] = {layer_, options_.n_epochs, options_.original_form};
        const uint64_t run = recording_.shape().run;
        return fnv1a(facts, sizeof(facts), fnv1a(&run, sizeof(run))) | 1;
    }

    Net trained(int64_t rank) {
        if (std::filesystem::exists(file_of(rank))) {
            const PredictorSet kept = sparsity::read_predictors(file_of(rank));
            if (kept.fingerprint == identity() && kept.n_layer() == 1) {
                const LayerPredictor& p = kept.layers[0];
                return {decoded(p.fc1), decoded(p.fc2), p.fc1_bias, p.fc2_bias};
            }
        }
        Net net = train(start(rank));
        PredictorSet kept;
        kept.spec = spec_;
        kept.maker = "train";
        kept.fingerprint = identity();
        kept.n_embd = model_.spec.n_embd;
        kept.n_ff = model_.spec.n_ff;
        kept.layers.push_back({encoded(net.first, DType::F32), encoded(net.second, DType::F32), net.first_bias, net.second_bias, {}});
        sparsity::write_predictors(file_of(rank), kept);
        return net;
    }

    /// The low-rank gate: with biases shifted above the ReLU's bend, so that it starts linear, without them mirrored.
    Net start(int64_t rank) {
        const int64_t n = std::min(n_train_, kStartTokens);
        const Floats x = predictor_input(model_, recording_, layer_, 0, n, spec_.input);
        Floats gate = gate_rows(model_, layer_);
        if (options_.original_form) {
            const auto* weight = static_cast<const float*>(model_.tensors.layers[static_cast<size_t>(layer_)].ffn_norm.data);
            for (int64_t j = 0; j < gate.rows; ++j) {
                for (int64_t i = 0; i < gate.columns; ++i) gate.row(j)[i] *= weight[i];
            }
        }
        const int64_t n_factors = options_.original_form ? (rank + 1) / 2 : rank;
        const LowRank f = low_rank(gate, covariance(x, multiply_), n_factors, multiply_);
        // Logits of a gate of one standard deviation are 3.
        double squares = 0;
        for (const double s : f.singular) squares += s * s;
        const double logit = 3 / std::sqrt(std::max(squares / static_cast<double>(gate.rows), 1e-30));
        std::vector<double> mean(static_cast<size_t>(x.columns));
        for (int64_t t = 0; t < n; ++t) {
            for (int64_t i = 0; i < x.columns; ++i)
                mean[static_cast<size_t>(i)] += static_cast<double>(x.row(t)[i]) / static_cast<double>(n);
        }
        const auto at_mean = [&](const float* row) {
            double sum = 0;
            for (int64_t i = 0; i < x.columns; ++i) sum += static_cast<double>(row[i]) * mean[static_cast<size_t>(i)];
            return sum;
        };
        Net net{Floats(rank, gate.columns), Floats(gate.rows, rank), {}, {}};
        if (!options_.original_form) {
            net.first_bias.assign(static_cast<size_t>(rank), 0.0f);
            for (int64_t j = 0; j < gate.rows; ++j) net.second_bias.push_back(static_cast<float>(logit * at_mean(gate.row(j))));
        }
        std::mt19937 random(static_cast<uint32_t>(layer_) + 1);
        std::normal_distribution<float> noise(0, 1e-3f);
        for (float& v : net.first.values) v = noise(random);  // ranks beyond the gate's own
        for (int64_t k = 0; k < rank; ++k) {
            const int64_t from = options_.original_form ? k % n_factors : k;
            if (from >= f.first.rows) continue;
            const double deviation = std::max(f.singular[static_cast<size_t>(from)], 1e-12);
            const double sign = options_.original_form && k >= n_factors ? -1 : 1;
            for (int64_t i = 0; i < gate.columns; ++i)
                net.first.row(k)[i] = static_cast<float>(sign * static_cast<double>(f.first.row(from)[i]) / deviation);
            for (int64_t j = 0; j < gate.rows; ++j) {
                const double weight = sign * logit * deviation * static_cast<double>(f.second.row(j)[from]);
                net.second.row(j)[k] = static_cast<float>(weight);
                if (!options_.original_form)
                    net.second_bias[static_cast<size_t>(j)] -= static_cast<float>(weight * static_cast<double>(kOffset));
            }
            if (!options_.original_form)
                net.first_bias[static_cast<size_t>(k)] = kOffset - static_cast<float>(at_mean(net.first.row(k)));
        }
        return net;
    }

    NetBatch batch_of(std::span<const int64_t> firsts, int64_t n_each, const Importance& importance) {
        NetBatch batch{Floats(0, model_.spec.n_embd), Floats(0, model_.spec.n_ff)};
        for (const int64_t first : firsts) {
            const Floats x = predictor_input(model_, recording_, layer_, first, n_each, spec_.input);
            const Floats worth = contributions(norms_, recording_, first, n_each, multiply_);
            batch.x.values.insert(batch.x.values.end(), x.values.begin(), x.values.end());
            for (int64_t t = 0; t < n_each; ++t) {
                for (int64_t j = 0; j < worth.rows; ++j) batch.weights.values.push_back(importance.of(worth.row(j)[t]));
            }
            batch.x.rows = batch.weights.rows += n_each;
        }
        return batch;
    }

    Net train(Net start) {
        const Importance importance(held_out_);
        const int64_t rank = start.first.rows;
        const int64_t n_per_epoch = std::max<int64_t>(n_train_ / kBatch, 1);
        NetOptions how;
        how.n_steps = n_per_epoch * options_.n_epochs;
        NetTrainer trainer(std::move(start), how, multiply_);
        const std::vector<int64_t> check_at = {n_train_};
        const NetBatch check = batch_of(check_at, std::min(kCheckTokens, recording_.n_tokens() - n_train_), importance);
        Net best = trainer.net();
        double least = trainer.loss(check);
        powerinfer::log(options_.log, LogLevel::info, "layer {:3} rank {:4}: loss at the start {:.5f}", layer_, rank, least);
        std::mt19937 random(7);
        std::uniform_int_distribution<int64_t> where(0, std::max<int64_t>(n_train_ - kSpan, 0));
        const int64_t check_every = std::max<int64_t>(how.n_steps / 8, 1);
        double sum = 0;
        int n_worse = 0;
        for (int64_t step = 1; step <= how.n_steps && n_worse < kPatience; ++step) {
            report(options_.progress, static_cast<double>(step) / static_cast<double>(how.n_steps),
                   fmt::format("training layer {} at rank {}", layer_, rank));
            std::vector<int64_t> firsts;
            for (int64_t i = 0; i < kBatch / kSpan; ++i) firsts.push_back(where(random));
            sum += trainer.step(batch_of(firsts, std::min(kSpan, n_train_), importance));
            if (step % check_every != 0) continue;
            const double loss = trainer.loss(check);
            powerinfer::log(options_.log, LogLevel::info, "layer {:3} rank {:4}: step {:5}, loss {:.5f}, held out {:.5f}", layer_,
                            rank, step, sum / static_cast<double>(check_every), loss);
            sum = 0;
            ++n_worse;
            if (loss < least) {
                least = loss;
                best = trainer.net();
                n_worse = 0;
            }
        }
        return best;
    }

    const model::Model& model_;
    int layer_;
    const MakerOptions& options_;
    Multiplier& multiply_;
    model::PredictorSpec spec_;
    LayerRecording recording_;
    std::vector<double> norms_;  // |down row|^2
    int64_t n_train_;  // tokens before the held-out ones
    Floats held_out_x_, held_out_;
};

}  // namespace

std::vector<Candidate> trained_candidates(const model::Model& model, int layer, const MakerOptions& options,
                                          Multiplier& multiply) {
    return LayerTraining(model, layer, options, multiply).candidates();
}

}  // namespace powerinfer::learn
