// Defaults that depend on the name under which the program was started.
#include "tools/arguments.h"

namespace powerinfer::tools {

Arguments defaults(const Program& program) {
    Arguments a;
    a.program = &program;
    if (contains(kLearnCommands, program.command)) a.context.n_ctx = 512;
    if (program.command == Command::perplexity) {
        a.context.n_ctx = 512;
        a.prompt.escape = false;
    }
    switch (program.habits) {
        case Habits::own:
            break;
        case Habits::powerinfer:
            a.model.path = "models/7B/ggml-model-f16.gguf";
            a.context.n_ctx = 512;
            a.prompt.escape = false;
            a.sampling.repeat_penalty = 1.1f;
            a.sampling.order = generate::powerinfer_sampler_order();
            a.console.conversation = Switch::off;
            break;
        case Habits::llama:
            a.context.n_batch = 2048;
            a.context.shift = false;
            if (program.command == Command::chat) a.log.verbosity = 1;
            break;
    }
    return a;
}

}  // namespace powerinfer::tools
