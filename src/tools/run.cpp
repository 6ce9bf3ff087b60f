// `run` and `chat`: file -> model -> plan -> engine -> tokens.
#include "tools/chat.h"
#include "tools/commands.h"
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
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const generate::GenerateOptions options = generate_options(a, *file, model->spec.n_vocab, log);
    const plan::Plan plan = announced(plan::solve(*model, budget(a, model->spec, log)), log);
    auto engine = engine::Engine::load(model, plan, engine_options(a.context), log);
    generate::Session session(engine, tokenizer);
    generate::Sampler sampler(options.sampling, generate::describe_vocab(tokenizer, options.sampling,
                                                                         model->spec.n_vocab, plan.n_ctx));
    perf.load_s = perf.total.seconds();

    const Stage stage{a, texts, engine, tokenizer, session, sampler, options, perf};
    const int status = chat ? converse(stage, *chat) : is_interactive(a) ? interact(stage) : complete(stage);
    if (chat && a.program->name == "llama-cli") return status;  // it has said its speeds
    if (a.log.perf) print_timings(*a.program, perf);
    print_summary(perf, engine);
    if (a.log.layers) print_layers(engine.counts());
    return status;
}

}  // namespace powerinfer::tools
