// Options of the sampler chain.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

Option order(std::string_view names, std::string value, std::string help,
             std::vector<generate::SamplerKind> (*read)(std::string_view)) {
    return custom(names, std::move(value), std::move(help),
                  [read](Arguments& a, const std::string& word) { a.sampling.order = read(word); });
}

/// The first use replaces the standard breakers, `none` clears them.
Option sequence_breaker() {
    Option o = custom("--dry-sequence-breaker", "TEXT",
                      R"(text that ends a repetition; the first replaces \n : " *, `none` clears; may be repeated)",
                      [](Arguments& a, const std::string& word) {
                          auto& list = a.sampling.dry_sequence_breakers;
                          if (list == generate::SamplerOptions{}.dry_sequence_breakers) list.clear();
                          if (word != "none") list.push_back(word);
                      });
    o.repeatable = true;
    return o;
}

Option logit_bias() {
    Option o = custom("-l, --logit-bias", "ID(+|-)BIAS", "add to the logit of a token; may be given several times",
                      [](Arguments& a, const std::string& word) {
                          a.sampling.logit_bias.push_back(generate::parse_logit_bias(word));
                      });
    o.repeatable = true;
    return o;
}

Option seed() {
    Option o = custom("-s, --seed", "N", "seed of the random draws; -1 = from the clock (default: -1)",
                      [](Arguments& a, const std::string& word) {
                          a.sampling.seed = static_cast<uint32_t>(parse_integer(word, -1, 0xFFFFFFFFll));
                      });
    return o;
}

}  // namespace

std::vector<Option> sampling_options() {
    std::vector<Option> rows = {
        seed(),
        order("--samplers", "A;B;C", "samplers in the order of use", generate::parse_sampler_names),
        order("--sampler-seq, --sampling-seq", "LETTERS", "the same, a letter each",
              generate::parse_sampler_letters),
        number("--temp, --temperature", "N", FIELD(sampling.temperature), -kAnyNumber, kAnyNumber,
               "temperature; 0 = the most likely token always")
            .env("LLAMA_ARG_TEMPERATURE"),
        integer("--top-k", "N", FIELD(sampling.top_k), -kAnyInt, kAnyInt, "only the K likeliest; 0 = off")
            .env("LLAMA_ARG_TOP_K"),
        number("--top-p", "N", FIELD(sampling.top_p), 0, kAnyNumber,
               "only the likeliest that together reach this probability; 1 = off")
            .env("LLAMA_ARG_TOP_P"),
        number("--min-p", "N", FIELD(sampling.min_p), 0, 1, "only those this likely beside the likeliest; 0 = off")
            .env("LLAMA_ARG_MIN_P"),
        number("--tfs", "N", FIELD(sampling.tail_free_z), 0, kAnyNumber, "tail-free sampling; 1 = off"),
        number("--typical, --typical-p", "N", FIELD(sampling.typical_p), 0, kAnyNumber,
               "locally typical sampling; 1 = off"),
        number("--top-nsigma, --top-n-sigma", "N", FIELD(sampling.top_n_sigma), -kAnyNumber, kAnyNumber,
               "only logits within N standard deviations of the best; -1 = off"),
        number("--xtc-probability", "N", FIELD(sampling.xtc_probability), 0, 1,
               "chance that the top choices are left out; 0 = off"),
        number("--xtc-threshold", "N", FIELD(sampling.xtc_threshold), 0, 1, "what counts as a top choice"),
        integer("--repeat-last-n", "N", FIELD(sampling.repeat_last_n), -1, kAnyInt,
                "tokens that the penalties look back at; 0 = off, -1 = the context"),
        number("--repeat-penalty", "N", FIELD(sampling.repeat_penalty), 1e-6, kAnyNumber,
               "factor for repeated tokens; 1 = off")
            .env("LLAMA_ARG_REPEAT_PENALTY"),
        number("--presence-penalty", "N", FIELD(sampling.presence_penalty), -kAnyNumber, kAnyNumber,
               "taken from tokens that occurred; 0 = off")
            .env("LLAMA_ARG_PRESENCE_PENALTY"),
        number("--frequency-penalty", "N", FIELD(sampling.frequency_penalty), -kAnyNumber, kAnyNumber,
               "taken per occurrence; 0 = off")
            .env("LLAMA_ARG_FREQUENCY_PENALTY"),
        flag("--penalize-nl", "--no-penalize-nl", FIELD(sampling.penalize_newline),
             "let the penalties fall on line breaks too"),
        number("--dry-multiplier", "N", FIELD(sampling.dry_multiplier), 0, kAnyNumber,
               "strength of the penalty on repeated sequences; 0 = off"),
        custom("--dry-base", "N", "growth of that penalty per token; values under 1 are ignored (default: 1.75)",
               [](Arguments& a, const std::string& word) {
                   const double base = parse_number(word, -kAnyNumber, kAnyNumber);
                   if (base >= 1) a.sampling.dry_base = static_cast<float>(base);
               }),
        integer("--dry-allowed-length", "N", FIELD(sampling.dry_allowed_length), 0, kAnyInt,
                "longest sequence that may repeat freely"),
        integer("--dry-penalty-last-n", "N", FIELD(sampling.dry_penalty_last_n), -1, kAnyInt,
                "tokens looked back at; 0 = off, -1 = the context"),
        sequence_breaker(),
        number("--dynatemp-range", "N", FIELD(sampling.dynatemp_range), 0, kAnyNumber,
               "temperature moves this far with the uncertainty; 0 = off"),
        number("--dynatemp-exp", "N", FIELD(sampling.dynatemp_exponent), -kAnyNumber, kAnyNumber,
               "exponent of that movement"),
        integer("--mirostat", "N", FIELD(sampling.mirostat), 0, 2, "mirostat version; 0 = off"),
        number("--mirostat-lr", "N", FIELD(sampling.mirostat_eta), 0, kAnyNumber, "mirostat learning rate"),
        number("--mirostat-ent", "N", FIELD(sampling.mirostat_tau), 0, kAnyNumber, "mirostat target entropy"),
        number("--adaptive-target", "N", FIELD(sampling.adaptive_target), -1, 1,
               "probability that adaptive sampling aims at; -1 = off"),
        number("--adaptive-decay", "N", FIELD(sampling.adaptive_decay), 0, 0.99, "memory of adaptive sampling"),
        logit_bias(),
        flag("--ignore-eos", "", FIELD(sampling.ignore_eos), "never end by itself"),
    };
    for (Option& o : rows) {
        o.family = "Sampling";
        o.commands = kModelCommands;  // the old programs shared one parser, so scripts pass these everywhere
    }
    return rows;
}

}  // namespace powerinfer::tools
