// `evaluate`: what predictors find and what leaving neurons out costs, against the dense model.
#include "learn/evaluate.h"

#include <cstdio>

#include "base/error.h"
#include "base/file_writer.h"
#include "learn/evaluation_report.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {

int evaluate(const Arguments& a) {
    require_no_words(a);
    const LogSink log = log_to_stderr(a.log.verbosity);
    const std::string text = text_to_learn(a);
    if (!a.evaluate.svg.empty()) {
        const FileWriter can_be_written(a.evaluate.svg);
    }
    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    learn::EvaluateOptions options;
    options.budget = budget(a, *model, log);
    if (options.budget.n_ctx == 0) options.budget.n_ctx = model->spec.n_ctx_train;
    options.engine = engine_options(a);
    options.n_tokens = a.learn.n_tokens;
    InterruptWatch watch(Watched::every_end);
    learn::Evaluation result = learn::evaluate(model, tokenizer.encode(text), tokenizer.special(), options,
                                               progress_on_terminal(watch, a.log.verbosity));
    result.source = text_name(a);
    if (!a.evaluate.svg.empty()) {
        FileWriter page(a.evaluate.svg);
        const std::string svg = learn::svg_of(result);
        page.write(svg.data(), svg.size());
        page.commit();
    }
    fmt::print("{}", a.evaluate.json ? learn::json_of(result) : learn::table_of(result));
    return 0;
}

}  // namespace powerinfer::tools
