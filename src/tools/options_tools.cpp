// Options of one command each: tokenize, inspect, logits, perplexity, convert, synth, quantize.
#include "convert/file_type.h"
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

Option tensor_type(std::string_view names, std::optional<DType> QuantizeArgs::*field, std::string help) {
    return custom(names, "TYPE", std::move(help), [field](Arguments& a, const std::string& word) {
        const std::optional<DType> type = find_dtype(std::string_view(word));
        if (!type) fail(ErrorKind::bad_argument, "'{}' is not a number format", word);
        a.quantize.*field = type;
    });
}

Option synth_type(std::string_view names, void (*set)(SynthArgs&, DType), std::string help) {
    return custom(names, "TYPE", std::move(help), [set](Arguments& a, const std::string& word) {
        const std::optional<DType> type = find_dtype(std::string_view(word));
        if (!type) fail(ErrorKind::bad_argument, "'{}' is not a number format", word);
        set(a.synth, *type);
    });
}

/// One number format, else a mixture as `quantize` makes it.
Option synth_mix() {
    return custom("--synth-type", "TYPE", "number format of the matrices, or a mixture such as Q4_K_M",
                  [](Arguments& a, const std::string& word) {
                      const std::optional<DType> type = find_dtype(std::string_view(word));
                      a.synth.type = type.value_or(a.synth.type);
                      a.synth.mix = type ? nullptr : &convert::find_file_type(word);
                      if (a.synth.mix && a.synth.mix->copy)
                          fail(ErrorKind::bad_argument, "a random model has nothing to copy: '{}' is not a number format", word);
                  });
}

Option unsupported(std::string_view names, std::string reason) {
    return custom(names, "", "not here: " + reason,
                  [reason](Arguments&, const std::string&) { fail(ErrorKind::unsupported, "{}", reason); });
}

void add(std::vector<Option>& table, std::string family, CommandSet commands, std::vector<Option> rows) {
    for (Option& o : rows) {
        o.family = family;
        o.commands = commands;
        table.push_back(std::move(o));
    }
}

CommandSet only(Command c) { return static_cast<CommandSet>(c); }

}  // namespace

std::vector<Option> tool_options() {
    std::vector<Option> table;
    add(table, "Tokenize", only(Command::tokenize),
        {
            flag("--ids", "", FIELD(tokenize.ids_only), "print the ids alone: [1, 2, 3]"),
            flag("--bos", "--no-bos", FIELD(tokenize.add_bos), "put the start token first, where the model wants it"),
            flag("--parse-special", "--no-parse-special", FIELD(tokenize.parse_special),
                 "recognise control tokens in the text"),
            flag("--stdin", "", FIELD(tokenize.from_stdin), "read the text from standard input"),
            flag("--show-count", "", FIELD(tokenize.show_count), "print how many tokens there are"),
        });
    add(table, "Inspect", only(Command::inspect),
        {
            flag("--json", "", FIELD(inspect.json), "everything as one JSON object"),
            text("--activations", "TEXT", FIELD(inspect.activations_text),
                 "a text file: measure how often gates are below zero and which activation the weights want"),
        });
    add(table, "Output", only(Command::logits),
        {
            text("-o, --output", "FILE", FIELD(output.path), "safetensors file with `logits` F32 [tokens, vocabulary]"),
            text("--ids-file", "FILE", FIELD(output.ids_file),
                 "token ids, separated by spaces, line breaks or commas; - for standard input"),
        });
    add(table, "Perplexity", kModelCommands,
        {
            integer("--chunks", "N", FIELD(perplexity.chunks), -1, kAnyInt, "windows to score; -1 = all"),
            integer("--ppl-stride", "N", FIELD(perplexity.stride), 0, kAnyInt,
                    "tokens from one window to the next; 0 = windows side by side"),
            integer("--ppl-output-type", "N", FIELD(perplexity.output_type), 0, 1, "1 = one line per window"),
            text("--kl-divergence-base, --save-all-logits", "FILE", FIELD(perplexity.logits_file),
                 "write the logits of all scored tokens, or with --kl-divergence read them"),
            flag("--kl-divergence", "", FIELD(perplexity.kl_divergence), "compare with the logits of that file"),
            unsupported("--hellaswag, --hellaswag-tasks, --winogrande, --winogrande-tasks, --multiple-choice, "
                        "--multiple-choice-tasks",
                        "choice tests are not supported yet"),
        });
    add(table, "Learning", kLearnCommands,
        {
            integer("--tokens", "N", FIELD(learn.n_tokens), 0, kAnyInt, "most tokens of the text that are read; 0 = all"),
        });
    add(table, "Evaluate", only(Command::evaluate),
        {
            flag("--json", "", FIELD(evaluate.json), "everything as one JSON object"),
            text("--svg", "FILE", FIELD(evaluate.svg), "write a page of charts: firing curves, coverage, recall per layer"),
        });
    add(table, "Profile", only(Command::profile),
        {
            text("-o, --output", "FILE", FIELD(output.path), "the profile to write"),
            flag("--merge", "", FIELD(profile.merge), "add up the profiles named as words"),
            text("--from-torch", "FOLDER", FIELD(profile.from_torch),
                 "take the counts of a published model: a folder with activation_0.pt, activation_1.pt and so on"),
            text("--to-torch", "FOLDER", FIELD(profile.to_torch), "write the counts as such a folder"),
        });
    add(table, "Convert", only(Command::convert),
        {
            text("-o, --output, --outfile", "FILE", FIELD(output.path), "the model file to write"),
            text("--outtype", "TYPE", FIELD(convert.outtype), "number format of the matrices: f32, f16, bf16, q8_0, ...; auto keeps each one's"),
            text("--model-name", "NAME", FIELD(convert.name), "name written into the file (default: the folder's)"),
            text("--predictor", "FOLDER", FIELD(convert.predictor), "activation predictors, which make a PWRI file"),
        });
    add(table, "Synth", Command::synth | Command::bench | Command::plan,
        {
            synth_mix(),
            synth_type("--predictor-type", [](SynthArgs& s, DType t) { s.predictor_type = t; },
                       "number format of the predictors (default: that of the matrices)"),
            integer("--predictor-rank", "N", FIELD(synth.rank), 4, 65534, "rank of the predictors, an even number"),
            flag("--predictors", "--no-predictors", FIELD(synth.predictors),
                 "a PWRI file with predictors, or an ordinary GGUF file without"),
            number("--active-share", "N", FIELD(synth.active_share), 0, 1, "mean share of neurons that fire for a token"),
        });
    add(table, "Synth", only(Command::synth),
        {
            text("-o, --output", "FILE", FIELD(output.path), "the model file to write"),
            integer("-s, --seed", "N", FIELD(synth.seed), 0, kAnyInt, "another seed, another model"),
        });
    add(table, "Quantize", Command::quantize | Command::complete,
        {
            flag("--allow-requantize", "", FIELD(quantize.allow_requantize),
                 "accept a file that has lost precision already"),
        });
    add(table, "Quantize", only(Command::quantize),
        {
            flag("--leave-output-tensor", "", FIELD(quantize.leave_output_tensor), "output.weight keeps its type"),
            flag("--pure", "", FIELD(quantize.pure), "one type for every matrix instead of the usual mixture"),
            tensor_type("--output-tensor-type", &QuantizeArgs::output_tensor_type, "type of output.weight"),
            tensor_type("--token-embedding-type", &QuantizeArgs::token_embedding_type, "type of token_embd.weight"),
            unsupported("--imatrix, --include-weights, --exclude-weights", "importance matrices are not supported yet"),
            unsupported("--keep-split", "the result is always one file"),
            unsupported("--tensor-type, --tensor-type-file, --prune-layers, --dry-run", "not supported yet"),
        });
    return table;
}

}  // namespace powerinfer::tools
