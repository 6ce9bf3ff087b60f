// `run` and `chat`: file -> model -> plan -> engine -> tokens.
#include "tools/chat.h"
#include "tools/commands.h"
#include "tools/prompt_cache.h"
#include "tools/setup.h"
#include "tools/stream.h"
#include "tools/terminal.h"

namespace powerinfer::tools {

int run(const Arguments& a) {
    require_no_words(a);
    const LogSink log = log_to_stderr(a.log.verbosity);
    Perf perf;
    const Texts texts = read_texts(a);

    const auto file = open_file(a, log);
    const auto chat = conversation_template(a, texts, *file, log);
    check_prompt_cache(a, chat.has_value());
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const generate::GenerateOptions options = generate_options(a, *file, model->spec.n_vocab, log);
    const plan::Plan plan = announced(plan::solve(*model, budget(a, *model, log)), log);
    const std::vector<int32_t> prompt = chat ? std::vector<int32_t>() : first_tokens(tokenizer, texts.prompt, plan.n_ctx);
    auto engine = engine::Engine::load(model, plan, engine_options(a), log);
    const bool caches = !a.prompt.cache_file.empty();
    const uint64_t fingerprint = caches ? state_fingerprint(*model, engine) : 0;
    generate::Session session(engine, tokenizer, 0,
                              caches ? read_prompt_cache(a.prompt.cache_file, engine, fingerprint) : std::vector<int32_t>());
    generate::Sampler sampler(options.sampling, generate::describe_vocab(tokenizer, options.sampling,
                                                                         model->spec.n_vocab, plan.n_ctx));
    perf.load_s = perf.total.seconds();

    const Stage stage{a, texts, prompt, engine, tokenizer, session, sampler, options, perf, fingerprint};
    const int status = chat ? converse(stage, *chat) : is_interactive(a) ? interact(stage) : complete(stage);
    if (chat && a.program->name == "llama-cli") return status;  // it has said its speeds
    if (a.log.perf) print_timings(*a.program, perf);
    print_summary(perf, engine);
    if (a.log.layers) print_layers(engine.counts());
    return status;
}

}  // namespace powerinfer::tools
