// A completion on the terminal: the plain one, and the one that hands control back and forth (`main -i`).
#pragma once

#include "formats/gguf.h"
#include "generate/generate.h"
#include "generate/sampler.h"
#include "tools/arguments.h"
#include "tools/perf.h"
#include "tools/prompt.h"

namespace powerinfer::tools {

/// Exit status after a Ctrl-C at the prompt of a program that is not our own.
inline constexpr int kInterruptedStatus = 130;

/// What a run works with, and where its timings add up.
struct Stage {
    const Arguments& a;
    const Texts& texts;
    const std::vector<int32_t>& prompt;  ///< tokens of texts.prompt; none in a conversation
    engine::Engine& engine;
    const tokenizer::Tokenizer& tokenizer;
    generate::Session& session;
    generate::Sampler& sampler;  ///< one for all answers: a seed does not give every turn the same random numbers
    generate::GenerateOptions options;
    Perf& perf;
    uint64_t fingerprint;  ///< of what a prompt cache must agree with; 0 where none is asked for
};

/// Throws Error{bad_argument} where --prompt-cache and its like do not fit the way the program is used.
void check_prompt_cache(const Arguments& a, bool is_conversation);

/// Sampling and stop rules as asked for, or as the file recommends, with a seed that is known; both are told to the log. Throws
/// Error{bad_argument} where they do not fit a vocabulary of this size.
generate::GenerateOptions generate_options(const Arguments& a, const formats::GgufFile& file, int n_vocab, const LogSink& log);

/// The prompt, then the text that follows, on stdout. The value is the exit status.
int complete(const Stage& s);

bool is_interactive(const Arguments& a);
/// The same, but a reverse prompt, the end of an answer and Ctrl-C give control to the user; a second Ctrl-C ends the
/// program with status 130.
int interact(const Stage& s);

}  // namespace powerinfer::tools
