#include "plan/plan.h"

#include <fmt/format.h>

#include "base/error.h"
#include "sparsity/evaluation_record.h"
#include "sparsity/profile.h"

namespace powerinfer::plan {
namespace {

using sparsity::Mode;

/// What automatic becomes, and why.
Mode choose(const model::Model& model, std::string& reason) {
    const model::ModelSpec& spec = model.spec;
    if (!model::is_sparse_capable(spec.activation)) {
        reason = fmt::format("activation {} gives no exact zeros", model::name(spec.activation));
        return Mode::off;
    }
    const sparsity::Trust trust = sparsity::trust_in_predictors(model);
    if (trust.trusted) {
        reason = trust.reason;
        return Mode::predict;
    }
    reason = fmt::format("activation {} gives exact zeros", model::name(spec.activation));
    if (spec.has_predictors) reason += "; " + trust.reason;
    return Mode::exact;
}

void check(const model::ModelSpec& spec, Mode mode) {
    if (mode == Mode::off) return;
    if (!model::is_sparse_capable(spec.activation))
        fail(ErrorKind::bad_argument,
             "sparsity mode '{}' needs an activation with exact zeros (relu, relu_squared, drelu), but the model's is "
             "{}: use off, or --activation if the file is wrong about it",
             sparsity::name(mode), model::name(spec.activation));
    if (mode == Mode::predict && !spec.has_predictors)
        fail(ErrorKind::bad_argument,
             "sparsity mode 'predict' needs predictors, which this model does not have: use exact or off, or make them with `powerinfer complete`");
}

void check_cache(const model::ModelSpec& spec, DType type) {
    if (type != DType::F32 && type != DType::F16 && type != DType::BF16 && type != DType::Q8_0)
        fail(ErrorKind::unsupported, "the KV cache cannot be stored as {}, expected F32, F16, BF16 or Q8_0",
             info(type).name);
    if (spec.head_dim % info(type).block != 0)
        fail(ErrorKind::bad_argument,
             "a KV cache in {} needs attention heads of a multiple of {} elements, but this model's have {}: use f16",
             info(type).name, info(type).block, spec.head_dim);
}

/// Bytes of a down projection re-laid by neuron. Blocks are taken apart into codes of 4 or 8 bits and, per group of
/// 16 or 32, scales and minima of up to 4 bytes each: an upper estimate.
uint64_t relaid_bytes(const TensorView& down) {
    if (info(down.type).block == 1) return down.n_bytes();
    const auto n = static_cast<uint64_t>(down.n_elements());
    return (8 * info(down.type).bytes <= 5 * info(down.type).block ? n / 2 : n) + n / 4;
}

/// Bytes of the working memory for one pass, as engine/scratch.h lays it out (an upper estimate).
uint64_t scratch_bytes(const model::ModelSpec& spec, const Budget& budget) {
    const auto tokens = static_cast<uint64_t>(budget.n_batch);
    const auto width = static_cast<uint64_t>(4 * spec.n_embd + 2 * spec.n_embd_q() + 2 * spec.n_embd_kv() + 5 * spec.n_ff);
    return tokens * width * sizeof(float) + static_cast<uint64_t>(spec.n_vocab) * sizeof(float);
}

/// What the file says of how many neurons fire.
void take_shares(const model::Model& model, Plan& plan) {
    const auto record = sparsity::read_evaluation(*model.file);
    const bool evaluated = record && record->weights != 0;
    if (sparsity::has_profile(*model.file)) {
        const sparsity::ActivationProfile profile = sparsity::read_profile(*model.file);
        if (profile.n_layer() != model.spec.n_layer || profile.n_ff != model.spec.n_ff) return;
        plan.share_source = "the profile in the file";
        for (size_t i = 0; i < plan.layers.size(); ++i) plan.layers[i].active_share = profile.active_share(static_cast<int>(i));
    } else if (evaluated) {
        plan.share_source = "the evaluation in the file";
        for (LayerPlan& layer : plan.layers) layer.active_share = record->true_active_share;
    }
    for (LayerPlan& layer : plan.layers) layer.predicted_share = evaluated ? record->active_share : layer.active_share;
}

/// Under automatic, a layer of `exact` is computed whole where that is expected to be faster. Only where it changes no bit,
/// which is where the down projection lies by neuron: times depend on the machine and on the threads, results must not.
void choose_layers(const model::Model& model, const Budget& budget, Plan& plan) {
    if (!model::is_sparse_capable(model.spec.activation)) return;
    take_shares(model, plan);
    size_t changed = 0;
    for (size_t i = 0; i < plan.layers.size(); ++i) {
        const model::LayerTensors& tensors = model.tensors.layers[i];
        LayerPlan& layer = plan.layers[i];
        if (layer.active_share < 0) continue;
        layer.cost = ffn_cost(tensors, budget.rates, layer.active_share, layer.predicted_share);
        if (budget.mode != Mode::automatic || layer.mode != Mode::exact || !tensors.ffn_down_t) continue;
        if (layer.cost.off <= 0 || layer.cost.exact <= layer.cost.off) continue;
        layer.mode = Mode::off;
        ++changed;
    }
    if (changed > 0)
        plan.mode_reason += fmt::format("; {} of {} layers are faster without", changed, plan.layers.size());
}

/// Decides which layers are repacked: in order, while they fit beside what is needed anyway.
void repack(const model::Model& model, const Budget& budget, Plan& plan) {
    const uint64_t needed = plan.relaid_bytes + plan.kv_bytes + plan.scratch_bytes;
    const auto fits = [&](uint64_t bytes) {
        if (needed + plan.repacked_bytes + bytes > budget.repack_bytes) return false;
        plan.repacked_bytes += bytes;
        return true;
    };
    for (size_t i = 0; i < plan.layers.size(); ++i) {
        const model::LayerTensors& t = model.tensors.layers[i];
        uint64_t bytes = 0;
        for (const TensorView* v : {&t.attn_q, &t.attn_k, &t.attn_v, &t.attn_output, &t.ffn_gate, &t.ffn_up, &t.ffn_down_t})
            bytes += v->n_bytes();
        if (!plan.layers[i].relay_down) bytes += t.ffn_down.n_bytes();
        if (plan.layers[i].mode == Mode::predict) bytes += t.fc1.n_bytes() + t.fc2.n_bytes();
        plan.layers[i].repack = fits(bytes);
    }
    plan.repack_output = fits(model.tensors.output.n_bytes());
}

}  // namespace

Plan solve(const model::Model& model, const Budget& budget) {
    const model::ModelSpec& spec = model.spec;
    Plan plan;
    plan.n_ctx = budget.n_ctx > 0 ? budget.n_ctx : spec.n_ctx_train;
    plan.n_seq = budget.n_seq;
    plan.n_batch = budget.n_batch;
    plan.kv_type = budget.kv_type;
    if (plan.n_seq < 1) fail(ErrorKind::bad_argument, "{} sequences were asked for, expected at least 1", plan.n_seq);
    if (plan.n_batch < 1) fail(ErrorKind::bad_argument, "the batch size is {}, expected at least 1", plan.n_batch);
    check_cache(spec, plan.kv_type);

    plan.mode = budget.mode;
    if (plan.mode == Mode::automatic) {
        plan.mode = choose(model, plan.mode_reason);
    } else {
        plan.mode_reason = "asked for";
    }
    check(spec, plan.mode);

    for (const auto& tensor : model.file->tensors()) plan.weight_bytes += tensor.view.n_bytes();
    plan.layers.resize(model.tensors.layers.size());
    for (LayerPlan& layer : plan.layers) layer.mode = plan.mode;
    if (!budget.rates.empty()) choose_layers(model, budget, plan);
    for (size_t i = 0; i < plan.layers.size(); ++i) {
        const model::LayerTensors& tensors = model.tensors.layers[i];
        LayerPlan& layer = plan.layers[i];
        layer.relay_down = layer.mode != Mode::off && !tensors.ffn_down_t;
        if (layer.relay_down) plan.relaid_bytes += relaid_bytes(tensors.ffn_down);
    }
    if (const auto r = plan.layers.empty() ? budget.rates.end() : budget.rates.find(model.tensors.layers[0].ffn_gate.type);
        r != budget.rates.end() && dense_from(r->second) > 0)
        plan.dense_from = dense_from(r->second);
    plan.kv_bytes = 2 * static_cast<uint64_t>(spec.n_layer) * static_cast<uint64_t>(plan.n_seq) *
                    static_cast<uint64_t>(plan.n_ctx) * row_bytes(plan.kv_type, spec.n_embd_kv());
    plan.scratch_bytes = scratch_bytes(spec, budget);
    repack(model, budget, plan);
    const uint64_t own = plan.total_bytes() - plan.weight_bytes;
    if (budget.ram_bytes != 0 && own > budget.ram_bytes)
        fail(ErrorKind::out_of_memory,
             "{} positions for {} sequences need {} MiB beside the model file, but {} MiB are allowed", plan.n_ctx,
             plan.n_seq, own >> 20, budget.ram_bytes >> 20);
    return plan;
}

std::string summary(const Plan& plan) {
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    return fmt::format(
        "sparsity {} ({}); weights {:.1f} MiB mapped, {:.1f} MiB repacked, {:.1f} MiB re-laid, KV cache {:.1f} MiB ({} positions x {} "
        "sequences, {}), scratch {:.1f} MiB",
        sparsity::name(plan.mode), plan.mode_reason, mib(plan.weight_bytes - plan.repacked_bytes), mib(plan.repacked_bytes),
        mib(plan.relaid_bytes), mib(plan.kv_bytes),
        plan.n_ctx, plan.n_seq, info(plan.kv_type).name, mib(plan.scratch_bytes));
}

std::string explain(const Plan& plan, const RatesByType& rates) {
    std::string text = fmt::format("mode {}: {}\n", sparsity::name(plan.mode), plan.mode_reason);
    for (const auto& [type, r] : rates)
        text += fmt::format(
            "{}: one token reads {:.1f} GB/s whole, {:.1f} by rows, adds up {:.1f}; prompts {:.0f} G products/s whole, {:.0f} by lists\n",
            info(type).name, r.dense / 1e9, r.rows / 1e9, r.sums / 1e9, r.prompt / 1e9, r.prompt_lists / 1e9);
    text += fmt::format("prompts: 16 rows are computed for all tokens from {:.1f} pairs per token on\n", plan.dense_from);
    if (plan.share_source.empty()) {
        return text + "How many neurons fire is not known: the file has no profile and no evaluation "
                      "(`powerinfer complete` makes both). All layers run in the mode above.\n";
    }
    text += fmt::format("shares from {}; expected time of one token in the feed-forward, microseconds\n"
                        "| layer | active | predicted | off | exact | predict | chosen |\n| ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
                        plan.share_source);
    const auto us = [](double seconds) { return seconds > 0 ? fmt::format("{:.1f}", 1e6 * seconds) : std::string("-"); };
    for (size_t i = 0; i < plan.layers.size(); ++i) {
        const LayerPlan& l = plan.layers[i];
        text += fmt::format("| {} | {:.1f} % | {:.1f} % | {} | {} | {} | {} |\n", i, 100 * l.active_share, 100 * l.predicted_share,
                            us(l.cost.off), us(l.cost.exact), us(l.cost.predict), sparsity::name(l.mode));
    }
    return text;
}

}  // namespace powerinfer::plan
