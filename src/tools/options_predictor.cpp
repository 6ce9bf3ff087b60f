// Options of `predictor` and `complete`.
#include "tools/option_rows.h"

namespace powerinfer::tools {

std::vector<Option> predictor_options() {
    std::vector<Option> table = {
        text("-o, --output", "FILE", FIELD(output.path), "the file to write"),
        text("--target", "TARGET", FIELD(predictor.target),
             "what ranks and thresholds of all layers together shall reach: ppl:0.5%, recall:0.98 (of the contribution) or "
             "share:0.15 (of neurons computed)"),
        integer("--rank", "N", FIELD(predictor.rank), 0, 65536, "rank of every layer's predictor; 0 = chosen layer by layer"),
        custom("--predictor-type", "TYPE", "number format of the predictors",
               [](Arguments& a, const std::string& word) {
                   const std::optional<DType> type = find_dtype(std::string_view(word));
                   if (!type) fail(ErrorKind::bad_argument, "'{}' is not a number format", word);
                   a.predictor.type = *type;
               }),
        flag("--original-form", "", FIELD(predictor.original_form),
             "predictors that the PowerInfer of 2023 can run: residual in, ReLU, no biases"),
        integer("--epochs", "N", FIELD(predictor.n_epochs), 1, 1000, "train: most passes over the text"),
        text("--keep", "FOLDER", FIELD(predictor.keep),
             "keep recorded activations and finished layers here, and go on with those of an earlier run"),
    };
    for (Option& o : table) {
        o.family = "Predictors";
        o.commands = Command::predictor | Command::complete;
    }
    std::vector<Option> complete = {
        text("--maker", "NAME", FIELD(predictor.maker), "who makes the predictors: svd, train or sign"),
        text("--predictor", "FILE", FIELD(predictor.file), "predictors that `predictor` made, instead of new ones"),
        text("--outtype", "TYPE", FIELD(predictor.model_type), "number formats of the weights, as quantize has them; COPY keeps them"),
        text("--evaluate-on", "FILE", FIELD(predictor.evaluate_on),
             "a text for the evaluation (default: a part of the text that was not learnt from)"),
    };
    for (Option& o : complete) {
        o.family = "Complete";
        o.commands = static_cast<CommandSet>(Command::complete);
        table.push_back(std::move(o));
    }
    return table;
}

}  // namespace powerinfer::tools
