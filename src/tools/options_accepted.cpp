// Options that other programs' scripts pass and that change nothing here, and those that cannot be honoured: the
// first are accepted and named in one warning line, the second refused with the reason.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

using Notes = std::vector<std::string> Arguments::*;

Option noted(std::string_view names, std::string value, Notes notes, std::string help) {
    Option o;
    o.names = split_list(names);
    o.takes = value.empty() ? Takes::nothing : Takes::value;
    o.value = std::move(value);
    o.help = std::move(help);
    o.set = [notes, name = o.names.back()](Arguments& a, const std::string&) { (a.*notes).push_back(name); };
    o.repeatable = true;
    return o;
}

/// About a GPU, which this build does not use.
Option gpu(std::string_view names, std::string value = {}) {
    return noted(names, std::move(value), &Arguments::gpu_options, "accepted; this build has no GPU");
}

/// About something that this engine does in its own way.
Option inert(std::string_view names, std::string value = {}, std::string help = "accepted without effect") {
    return noted(names, std::move(value), &Arguments::inert_options, std::move(help));
}

Option inert_maybe(std::string_view names, std::string_view choices) {
    Option o = inert(names);
    o.takes = Takes::maybe;
    o.choices = split_list(choices, "|");
    o.value = std::string(choices);
    return o;
}

/// About messages that are not written anyway, so that there is nothing to warn of.
Option silent(std::string_view names, std::string value = {}) {
    return custom(names, std::move(value), "accepted without effect", [](Arguments&, const std::string&) {});
}

Option silent_maybe(std::string_view names, std::string_view choices) {
    Option o = silent(names, std::string(choices));
    o.takes = Takes::maybe;
    o.choices = split_list(choices, "|");
    return o;
}

Option refused(std::string_view names, std::string reason) {
    Option o = custom(names, "", "not here: " + reason,
                      [reason](Arguments&, const std::string&) { fail(ErrorKind::unsupported, "{}", reason); });
    return o;
}

/// --cfg-scale 1 is the default and means nothing.
Option guidance_scale() {
    return custom("--cfg-scale", "N", "not here unless 1: classifier-free guidance is not supported",
                  [](Arguments&, const std::string& word) {
                      if (parse_number(word, -kAnyNumber, kAnyNumber) != 1.0)
                          fail(ErrorKind::unsupported, "classifier-free guidance is not supported");
                  });
}

Option list_devices() {
    return custom("--list-devices", "", "name the devices there are", [](Arguments& a, const std::string&) {
        a.list_devices = true;
    });
}

}  // namespace

std::vector<Option> accepted_options() {
    const std::string grammar = "grammars come with the server";
    const std::string download = "this program does not download; give a file with --model";
    const std::string draft = "speculative decoding is not supported yet";
    const std::string lora = "LoRA adapters and control vectors are not supported";
    const std::string media = "images and sound are not supported";
    const CommandSet models = kModelCommands | Command::bench;
    std::vector<Option> rows = {
        gpu("-ngl, --gpu-layers, --n-gpu-layers", "N").env("LLAMA_ARG_N_GPU_LAYERS").in(models),
        gpu("--vram-budget", "GIB"),
        gpu("--reset-gpu-index"),
        gpu("--disable-gpu-index"),
        gpu("-sm, --split-mode", "none|layer|row|tensor").env("LLAMA_ARG_SPLIT_MODE").in(models),
        gpu("-ts, --tensor-split", "A,B").env("LLAMA_ARG_TENSOR_SPLIT").in(models),
        gpu("-mg, --main-gpu", "N").env("LLAMA_ARG_MAIN_GPU").in(models),
        gpu("-dev, --device", "NAMES").env("LLAMA_ARG_DEVICE").in(models),
        gpu("-nommq, --no-mul-mat-q"),
        gpu("-ot, --override-tensor", "PATTERN=BUFFER").in(models),
        gpu("-cmoe, --cpu-moe").in(models),
        gpu("-ncmoe, --n-cpu-moe", "N").in(models),
        gpu("-ncffn, --n-cpu-ffn", "N").in(models),
        gpu("-nkvo, --no-kv-offload, -kvo, --kv-offload"),
        gpu("--op-offload, --no-op-offload"),
        gpu("--rpc", "SERVERS").in(models),
        gpu("-bs, --backend-sampling"),
        list_devices().in(models),

        inert("--no-mmap, --mmap"),
        inert("--direct-io, --no-direct-io"),
        inert("--check-tensors"),
        inert("--no-host"),
        inert("--swa-full"),
        inert("-lzm, --lazy-mode", "on|off|auto"),
        inert_maybe("-fa, --flash-attn", "on|off|auto|0|1").in(kModelCommands),
        inert_maybe("--numa", "distribute|isolate|numactl").in(models),
        inert("-fit, --fit", "on|off"),
        inert("-fitt, --fit-target", "MIB").in(models),
        inert("-fitc, --fit-ctx", "N").in(models),
        inert("-dt, --defrag-thold", "N"),
        inert("-dkvc, --dump-kv-cache"),
        inert("--poll", "N", "accepted without effect: threads poll for some 50 microseconds, then sleep").in(models),
        inert("--poll-batch", "N"),
        inert("-np, --parallel", "N"),
        inert("-ns, --sequences", "N"),
        inert("-pa, --p-accept", "N"),
        inert("-ps, --p-split", "N"),
        inert("-cb, --cont-batching, -nocb, --no-cont-batching"),
        inert("-gan, --grp-attn-n", "N"),
        inert("-gaw, --grp-attn-w", "N"),
        inert("-ptc, --print-token-count", "N"),
        inert("--jinja, --no-jinja"),
        inert("--reasoning-format", "NAME"),
        inert("--reasoning-budget", "N"),
        inert("-ld, --logdir", "FOLDER"),
        silent("-a, --alias", "NAME").in(kModelCommands),
        silent("--warmup, --no-warmup").in(kModelCommands),
        silent("--offline").in(kModelCommands | Command::tokenize | Command::bench),
        silent("--log-enable, --log-new, --log-test, --log-prefix, --log-timestamps, --log-jsonl"),
        silent_maybe("--log-colors", "on|off|auto"),
        silent("--perplexity, --all-logits"),
        silent("--no-prefill-assistant"),

        refused("--grammar, --grammar-file", grammar),
        refused("-j, --json-schema, -jf, --json-schema-file", grammar),
        refused("-mu, --model-url, -hf, -hfr, --hf-repo, -hff, --hf-file, -hft, --hf-token, -dr, --docker-repo",
                download)
            .in(kModelCommands | Command::tokenize | Command::bench),
        refused("-md, --model-draft, --spec-draft-model, -hfd, --spec-type, --spec-default", draft),
        refused("--lora, --lora-scaled, --lora-base, --control-vector, --control-vector-scaled", lora),
        refused("--mmproj, --mmproj-url, --image, --audio, --video", media),
        refused("--infill, --spm-infill", "infill comes with the server"),
        refused("--embedding, --embeddings", "embeddings come with the server"),
        refused("--cfg-negative-prompt, --cfg-negative-prompt-file", "classifier-free guidance is not supported"),
        guidance_scale(),
        inert("--draft, --draft-n, --draft-max, --draft-min, --draft-p-min", "N"),
        gpu("-ngld, --gpu-layers-draft, --n-gpu-layers-draft", "N"),
    };
    for (Option& o : rows) {
        o.family = "Accepted for other programs' scripts";
        if (o.commands == 0) o.commands = kModelCommands;
    }
    return rows;
}

}  // namespace powerinfer::tools
