// `profile`: how often each neuron fires over a text; such counts merged, exchanged and shown.
#include "sparsity/profile.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file_writer.h"
#include "learn/profiler.h"
#include "sparsity/activation_folder.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/perf.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

using sparsity::ActivationProfile;

ActivationProfile profile_of_text(const Arguments& a, const LogSink& log) {
    const std::string words = text_to_learn(a);
    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const std::vector<int32_t> ids = tokens_to_learn(a, tokenizer, words);
    const learn::Text text = windows_to_learn(a, ids, model->spec, tokenizer);
    InterruptWatch watch(Watched::every_end);
    const Stopwatch stopwatch;
    ActivationProfile profile = learn::profile_text(model, text, std::max(a.context.n_threads, 0),
                                                    progress_on_terminal(watch, a.log.verbosity));
    say("powerinfer: {} tokens in windows of {}, {:.1f} tokens/s\n", ids.size(), text.window,
        static_cast<double>(ids.size()) / std::max(stopwatch.seconds(), 1e-9));
    profile.sources = {text_name(a)};
    return profile;
}

ActivationProfile profile_of_folder(const Arguments& a, const LogSink& log) {
    if (a.model.path.empty()) return sparsity::read_activation_folder(a.profile.from_torch);
    const auto model = load_model(open_file(a, log), a, log);
    return sparsity::read_activation_folder(a.profile.from_torch, &model->spec);
}

ActivationProfile profile_of_files(const Arguments& a, const LogSink& log) {
    if (a.words.size() > 1 && !a.profile.merge)
        fail(ErrorKind::bad_argument, "{} profiles were given; --merge adds them up", a.words.size());
    ActivationProfile profile = sparsity::open_profile(a.words.front());
    for (size_t i = 1; i < a.words.size(); ++i) {
        try {
            profile.merge(sparsity::open_profile(a.words[i]));
        } catch (const Error& e) {
            fail(e.kind(), "'{}' cannot be added to '{}': {}", a.words[i], a.words.front(), e.what());
        }
    }
    if (!a.model.path.empty()) profile.check_fits(*load_model(open_file(a, log), a, log), a.words.front());
    return profile;
}

ActivationProfile asked_for(const Arguments& a, const LogSink& log) {
    const bool of_text = !a.prompt.file.empty(), of_folder = !a.profile.from_torch.empty(),
               of_files = !a.words.empty();
    if (of_text + of_folder + of_files != 1)
        fail(
            ErrorKind::bad_argument,
            "profile needs one of: -m MODEL -f TEXT, --from-torch FOLDER, or profiles that were made before");
    if (a.profile.merge && a.words.size() < 2)
        fail(ErrorKind::bad_argument, "--merge needs at least two profiles, {} were given", a.words.size());
    if (of_text) return profile_of_text(a, log);
    return of_folder ? profile_of_folder(a, log) : profile_of_files(a, log);
}

/// The power law: few neurons make most of the activations.
void print_table(const ActivationProfile& p) {
    if (p.n_tokens > 0)
        fmt::print("{} layers of {} neurons, {} tokens\n\n", p.n_layer(), p.n_ff, p.n_tokens);
    else
        fmt::print("{} layers of {} neurons, counts alone: shares are of the most active neuron's\n\n",
                   p.n_layer(), p.n_ff);
    fmt::print("layer   active   neurons that make 50 %, 80 %, 95 % of the activations   never\n");
    double sums[5] = {};
    const auto row = [](const std::string& name, const double(&v)[5]) {
        fmt::print("{:>5}  {:5.1f} %{:>28.1f} %{:>9.1f} %{:>9.1f} %{:>12.1f} %\n", name, 100 * v[0],
                   100 * v[1], 100 * v[2], 100 * v[3], 100 * v[4]);
    };
    for (int i = 0; i < p.n_layer(); ++i) {
        const auto& fires = p.layers[static_cast<size_t>(i)].fires;
        const double never = static_cast<double>(std::count(fires.begin(), fires.end(), 0u)) / p.n_ff;
        const double values[5] = {p.active_share(i), p.share_covering(i, 0.5), p.share_covering(i, 0.8),
                                  p.share_covering(i, 0.95), never};
        for (size_t k = 0; k < 5; ++k) sums[k] += values[k] / p.n_layer();
        row(std::to_string(i), values);
    }
    row("mean", sums);
}

}  // namespace

int profile(const Arguments& a) {
    const LogSink log = log_to_stderr(a.log.verbosity);
    if (!a.output.path.empty()) {
        const FileWriter can_be_written(a.output.path);
    }
    const ActivationProfile profile = asked_for(a, log);
    if (!a.output.path.empty()) sparsity::write_profile(a.output.path, profile);
    if (!a.profile.to_torch.empty()) sparsity::write_activation_folder(a.profile.to_torch, profile);
    print_table(profile);
    return 0;
}

}  // namespace powerinfer::tools
