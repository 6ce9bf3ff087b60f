#include "learn/text_run.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace powerinfer::learn {

Text make_text(std::span<const int32_t> ids, int window, const model::ModelSpec& spec,
               const tokenizer::SpecialTokens& special) {
    if (ids.empty()) fail(ErrorKind::bad_argument, "the text has no tokens, expected at least one");
    if (window < 2)
        fail(ErrorKind::bad_argument, "a window of {} tokens was asked for, expected at least 2", window);
    Text text{.ids = ids, .window = window, .bos = {}};
    if (special.add_bos) text.bos = special.bos;
    text.window = std::min(window, spec.n_ctx_train - (text.bos ? 1 : 0));
    if (text.window < 2)
        fail(ErrorKind::unsupported, "the model reads {} tokens at a time, expected at least 3",
             spec.n_ctx_train);
    return text;
}

engine::Engine load_dense(std::shared_ptr<const model::Model> model, const Text& text, int n_threads) {
    const int n = text.window + (text.bos ? 1 : 0);
    const plan::Plan plan =
        plan::solve(*model, {.n_ctx = n, .n_batch = n, .kv_type = DType::F32, .mode = sparsity::Mode::off});
    return engine::Engine::load(std::move(model), plan, {.n_threads = n_threads});
}

void run_text(engine::Engine& engine, const Text& text, int64_t first_window,
              const std::function<void(int64_t, const engine::ObservedFeedForward&)>& see,
              const Progress& progress) {
    const int64_t skip = text.bos ? 1 : 0;
    std::vector<engine::BatchToken> batch;
    for (int64_t w = first_window; w < text.n_windows(); ++w) {
        report(progress, static_cast<double>(w) / static_cast<double>(text.n_windows()),
               fmt::format("window {} of {}", w + 1, text.n_windows()));
        engine.observe([&](const engine::ObservedFeedForward& all) {
            engine::ObservedFeedForward f = all;
            f.n_tokens -= skip;
            f.residual += skip * f.n_embd;
            f.normed += skip * f.n_embd;
            if (f.gate) f.gate += skip * f.n_ff;
            f.up += skip * f.n_ff;
            f.h += skip * f.n_ff;
            if (f.selected) f.selected += skip * f.n_ff;
            see(w, f);
        });
        batch.clear();
        if (text.bos) batch.push_back({*text.bos, 0, false});
        for (int64_t i = 0; i < text.window_size(w); ++i)
            batch.push_back({text.ids[static_cast<size_t>(text.window_begin(w) + i)], 0, false});
        engine.truncate(0, 0);
        engine.step(batch);
    }
    engine.observe({});
}

}  // namespace powerinfer::learn
