#include "tools/setup.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"
#include "sparsity/evaluation_record.h"
#include "sparsity/profile.h"
#include "tools/kernel_rates.h"
#include "tools/numbers.h"
#include "tools/option_rows.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

void apply_rope(const RopeArgs& args, model::Rope& rope) {
    if (args.freq_base.value_or(0) > 0) rope.freq_base = *args.freq_base;
    if (args.scaling) rope.scaling = *args.scaling;
    if (args.freq_scale.value_or(0) > 0) {
        rope.factor = 1.0f / *args.freq_scale;
        if (rope.scaling == model::RopeScaling::none && !args.scaling) rope.scaling = model::RopeScaling::linear;
    }
    if (args.yarn_orig_ctx.value_or(0) > 0) rope.n_ctx_original = *args.yarn_orig_ctx;
    const auto replace = [](const std::optional<float>& from, float& to) {
        if (from.value_or(-1) >= 0) to = *from;
    };
    replace(args.yarn_ext_factor, rope.yarn_ext_factor);
    replace(args.yarn_attn_factor, rope.yarn_attn_factor);
    replace(args.yarn_beta_slow, rope.yarn_beta_slow);
    replace(args.yarn_beta_fast, rope.yarn_beta_fast);
}

/// The trained context, halved until its cache takes no more than half of the free memory, but not below 4096.
int fitting_context(const model::ModelSpec& spec, DType kv_type, const LogSink& log) {
    const auto cache_bytes = [&](int n) {
        return 2 * static_cast<uint64_t>(n) * static_cast<uint64_t>(spec.n_layer) *
               powerinfer::row_bytes(kv_type, spec.n_embd_kv());
    };
    int n_ctx = spec.n_ctx_train;
    const uint64_t available = available_memory();
    while (available > 0 && n_ctx / 2 >= 4096 && cache_bytes(n_ctx) > available / 2) n_ctx /= 2;
    if (n_ctx != spec.n_ctx_train)
        powerinfer::log(log, LogLevel::info,
                        "context of {} instead of the trained {} tokens, to fit the free memory (-c decides otherwise)",
                        n_ctx, spec.n_ctx_train);
    return n_ctx;
}

}  // namespace

std::shared_ptr<const formats::GgufFile> open_file(const Arguments& a, const LogSink& log) {
    require_model(a);
    auto file = std::make_shared<formats::GgufFile>(formats::GgufFile::open(a.model.path));
    for (const auto& [key, value] : a.model.overrides) {
        powerinfer::log(log, LogLevel::info, "--override-kv: '{}' {}", key,
                        file->has(key) ? "replaces the file's value" : "is added; the file has no such key");
        file->override_key(key, value);
    }
    if (a.model.lock)
        for (const MappedFile& part : file->parts())
            if (!part.lock())
                powerinfer::log(log, LogLevel::warning, "cannot pin '{}' in memory: {}", part.path(),
                                std::strerror(errno));
    return file;
}

std::shared_ptr<const model::Model> load_model(std::shared_ptr<const formats::GgufFile> file, const Arguments& a,
                                               const LogSink& log) {
    model::LoadOptions options;
    options.activation = a.model.activation;
    options.threshold = a.model.threshold;
    if (const char* text = std::getenv("LLAMA_SPARSE_PRED_THRESHOLD"); text && !options.threshold)
        options.threshold = sparsity::resolve_threshold(0, text);
    auto model = std::make_shared<model::Model>(model::load(std::move(file), options, log));
    apply_rope(a.context.rope, model->spec.rope);
    return model;
}

uint64_t repack_allowance(const ModelArgs& m) {
    // Pinned pages of the file cannot be let go of, so a second copy would double them.
    return m.repack && !m.lock ? available_memory() / 10 * 9 : 0;
}

plan::RatesByType rates_for(const model::Model& model, sparsity::Mode mode, int n_threads, const std::string& isa,
                            const LogSink& log) {
    if (mode != sparsity::Mode::automatic || !model::is_sparse_capable(model.spec.activation)) return {};
    if (!sparsity::has_profile(*model.file) && !sparsity::read_evaluation(*model.file)) return {};
    return kernel_rates(ffn_types(model), n_threads, isa, log);
}

plan::Budget budget(const Arguments& a, const model::Model& model, const LogSink& log) {
    const ContextArgs& c = a.context;
    const model::ModelSpec& spec = model.spec;
    if (c.cache_type_k != c.cache_type_v)
        fail(ErrorKind::unsupported, "--cache-type-k and --cache-type-v must be the same, not {} and {}",
             info(c.cache_type_k).name, info(c.cache_type_v).name);
    plan::Budget b;
    b.kv_type = c.cache_type_k;
    b.mode = a.model.sparsity;
    b.rates = rates_for(model, b.mode, c.n_threads, c.isa, log);
    b.repack_bytes = repack_allowance(a.model);
    b.n_batch = std::min(c.n_batch, c.n_ubatch);
    if (!c.n_ctx) b.n_ctx = fitting_context(spec, b.kv_type, log);
    else if (*c.n_ctx > 0) b.n_ctx = std::max(*c.n_ctx, 8);
    if (b.n_ctx > spec.n_ctx_train)
        powerinfer::log(log, LogLevel::warning, "the model was trained with a context of {} tokens; {} may not work",
                        spec.n_ctx_train, b.n_ctx);
    return b;
}

engine::EngineOptions engine_options(const Arguments& a) {
    return {.n_threads = std::max(a.context.n_threads, 0),
            .n_threads_batch = std::max(a.context.n_threads_batch, 0),
            .isa = a.context.isa,
            .layout_path = a.model.cache_layout ? a.model.path + ".layout" : ""};
}

plan::Plan announced(plan::Plan plan, const LogSink& log) {
    for (const std::string& line : split_list(plan::summary(plan), "\n")) powerinfer::log(log, LogLevel::info, "{}", line);
    return plan;
}

}  // namespace powerinfer::tools
