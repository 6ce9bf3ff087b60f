#include "tools/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/error.h"
#include "base/file_writer.h"
#include "tools/interrupt.h"
#include "tools/line_editor.h"
#include "tools/prompt.h"
#include "tools/prompt_cache.h"
#include "tools/sampling_defaults.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

using generate::FinishReason;

constexpr std::string_view kInstruction = "\n\n### Instruction:\n\n", kResponse = "\n\n### Response:\n\n";

std::vector<std::string> reverse_prompts(const Arguments& a) {
    std::vector<std::string> all;
    for (const std::string& text : a.console.reverse_prompts) all.push_back(command_line_text(a, text));
    if (a.console.instruct) all.emplace_back("### Instruction:\n\n");
    return all;
}

void keep(const Stage& s, std::span<const int32_t> tokens) {
    const PromptArgs& p = s.a.prompt;
    if (p.cache_file.empty() || p.cache_read_only || tokens.empty()) return;
    write_prompt_cache(p.cache_file, s.engine, s.fingerprint, tokens);
    if (s.a.log.verbosity >= 3) say("prompt cache: {} tokens are kept in '{}'\n", tokens.size(), p.cache_file);
}

/// Computes the prompt by itself and keeps it, before anything can go wrong with the answer. Where the cache held it
/// all, there is nothing to keep.
void keep_prompt(const Stage& s, const std::vector<int32_t>& prompt) {
    const std::string& file = s.a.prompt.cache_file;
    if (file.empty()) return;
    const std::vector<int32_t>& held = s.session.held();
    const auto n_same = std::mismatch(prompt.begin(), prompt.end(), held.begin(), held.end()).first - prompt.begin();
    if (s.a.log.verbosity >= 3) say("prompt cache: {} of the {} tokens of the prompt are in '{}'\n", n_same, prompt.size(), file);
    if (static_cast<size_t>(n_same) == prompt.size()) return;
    generate::GenerateOptions nothing = s.options;
    nothing.stop.n_predict = 0;
    s.perf.add(s.session.generate(prompt, nothing, {}).timings);
    keep(s, prompt);
}

/// The tokens of the prompt, which is shown. Without a prompt, those of the cache.
std::vector<int32_t> start(const Stage& s) {
    const bool goes_on = s.texts.prompt.empty() && !s.session.held().empty();
    std::vector<int32_t> tokens = goes_on ? s.session.held() : s.prompt;
    if (s.a.console.verbose_prompt) print_tokens(s.tokenizer, tokens);
    if (s.a.console.display_prompt) print_now(s.texts.prompt);
    keep_prompt(s, tokens);
    return tokens;
}

/// How many tokens at the start a context shift never drops; a start token counts as one more.
int n_keep(const Stage& s, const std::vector<int32_t>& prompt) {
    if (s.a.context.n_keep < 0) return static_cast<int>(prompt.size());
    const bool has_bos = prompt[0] == s.tokenizer.special().bos;
    return std::min(s.a.context.n_keep + (has_bos ? 1 : 0), static_cast<int>(prompt.size()));
}

void print_end(const Stage& s) {
    if (s.a.program->habits == Habits::llama) print_now(" [end of text]\n");
    else if (s.a.log.verbosity >= 3) say(" [end of text]\n");
}

/// One entry of the user: lines joined while they end in `\`, or, with multi-line input, until one ends in `\`.
/// A `/` at the end hands over without a line break.
LineResult read_entry(LineEditor& editor, bool multiline, std::string& entry) {
    entry.clear();
    for (std::string line;;) {
        const LineResult result = editor.read(::isatty(STDIN_FILENO) ? "> " : "", line);
        if (result != LineResult::line) return result;
        bool more = multiline;
        if (line.ends_with('\\') || line.ends_with('/')) {
            const bool slash = line.back() == '/';
            line.pop_back();
            if (slash) {
                entry += line;
                return LineResult::line;
            }
            more = !more;
        }
        entry += line + "\n";
        if (!more) return LineResult::line;
    }
}

/// What the user typed, in its wrapping, as tokens.
std::vector<int32_t> entry_tokens(const Stage& s, const std::string& entry) {
    const ConsoleArgs& c = s.a.console;
    std::vector<int32_t> tokens;
    const auto add = [&](std::string_view text, bool parse_special) {
        const std::vector<int32_t> more =
            s.tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
        tokens.insert(tokens.end(), more.begin(), more.end());
    };
    if (c.in_prefix_bos) tokens.push_back(s.tokenizer.special().bos);
    add(command_line_text(s.a, c.in_prefix), true);
    if (c.instruct) add(kInstruction, true);
    add(entry, false);
    if (c.instruct) add(kResponse, true);
    add(command_line_text(s.a, c.in_suffix), true);
    return tokens;
}

/// Forgets the older half of what may be forgotten until a quarter of the context is free.
void make_room(std::vector<int32_t>& tokens, int n_keep, int n_ctx) {
    while (static_cast<int64_t>(tokens.size()) > n_ctx - n_ctx / 4) {
        const auto kept = std::min(static_cast<int64_t>(n_keep), static_cast<int64_t>(n_ctx) / 2);
        const int64_t dropped = std::max<int64_t>(1, (static_cast<int64_t>(tokens.size()) - kept) / 2);
        tokens.erase(tokens.begin() + kept, tokens.begin() + kept + dropped);
    }
}

bool ends_with_any(const std::string& text, const std::vector<std::string>& endings) {
    return std::any_of(endings.begin(), endings.end(), [&](const std::string& e) { return text.ends_with(e); });
}

}  // namespace

void check_prompt_cache(const Arguments& a, bool is_conversation) {
    const PromptArgs& p = a.prompt;
    if (p.cache_file.empty()) return;
    if (is_conversation) fail(ErrorKind::bad_argument, "--prompt-cache is for plain texts, not for conversations");
    if (p.cache_all && is_interactive(a))
        fail(ErrorKind::bad_argument, "--prompt-cache-all and interactive modes exclude each other");
    if (p.cache_all && p.cache_read_only)
        fail(ErrorKind::bad_argument, "--prompt-cache-all and --prompt-cache-ro exclude each other");
    if (!p.cache_read_only) { const FileWriter can_be_written(p.cache_file); }
}

generate::GenerateOptions generate_options(const Arguments& a, const formats::GgufFile& file, int n_vocab, const LogSink& log) {
    generate::GenerateOptions o;
    o.sampling = sampling_options(a, file, log);
    generate::validate(o.sampling, n_vocab);
    if (o.sampling.seed == generate::kRandomSeed) o.sampling.seed = std::random_device{}() >> 1;
    o.stop.n_predict = a.prompt.n_predict;
    o.stop.strings = reverse_prompts(a);
    o.stop.keep_match = true;
    o.context_shift = a.context.shift && a.prompt.n_predict != -2;
    o.show_special = a.console.show_special;
    powerinfer::log(log, LogLevel::info, "main: seed  = {}", o.sampling.seed);
    powerinfer::log(log, LogLevel::info, "sampler chain: {}", generate::describe_chain(o.sampling));
    return o;
}

int complete(const Stage& s) {
    const std::vector<int32_t> prompt = start(s);
    generate::GenerateOptions options = s.options;
    options.n_keep = n_keep(s, prompt);
    const generate::Answer answer = s.session.generate(prompt, options, s.sampler, print_now);
    s.perf.add(answer.timings);
    if (s.a.prompt.cache_all && answer.n_shifts == 0) keep(s, s.session.held());
    else if (s.a.prompt.cache_all && s.a.log.verbosity >= 2)
        say("\nwarning: the answer is not kept in the prompt cache, as older text was forgotten for it\n");
    if (answer.reason == FinishReason::end_of_generation) print_end(s);
    if (answer.reason == FinishReason::context_full && s.a.log.verbosity >= 2)
        say("\nwarning: the context of {} tokens is full\n", s.engine.plan().n_ctx);
    if (::isatty(STDOUT_FILENO)) print_now("\n");
    return 0;
}

bool is_interactive(const Arguments& a) {
    return a.console.interactive || a.console.interactive_first || a.console.instruct;
}

int interact(const Stage& s) {
    const ConsoleArgs& c = s.a.console;
    InterruptWatch watch;
    LineEditor editor(history_path("main"), c.simple_io);
    if (s.a.log.verbosity >= 3)
        say("== interactive: Return hands over, a line that ends in \\ goes on, Ctrl-C takes over ==\n\n");
    const std::string& prompt = s.texts.prompt;
    std::vector<int32_t> tokens = start(s);
    generate::GenerateOptions options = s.options;
    options.n_keep = n_keep(s, tokens);
    options.should_stop = [&watch] { return watch.take(); };
    const auto append = [&](const std::vector<int32_t>& more) { tokens.insert(tokens.end(), more.begin(), more.end()); };
    bool users_turn = c.interactive_first || c.instruct || ends_with_any(prompt, options.stop.strings);
    for (;; users_turn = false) {
        if (!users_turn) {
            make_room(tokens, options.n_keep, s.engine.plan().n_ctx);
            const generate::Answer answer = s.session.generate(tokens, options, s.sampler, print_now);
            if (answer.reason != FinishReason::cancelled) watch.take();  // it was meant for this answer
            s.perf.add(answer.timings);
            const bool is_end = answer.reason == FinishReason::end_of_generation;
            tokens = s.session.held();
            if (!answer.tokens.empty() && !is_end) tokens.push_back(answer.tokens.back());
            if (is_end || answer.reason == FinishReason::cancelled) print_now("\n");
            if (answer.reason == FinishReason::context_full) return 0;
            if (is_end && !options.stop.strings.empty()) {
                print_now(options.stop.strings.front());
                append(s.tokenizer.encode(options.stop.strings.front(), {.add_special = false, .parse_special = true}));
            }
        }
        print_now(command_line_text(s.a, c.in_prefix));
        std::string entry;
        const LineResult result = read_entry(editor, c.multiline, entry);
        if (result == LineResult::interrupted) return print_now("\n"), kInterruptedStatus;
        if (result == LineResult::end_of_input) return 0;
        editor.remember(entry);
        print_now(command_line_text(s.a, c.in_suffix));
        if (entry.size() > 1) append(entry_tokens(s, entry));
    }
}

}  // namespace powerinfer::tools
