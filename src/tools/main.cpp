// Finds out what is asked for, runs it, and turns errors into one line on stderr and an exit status.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "base/error.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/options.h"
#include "tools/processors.h"
#include "tools/terminal.h"
#include "tools/version.h"

using namespace powerinfer;
using namespace powerinfer::tools;

namespace {

std::string overview() {
    std::string text = "usage: powerinfer COMMAND [OPTIONS]\n\n";
    for (const Program& p : subcommands()) text += fmt::format("  {:<12}{}\n", p.name, p.about);
    return text + "\npowerinfer COMMAND --help shows the options of a command, powerinfer --version the build.\n";
}

int answer(std::string_view text) {
    print_now(text);
    return 0;
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    return all;
}

void print_warnings(const Arguments& a) {
    if (a.log.verbosity < 2) return;
    for (const std::string& w : a.warnings) say("warning: {}\n", w);
    if (!a.gpu_options.empty())
        say("warning: this build has no GPU; ignored: {}\n", joined(a.gpu_options));
    if (!a.inert_options.empty())
        say("warning: without effect in this engine: {}\n", joined(a.inert_options));
}

int dispatch(const Arguments& a) {
    switch (a.program->command) {
        case Command::inspect: return inspect(a);
        case Command::tokenize: return tokenize(a);
        case Command::convert: return convert_folder(a);
        case Command::quantize: return quantize(a);
        case Command::logits: return logits(a);
        case Command::run:
        case Command::chat: return run(a);
        case Command::perplexity: return perplexity(a);
        case Command::profile: return profile(a);
        case Command::evaluate: return evaluate(a);
        case Command::predictor: return predictor(a);
        case Command::complete: return complete_file(a);
        case Command::bench: return bench(a);
        case Command::batched: return batched(a);
        case Command::synth: return synth(a);
        case Command::plan: return plan_placement(a);
    }
    return 1;
}

int run_program(const Program& program, std::span<const char* const> words) {
    Arguments a;
    try {
        a = parse(program, words, [](const char* name) { return std::getenv(name); });
    } catch (const UsageError& e) {
        say("{}\n", e.message);
        if (program.habits == Habits::powerinfer) print_now(usage(program));
        else if (e.option) say("\n{}", usage(*e.option, defaults(program)));
        return 1;
    }
    // The llama-* programs answer on stderr here.
    if (a.version && program.habits == Habits::llama) return say("{}", version_text()), 0;
    if (a.version) return answer(version_text());
    if (a.help) return answer(usage(program));
    if (a.list_devices) return answer("Available devices:\n");
    if (!a.log.file.empty()) open_log_file(a.log.file, a.log.append);
    print_warnings(a);
    place_process(a.processor, log_to_stderr(a.log.verbosity));
    return dispatch(a);
}

int start(std::span<const char* const> words) {
    if (const Program* program = find_link(words[0])) return run_program(*program, words.subspan(1));
    const std::string_view command = words.size() > 1 ? words[1] : "";
    if (const Program* program = find_subcommand(command)) return run_program(*program, words.subspan(2));
    if (command == "--version") return answer(version_text());
    if (command == "help" || command == "--help" || command == "-h") return answer(overview());
    if (command.empty()) return say("{}", overview()), 1;
    say("error: there is no command '{}'\n\n", command);
    say("{}", overview());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_streams();
    std::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit is an error of write(), which cleans up
    int status = 1;
    try {
        status = start(std::span<const char* const>(argv, static_cast<size_t>(argc)));
    } catch (const Error& e) {
        std::fflush(stdout);
        say("error: {}\n", e.what());
        status = e.kind() == ErrorKind::cancelled ? 128 + stopping_signal() : 1;
    } catch (const std::bad_alloc&) {
        say("error: not enough memory\n");
    } catch (const std::system_error& e) {
        // fmt::print to a full disk or a closed stream, a thread that cannot be had, a folder that cannot be read
        say("error: {}\n", e.what());
        return 1;
    }
    if (std::fflush(stdout) != 0 && status == 0) {
        say("error: cannot write to standard output: {}\n", std::strerror(errno));
        status = 1;
    }
    return status;
}
