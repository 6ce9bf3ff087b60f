// `convert`: a Hugging Face folder to a model file.
#include "convert/convert.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/numbers.h"
#include "tools/terminal.h"

namespace powerinfer::tools {

int convert_folder(const Arguments& a) {
    if (a.words.size() != 1)
        fail(ErrorKind::bad_argument, "convert takes one folder, {} were given", a.words.size());
    if (a.output.path.empty()) fail(ErrorKind::bad_argument, "--output is required");
    InterruptWatch watch(Watched::every_end);
    const convert::ConvertResult result =
        convert::convert_folder({.folder = a.words.front(),
                                 .output = a.output.path,
                                 .predictor = a.convert.predictor,
                                 .outtype = a.convert.outtype,
                                 .name = a.convert.name,
                                 .activation = a.model.activation,
                                 .n_threads = std::max(a.context.n_threads, 0),
                                 .log = log_to_stderr(a.log.verbosity),
                                 .progress = progress_on_terminal(watch, a.log.verbosity)});
    say("powerinfer: {} -> {}, {} tensors, {}{}\n", a.words.front(), a.output.path, result.n_tensors,
               size_text(result.n_bytes), result.has_predictors ? ", with predictors" : "");
    return 0;
}

}  // namespace powerinfer::tools
