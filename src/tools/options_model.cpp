// Options about the model file, how it is run, context, threads and rotary embedding.
#include "tools/option_rows.h"

#include <algorithm>

namespace powerinfer::tools {
namespace {

using Modes = std::vector<std::pair<std::string, sparsity::Mode>>;

Option load_mode() {
    Option o = custom("-lm, --load-mode", "auto|none|mmap|mlock|mmap+mlock|dio",
                      "how the file is read; always mapped here, pinned in memory with mlock",
                      [](Arguments& a, const std::string& word) {
                          const auto modes = split_list("auto none mmap mlock mmap+mlock dio");
                          if (std::find(modes.begin(), modes.end(), word) == modes.end())
                              fail(ErrorKind::bad_argument,
                                   "'{}' is not one of auto, none, mmap, mlock, mmap+mlock, dio", word);
                          a.model.lock = word.ends_with("mlock");
                      });
    return std::move(o).env("LLAMA_ARG_LOAD_MODE");
}

/// --rope-scale N is the factor, --rope-freq-scale its inverse.
Option rope_scale() {
    return custom("--rope-scale", "N", "factor by which the rotary embedding stretches the context",
                  [](Arguments& a, const std::string& word) {
                      a.context.rope.freq_scale = static_cast<float>(1.0 / parse_number(word, 1e-6, 1e6));
                  });
}

Option sparsity_mode() {
    Option o = choice("--sparsity", FIELD(model.sparsity),
                      Modes{{"off", sparsity::Mode::off},
                            {"exact", sparsity::Mode::exact},
                            {"predict", sparsity::Mode::predict},
                            {"auto", sparsity::Mode::automatic}},
                      "which neurons are computed: all, those whose gate fires, those a predictor names, or "
                      "what suits the file");
    return std::move(o).env("POWERINFER_SPARSITY");
}

Option override_kv() {
    Option o = custom("--override-kv", "KEY=TYPE:VALUE,...",
                      "use these values instead of the file's metadata; types: int, float, bool, str; may be repeated",
                      [](Arguments& a, const std::string& word) {
                          for (KeyOverride& k : parse_overrides(word)) a.model.overrides.push_back(std::move(k));
                      });
    o.repeatable = true;
    return o;
}

Option activation() {
    return custom("--activation", "NAME",
                  "activation of the feed-forward: silu, relu, relu2, gelu or drelu (default: as the file says)",
                  [](Arguments& a, const std::string& word) {
                      a.model.activation = model::activation_from_name(word, "--activation");
                  });
}

}  // namespace

const std::vector<std::pair<std::string, DType>>& cache_types() {
    static const std::vector<std::pair<std::string, DType>> types = {
        {"f16", DType::F16}, {"f32", DType::F32}, {"bf16", DType::BF16}, {"q8_0", DType::Q8_0}};
    return types;
}

std::vector<Option> model_options() {
    using model::RopeScaling;
    const CommandSet file_commands = kModelCommands | kLearnCommands | Command::tokenize | Command::inspect | Command::plan;
    const CommandSet threaded = kModelCommands | kLearnCommands | Command::convert | Command::synth | Command::plan;
    std::vector<Option> rows = {
        text("-m, --model", "FILE", FIELD(model.path), "model file; of a split model the first part")
            .env("LLAMA_ARG_MODEL").in(file_commands),
        sparsity_mode().in(kModelCommands | Command::evaluate | Command::plan),
        activation().in(kModelCommands | kLearnCommands | Command::convert | Command::inspect | Command::plan),
        override_kv().in(file_commands | Command::bench | Command::quantize),
        number("--sparse-threshold", "N", FIELD(model.threshold), -kAnyNumber, kAnyNumber,
               "predictor output from which a neuron counts as active (default: as the file says)")
            .in(kModelCommands | Command::evaluate),
        integer("-c, --ctx-size", "N", FIELD(context.n_ctx), 0, kAnyInt,
                "context in tokens; 0 = what the model was trained for")
            .env("LLAMA_ARG_CTX_SIZE").in(kModelCommands | kLearnCommands | Command::plan),
        integer("-b, --batch-size", "N", FIELD(context.n_batch), 1, kAnyInt, "most prompt tokens per step")
            .env("LLAMA_ARG_BATCH").in(kModelCommands | Command::plan),
        integer("-ub, --ubatch-size", "N", FIELD(context.n_ubatch), 1, kAnyInt,
                "most tokens that are computed in one pass over the weights")
            .env("LLAMA_ARG_UBATCH").in(kModelCommands | Command::plan),
        integer("-t, --threads", "N", FIELD(context.n_threads), -1, 4096,
                "threads for single tokens; 0 or -1 = one per core")
            .env("LLAMA_ARG_THREADS").in(threaded),
        integer("-tb, --threads-batch", "N", FIELD(context.n_threads_batch), -1, 4096,
                "threads for prompts; 0 or -1 = as --threads")
            .env("LLAMA_ARG_THREADS_BATCH"),
        text("--isa", "NAME", FIELD(context.isa), "instruction set: see --version (default: the best there is)")
            .env("POWERINFER_ISA").in(kModelCommands | Command::evaluate),
        choice("-ctk, --cache-type-k", FIELD(context.cache_type_k), cache_types(), "number format of cached keys")
            .env("LLAMA_ARG_CACHE_TYPE_K").in(kModelCommands | Command::plan),
        choice("-ctv, --cache-type-v", FIELD(context.cache_type_v), cache_types(), "number format of cached values")
            .env("LLAMA_ARG_CACHE_TYPE_V").in(kModelCommands | Command::plan),
        custom("--memory-f32", "", "cache keys and values in F32",
               [](Arguments& a, const std::string&) {
                   a.context.cache_type_k = a.context.cache_type_v = DType::F32;
               }),
        flag("--context-shift", "--no-context-shift", FIELD(context.shift),
             "forget the oldest half of the text when the context is full, instead of stopping")
            .env("LLAMA_ARG_CONTEXT_SHIFT", "LLAMA_ARG_NO_CONTEXT_SHIFT"),
        integer("--keep", "N", FIELD(context.n_keep), -1, kAnyInt,
                "tokens of the prompt that are never forgotten; -1 = all"),
        flag("--repack", "-nr, --no-repack", FIELD(model.repack),
             "copy weights into the order that is fastest to read, where memory allows")
            .env("LLAMA_ARG_REPACK", "LLAMA_ARG_NO_REPACK").in(kModelCommands | Command::evaluate),
        flag("--cache-layout", "", FIELD(model.cache_layout),
             "keep weights in the order that is fastest to read in MODEL.layout, for quicker loading the next time")
            .in(kModelCommands | Command::evaluate | Command::bench),
        flag("--mlock", "", FIELD(model.lock), "pin the file in memory; weights then stay as they lie in it")
            .env("LLAMA_ARG_MLOCK"),
        load_mode(),
        number("--rope-freq-base", "N", FIELD(context.rope.freq_base), 0, kAnyNumber,
               "base of the rotary embedding; 0 = as the file says")
            .env("LLAMA_ARG_ROPE_FREQ_BASE"),
        number("--rope-freq-scale", "N", FIELD(context.rope.freq_scale), 0, kAnyNumber,
               "inverse of --rope-scale; 0 = as the file says")
            .env("LLAMA_ARG_ROPE_FREQ_SCALE"),
        rope_scale().env("LLAMA_ARG_ROPE_SCALE"),
        choice("--rope-scaling", FIELD(context.rope.scaling),
               std::vector<std::pair<std::string, RopeScaling>>{{"none", RopeScaling::none},
                                                                {"linear", RopeScaling::linear},
                                                                {"yarn", RopeScaling::yarn}},
               "how the context is stretched (default: as the file says)")
            .env("LLAMA_ARG_ROPE_SCALING_TYPE"),
        integer("--yarn-orig-ctx", "N", FIELD(context.rope.yarn_orig_ctx), 0, kAnyInt,
                "context before stretching; 0 = as the file says")
            .env("LLAMA_ARG_YARN_ORIG_CTX"),
        number("--yarn-ext-factor", "N", FIELD(context.rope.yarn_ext_factor), -1, kAnyNumber,
               "share of extrapolation; -1 = as the file says")
            .env("LLAMA_ARG_YARN_EXT_FACTOR"),
        number("--yarn-attn-factor", "N", FIELD(context.rope.yarn_attn_factor), -1, kAnyNumber,
               "scale of the attention; -1 = as the file says")
            .env("LLAMA_ARG_YARN_ATTN_FACTOR"),
        number("--yarn-beta-slow", "N", FIELD(context.rope.yarn_beta_slow), -1, kAnyNumber,
               "high correction dimension; -1 = as the file says")
            .env("LLAMA_ARG_YARN_BETA_SLOW"),
        number("--yarn-beta-fast", "N", FIELD(context.rope.yarn_beta_fast), -1, kAnyNumber,
               "low correction dimension; -1 = as the file says")
            .env("LLAMA_ARG_YARN_BETA_FAST"),
    };
    for (Option& o : rows) {
        o.family = "Model and context";
        if (o.commands == 0) o.commands = kModelCommands;
    }
    return rows;
}

}  // namespace powerinfer::tools
