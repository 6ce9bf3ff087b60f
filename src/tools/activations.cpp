#include "tools/activations.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "learn/activation_probe.h"
#include "tokenizer/tokenizer.h"
#include "tools/interrupt.h"
#include "tools/numbers.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

constexpr size_t kWindow = 256, kMaxTokens = 8 * kWindow;

}  // namespace

int measure_activations(const Arguments& a) {
    const LogSink log = log_to_stderr(std::min(a.log.verbosity, 2));
    const std::string text = read_text_file(a.inspect.activations_text);
    const auto file = open_file(a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    std::vector<int32_t> ids = tokenizer.encode(text);
    if (ids.size() < 32)
        fail(ErrorKind::bad_argument, "'{}' has {} tokens, at least 32 are needed and {} are of use",
             a.inspect.activations_text, ids.size(), kMaxTokens);
    ids.resize(std::min(ids.size(), kMaxTokens));
    InterruptWatch watch;
    const std::vector<learn::ActivationTrial> trials =
        learn::probe_activations(file, ids, static_cast<int>(std::min(kWindow, ids.size())),
                                 std::max(a.context.n_threads, 0), progress_on_terminal(watch, a.log.verbosity));

    const model::ModelSpec stated = load_model(file, a, log)->spec;
    fmt::print("activation by the file: {}{}\n\n", model::name(stated.activation),
               stated.activation_is_stated ? "" : " (not stated; the custom of this architecture)");
    fmt::print("{:<14}{:>14}{:>20}\n", "candidate", "perplexity", "gates below zero");
    for (const learn::ActivationTrial& t : trials)
        fmt::print("{:<14}{:>14.3f}{:>18.1f} %\n", model::name(t.activation), t.perplexity, 100 * t.gates_below_zero);
    const model::Activation best = trials.front().activation;
    fmt::print("\nThe weights were trained with {}.", model::name(best));
    if (best != stated.activation)
        fmt::print(" The file says otherwise: run or convert it with --activation {}.", model::name(best));
    fmt::print("\n\nby layer, gates below zero under {}\n", model::name(best));
    for (size_t i = 0; i < trials.front().gates_below_zero_per_layer.size(); ++i)
        fmt::print("  layer {:3d} {:6.1f} %\n", i, 100 * trials.front().gates_below_zero_per_layer[i]);
    return 0;
}

}  // namespace powerinfer::tools
