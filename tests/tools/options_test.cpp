// The option table against the documented flags, defaults and error texts of the programs whose names it serves.
#include "tools/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace powerinfer::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Program& program(std::string_view name) {
    if (const Program* p = find_link(name)) return *p;
    if (const Program* p = find_subcommand(name)) return *p;
    throw std::logic_error("no such program");
}

/// The subcommand of `powerinfer`, where a link has the same name.
const Program& own(std::string_view name) { return *find_subcommand(name); }

Arguments parse_words(const Program& p, std::vector<const char*> words, std::map<std::string, std::string> env = {}) {
    return parse(p, words, [&](const char* name) {
        const auto found = env.find(name);
        return found == env.end() ? nullptr : found->second.c_str();
    });
}

std::string error_of(const Program& p, std::vector<const char*> words, std::map<std::string, std::string> env = {}) {
    try {
        parse_words(p, std::move(words), std::move(env));
    } catch (const UsageError& e) {
        return e.message;
    }
    return "";
}

const Option* row(const Program& p, const std::string& name) {
    for (const Option& o : option_table())
        if (contains(o.commands, p.command) && std::count(o.names.begin(), o.names.end(), name)) return &o;
    return nullptr;
}

std::vector<const Program*> all_programs() {
    std::vector<const Program*> all;
    for (const Program& p : subcommands()) all.push_back(&p);
    for (const Program& p : links()) all.push_back(&p);
    return all;
}

struct DocumentedDefault {
    const char* program;
    const char* flag;
    const char* value;
};

// From the flag tables of both generations; where the newer llama-* programs changed a default, the newer one.
const DocumentedDefault kDocumented[] = {
    {"main", "-m", "models/7B/ggml-model-f16.gguf"},
    {"main", "-n", "-1"},
    {"main", "-c", "512"},
    {"main", "-b", "512"},
    {"main", "--keep", "0"},
    {"main", "-e", "off"},
    {"main", "--temp", "0.8"},
    {"main", "--top-k", "40"},
    {"main", "--top-p", "0.95"},
    {"main", "--min-p", "0.05"},
    {"main", "--tfs", "1"},
    {"main", "--typical", "1"},
    {"main", "--repeat-penalty", "1.1"},
    {"main", "--repeat-last-n", "64"},
    {"main", "--frequency-penalty", "0"},
    {"main", "--presence-penalty", "0"},
    {"main", "--mirostat", "0"},
    {"main", "--mirostat-lr", "0.1"},
    {"main", "--mirostat-ent", "5"},
    {"main", "--chunks", "-1"},
    {"main", "--ppl-stride", "0"},
    {"main", "--ppl-output-type", "0"},
    {"main", "--penalize-nl", "on"},
    {"main", "--context-shift", "on"},
    {"perplexity", "-c", "512"},
    {"perplexity", "-b", "512"},
    {"llama-completion", "-c", ""},
    {"llama-completion", "-b", "2048"},
    {"llama-completion", "-ub", "512"},
    {"llama-completion", "-e", "on"},
    {"llama-completion", "--repeat-penalty", "1"},
    {"llama-completion", "--top-k", "40"},
    {"llama-completion", "--top-nsigma", "-1"},
    {"llama-completion", "--xtc-probability", "0"},
    {"llama-completion", "--xtc-threshold", "0.1"},
    {"llama-completion", "--dry-multiplier", "0"},
    {"llama-completion", "--dry-allowed-length", "2"},
    {"llama-completion", "--dry-penalty-last-n", "64"},
    {"llama-completion", "--dynatemp-range", "0"},
    {"llama-completion", "--dynatemp-exp", "1"},
    {"llama-completion", "--adaptive-target", "-1"},
    {"llama-completion", "--adaptive-decay", "0.9"},
    {"llama-completion", "-ctk", "f16"},
    {"llama-completion", "-ctv", "f16"},
    {"llama-completion", "--context-shift", "off"},
    {"llama-completion", "--display-prompt", "on"},
    {"llama-perplexity", "-c", "512"},
    {"llama-perplexity", "-e", "off"},
    {"llama-bench", "-r", "5"},
    {"llama-bench", "-o", "md"},
    {"llama-bench", "-oe", "none"},
    {"llama-tokenize", "--bos", "on"},
    {"llama-tokenize", "--parse-special", "on"},
};

TEST(Options, DefaultsAreTheDocumentedOnes) {
    for (const DocumentedDefault& d : kDocumented) {
        const Program& p = program(d.program);
        const Option* o = row(p, d.flag);
        ASSERT_NE(o, nullptr) << d.program << " " << d.flag;
        ASSERT_TRUE(o->show) << d.program << " " << d.flag;
        EXPECT_EQ(o->show(defaults(p)), d.value) << d.program << " " << d.flag;
    }
}

TEST(Options, NamesAreUniquePerCommandAndWellFormed) {
    for (const Program* p : all_programs()) {
        std::set<std::string> seen;
        for (const Option& o : option_table()) {
            if (!contains(o.commands, p->command)) continue;
            EXPECT_FALSE(o.help.empty()) << o.names[0];
            EXPECT_EQ(o.takes == Takes::nothing, o.value.empty()) << o.names[0];
            for (const auto* names : {&o.names, &o.off_names}) {
                for (const std::string& n : *names) {
                    EXPECT_TRUE(seen.insert(n).second) << p->name << " has two rows for " << n;
                    EXPECT_EQ(n.find('_'), std::string::npos) << n;
                    EXPECT_TRUE(n.starts_with("-")) << n;
                }
            }
        }
    }
}

TEST(Options, EveryRowThatTakesAValueRefusesItsAbsence) {
    int rows = 0;
    for (const Program* p : all_programs()) {
        for (const Option& o : option_table()) {
            if (!contains(o.commands, p->command) || o.takes != Takes::value) continue;
            for (const std::string& name : o.names) {
                const std::string message = error_of(*p, {name.c_str()});
                EXPECT_THAT(message, HasSubstr(name)) << p->name;
                EXPECT_THAT(message, HasSubstr(p->habits == Habits::powerinfer ? "invalid parameter for argument"
                                                                               : "expected value"));
                ++rows;
            }
        }
    }
    EXPECT_GT(rows, 500);
}

TEST(Options, EveryNumberIsReadStrictly) {
    int rows = 0;
    for (const Program* p : all_programs()) {
        for (const Option& o : option_table()) {
            if (!contains(o.commands, p->command) || o.takes != Takes::value || o.value != "N" || !o.show) continue;
            for (const char* wrong : {"", "abc", "1x", "0x10", "1 ", " 1", "nan", "inf", "1e999", "--1"}) {
                const std::string message = error_of(*p, {o.names[0].c_str(), wrong});
                EXPECT_THAT(message, HasSubstr(o.names[0])) << p->name << " '" << wrong << "'";
            }
            ++rows;
        }
    }
    EXPECT_GT(rows, 100);
}

TEST(Options, NumbersOutOfRangeNameTheRange) {
    EXPECT_THAT(error_of(own("run"), {"-n", "99999999999"}), HasSubstr("-2 to 2147483647"));
    EXPECT_THAT(error_of(own("run"), {"-n", "99999999999999999999"}), HasSubstr("out of range"));
    EXPECT_THAT(error_of(own("run"), {"--min-p", "1.5"}), HasSubstr("0 to 1"));
    EXPECT_THAT(error_of(own("run"), {"-b", "0"}), HasSubstr("out of range"));
}

TEST(Options, UnderscoresAndSingleDashesAreAccepted) {
    EXPECT_EQ(parse_words(program("main"), {"--ctx_size", "64"}).context.n_ctx, 64);
    EXPECT_EQ(parse_words(program("main"), {"-ctx-size", "65"}).context.n_ctx, 65);
    EXPECT_EQ(parse_words(program("main"), {"-ctx_size", "66"}).context.n_ctx, 66);
    EXPECT_THAT(parse_words(program("main"), {"-vram-budget", "8"}).gpu_options, ElementsAre("--vram-budget"));
    EXPECT_THAT(parse_words(program("main"), {"-ngl", "5", "--vram_budget", "8"}).gpu_options,
                ElementsAre("--n-gpu-layers", "--vram-budget"));
}

TEST(Options, ValueIsTheNextWordWhateverItLooksLike) {
    const Arguments a = parse_words(program("main"), {"-n", "-1", "-s", "-1", "-p", "--not-an-option"});
    EXPECT_EQ(a.prompt.n_predict, -1);
    EXPECT_EQ(a.sampling.seed, generate::kRandomSeed);
    EXPECT_EQ(a.prompt.text, "--not-an-option");
    EXPECT_THAT(error_of(program("llama-completion"), {"--temp=0"}), "error: invalid argument: --temp=0");
}

TEST(Options, LastScalarWinsAndListsGrow) {
    const Arguments a =
        parse_words(program("llama-completion"), {"-n", "1", "-n", "2", "-r", "a", "-r", "b", "-l", "5+1", "-l", "6-2"});
    EXPECT_EQ(a.prompt.n_predict, 2);
    EXPECT_THAT(a.console.reverse_prompts, ElementsAre("a", "b"));
    ASSERT_EQ(a.sampling.logit_bias.size(), 2u);
    EXPECT_EQ(a.sampling.logit_bias[1].bias, -2.0f);
    ASSERT_EQ(a.warnings.size(), 1u);
    EXPECT_THAT(a.warnings[0], HasSubstr("-n is given more than once"));
}

TEST(Options, ErrorTextsAreThoseOfTheInvokedProgram) {
    EXPECT_EQ(error_of(program("main"), {"--nonsense"}), "error: unknown argument: --nonsense");
    EXPECT_EQ(error_of(program("main"), {"-n"}), "error: invalid parameter for argument: -n");
    EXPECT_EQ(error_of(program("llama-cli"), {"--nonsense"}), "error: invalid argument: --nonsense");
    EXPECT_EQ(error_of(program("llama-cli"), {"-n"}),
              "error while handling argument \"-n\": expected value for argument");
    EXPECT_THAT(error_of(program("llama-cli"), {"-n", "x"}), HasSubstr("error while handling argument \"-n\": "));
}

TEST(Options, GrammarAnswersThatItComesWithTheServer) {
    for (const char* flag : {"--grammar", "--grammar-file", "-j", "--json-schema"})
        for (const char* name : {"main", "llama-completion"})
            EXPECT_THAT(error_of(program(name), {flag, "root ::= \"a\""}), HasSubstr("come with the server"));
}

TEST(Options, WordsThatMayFollowAreTakenOnlyWhereTheyFit) {
    EXPECT_THAT(parse_words(program("main"), {"--numa", "-n", "3"}).inert_options, ElementsAre("--numa"));
    const Arguments a = parse_words(program("llama-completion"), {"--numa", "isolate", "-fa", "-fa", "on", "-n", "3"});
    EXPECT_EQ(a.prompt.n_predict, 3);
    EXPECT_THAT(a.words, IsEmpty());
    EXPECT_EQ(parse_words(program("main"), {"--color"}).console.color, Switch::on);
    EXPECT_EQ(parse_words(program("llama-completion"), {"--color", "auto"}).console.color, Switch::automatic);
}

TEST(Options, EveryOnOffOptionHasItsOpposite) {
    EXPECT_FALSE(parse_words(program("llama-completion"), {"--no-escape"}).prompt.escape);
    EXPECT_TRUE(parse_words(program("main"), {"-e"}).prompt.escape);
    EXPECT_FALSE(parse_words(program("llama-completion"), {"--no-perf"}).log.perf);
    EXPECT_EQ(parse_words(program("llama-cli"), {"-no-cnv"}).console.conversation, Switch::off);
    EXPECT_FALSE(parse_words(program("main"), {"--no-penalize-nl"}).sampling.penalize_newline);
}

TEST(Options, EnvironmentComesFirstAndTheCommandLineOverrules) {
    const Program& p = program("llama-completion");
    EXPECT_EQ(parse_words(p, {}, {{"LLAMA_ARG_CTX_SIZE", "77"}}).context.n_ctx, 77);
    const Arguments a = parse_words(p, {"-c", "78"}, {{"LLAMA_ARG_CTX_SIZE", "77"}});
    EXPECT_EQ(a.context.n_ctx, 78);
    ASSERT_EQ(a.warnings.size(), 1u);
    EXPECT_THAT(a.warnings[0], HasSubstr("LLAMA_ARG_CTX_SIZE"));
    EXPECT_THAT(error_of(p, {}, {{"LLAMA_ARG_CTX_SIZE", "many"}}), HasSubstr("\"LLAMA_ARG_CTX_SIZE\""));
    EXPECT_TRUE(parse_words(p, {}, {{"LLAMA_ARG_CONTEXT_SHIFT", "enabled"}}).context.shift);
    EXPECT_FALSE(parse_words(own("run"), {}, {{"LLAMA_ARG_NO_CONTEXT_SHIFT", "1"}}).context.shift);
    EXPECT_THAT(error_of(p, {}, {{"LLAMA_ARG_CONTEXT_SHIFT", "perhaps"}}), HasSubstr("neither on"));
    EXPECT_EQ(parse_words(program("main"), {}, {{"LLAMA_ARG_CTX_SIZE", "77"}}).context.n_ctx, 512)
        << "the programs of 2023 did not read these variables";
}

TEST(Options, ModesAndActivationsAreReadByName) {
    EXPECT_EQ(parse_words(own("run"), {"--sparsity", "exact"}).model.sparsity, sparsity::Mode::exact);
    EXPECT_THAT(error_of(own("run"), {"--sparsity", "some"}), HasSubstr("off, exact, predict, auto"));
}

TEST(Options, BenchTakesListsAndRanges) {
    const Arguments a = parse_words(program("llama-bench"), {"-p", "0,64", "-n", "1-4", "-n", "8-40*2", "-t", "1-7+3",
                                                             "-pg", "16,8", "-m", "a.gguf,b.gguf"});
    EXPECT_THAT(a.bench.n_prompt, ElementsAre(0, 64));
    EXPECT_THAT(a.bench.n_gen, ElementsAre(1, 2, 3, 4, 8, 16, 32));
    EXPECT_THAT(a.bench.n_threads, ElementsAre(1, 4, 7));
    EXPECT_THAT(a.bench.models, ElementsAre("a.gguf", "b.gguf"));
    EXPECT_THAT(a.bench.prompt_gen, ElementsAre(std::pair(16, 8)));
    const Arguments s = parse_words(program("llama-bench"), {"--synth", "tiny", "--synth-type", "q4_k_m", "-npl", "1,4"});
    EXPECT_EQ(s.synth.mix->name, "Q4_K_M");
    EXPECT_EQ(parse_words(program("llama-bench"), {"--synth-type", "q4_K"}).synth.mix, nullptr);
    EXPECT_THAT(error_of(program("llama-bench"), {"--synth-type", "copy"}), HasSubstr("copy"));
    EXPECT_THAT(s.bench.n_parallel, ElementsAre(1, 4));
    EXPECT_THAT(error_of(program("llama-bench"), {"-p", "1-"}), HasSubstr("-p"));
    EXPECT_THAT(error_of(program("llama-bench"), {"-p", "0-2000000000"}), HasSubstr("too many"));
}

TEST(Options, DryBreakersReplaceOnFirstUse) {
    EXPECT_THAT(parse_words(own("run"), {"--dry-sequence-breaker", "x", "--dry-sequence-breaker", "y"})
                    .sampling.dry_sequence_breakers,
                ElementsAre("x", "y"));
    EXPECT_THAT(parse_words(own("run"), {"--dry-sequence-breaker", "none"}).sampling.dry_sequence_breakers, IsEmpty());
}

// Every flag that ordinary scripts of either generation cannot do without, with a value where it takes one.
TEST(Options, TheFlagsThatScriptsNeedAreAccepted) {
    const Arguments old = parse_words(
        program("main"),
        {"-m", "m", "-n", "-2", "-c", "512", "-b", "512", "-t", "4", "-s", "-1", "-p", "p", "-f", "f", "-e", "-i", "-r", "r",
         "--temp", "0.8", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.05", "--repeat-penalty", "1.1",
         "--repeat-last-n", "64", "--frequency-penalty", "0", "--presence-penalty", "0", "--ignore-eos", "--mlock",
         "--no-mmap", "--numa", "-ngl", "-1", "--vram-budget", "-1", "--reset-gpu-index", "--disable-gpu-index",
         "--log-disable", "--log-enable", "--log-file", "x", "-C", "0xF", "-Cr", "0-3", "--cpu-strict", "0", "--prio", "0", "--log-new", "--log-append", "--log-test", "-tb", "4",
         "--keep", "0", "--in-prefix", "a", "--in-suffix", "b", "--memory-f32", "--tfs", "1", "--typical", "1"});
    EXPECT_THAT(old.words, IsEmpty());
    EXPECT_THAT(old.gpu_options, testing::SizeIs(4));
    const Arguments newer = parse_words(
        program("llama-completion"),
        {"-m", "m", "-a", "name", "-t", "-1", "-c", "0", "--predict", "4", "-b", "2048", "-ub", "512", "--no-context-shift",
         "-fa", "-fa", "auto", "-ctk", "f16", "-ctv", "f16", "--numa", "distribute", "--check-tensors", "-ngl", "99", "-sm",
         "layer", "-ts", "1,1", "-mg", "0", "-dev", "none", "--rpc", "x", "-v", "--verbosity", "3", "--log-colors",
         "--log-colors", "auto", "--log-prefix", "-cnv", "-no-cnv", "--chat-template", "chatml", "--jinja", "-mli",
         "--in-prefix-bos", "-sp", "--no-display-prompt", "--samplers", "top_k;temperature", "--sampling-seq", "kt", "-l",
         "5+1", "--no-warmup", "--no-perf", "-lm", "mlock", "-fit", "off", "-st", "-sys", "s", "--adaptive-target", "0.5"});
    EXPECT_THAT(newer.words, IsEmpty());
    EXPECT_TRUE(newer.model.lock);
    EXPECT_THAT(newer.sampling.order, ElementsAre(generate::SamplerKind::top_k, generate::SamplerKind::temperature));
}

TEST(Options, WordsWithoutOptionAreKeptInOrder) {
    EXPECT_THAT(parse_words(program("quantize"), {"--pure", "in.gguf", "out.gguf", "Q4_0", "4"}).words,
                ElementsAre("in.gguf", "out.gguf", "Q4_0", "4"));
}

TEST(Options, HelpNamesEveryRow) {
    for (const Program* p : all_programs()) {
        const std::string text = usage(*p);
        for (const Option& o : option_table()) {
            if (!contains(o.commands, p->command)) continue;
            for (const std::string& n : o.names) EXPECT_THAT(text, HasSubstr(n)) << p->name;
        }
    }
    EXPECT_THAT(usage(program("main")), HasSubstr("(default: 1.1)"));
}

TEST(Programs, NamesAreFoundByTheLastPartOfThePath) {
    EXPECT_EQ(find_link("/usr/bin/llama-bench")->command, Command::bench);
    EXPECT_EQ(find_link("./build/bin/main")->habits, Habits::powerinfer);
    EXPECT_EQ(find_link("powerinfer"), nullptr);
    EXPECT_EQ(find_subcommand("main"), nullptr);
}

}  // namespace
}  // namespace powerinfer::tools
