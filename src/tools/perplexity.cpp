// `perplexity`: how well a model predicts a text, in the windows and output lines that the other tools use.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "learn/scores.h"
#include "learn/windows.h"
#include "tokenizer/tokenizer.h"
#include "tools/commands.h"
#include "tools/logits_file.h"
#include "tools/numbers.h"
#include "tools/perf.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

using learn::Comparison;
using learn::RunningMean;
using learn::Windows;

std::string text_to_score(const Arguments& a) {
    if (!a.prompt.file.empty()) return read_text_file(a.prompt.file);
    if (a.prompt.text) return a.prompt.escape ? unescape(*a.prompt.text) : *a.prompt.text;
    fail(ErrorKind::bad_argument, "a text is needed: --file FILE");
}

void print_window(const PerplexityArgs& p, const Windows& w, int window, const RunningMean& nll) {
    const double perplexity = std::exp(nll.mean());
    if (p.stride > 0) fmt::print("{:8d}  {:.4f}\n", window * w.step, perplexity);
    else if (p.output_type == 1)
        fmt::print("{:8d}  {:.4f}  {:4f}  {:4f}\n", window * w.n_ctx, perplexity, nll.mean(), nll.error());
    else fmt::print("[{}]{:.4f},", window + 1, perplexity);
    std::fflush(stdout);
}

}  // namespace

int perplexity(const Arguments& a) {
    require_no_words(a);
    Perf perf;
    const PerplexityArgs& p = a.perplexity;
    const LogSink log = log_to_stderr(a.log.verbosity);
    if (a.context.n_ctx == 0) fail(ErrorKind::bad_argument, "--ctx-size 0 has no meaning here; 512 is usual");
    const bool keeps_logits = !p.logits_file.empty();
    if (p.kl_divergence && !keeps_logits)
        fail(ErrorKind::bad_argument, "--kl-divergence needs --kl-divergence-base FILE");
    if (keeps_logits && p.stride > 0)
        fail(ErrorKind::bad_argument, "--ppl-stride and --kl-divergence-base exclude each other");

    std::optional<LogitsFileReader> base;
    if (p.kl_divergence) base.emplace(p.logits_file);
    const std::string text = base ? std::string() : text_to_score(a);

    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    if (base && base->n_vocab() != model->spec.n_vocab)
        fail(ErrorKind::bad_file, "'{}' was made with a vocabulary of {}, the model has {}", p.logits_file,
             base->n_vocab(), model->spec.n_vocab);

    std::vector<int32_t> tokens =
        base ? std::vector<int32_t>(base->tokens().begin(), base->tokens().end()) : tokenizer.encode(text);
    plan::Budget b = budget(a, *model, log);
    if (base) b.n_ctx = base->n_ctx();
    const Windows w = base ? Windows{b.n_ctx, b.n_ctx, p.chunks >= 0 ? std::min(p.chunks, base->n_windows()) : base->n_windows(),
                                     b.n_ctx / 2}
                           : learn::cut_windows(static_cast<int64_t>(tokens.size()), b.n_ctx, p.stride, p.chunks);
    std::optional<LogitsFileWriter> kept;
    const auto n_kept = static_cast<size_t>(w.n_windows) * static_cast<size_t>(w.n_ctx);
    if (keeps_logits && !base)
        kept.emplace(p.logits_file, w.n_ctx, model->spec.n_vocab, std::span<const int32_t>(tokens).first(n_kept));
    auto engine = engine::Engine::load(model, announced(plan::solve(*model, b), log), engine_options(a), log);
    perf.load_s = perf.total.seconds();

    say("perplexity: calculating perplexity over {} chunks, n_ctx={}, batch_size={}\n", w.n_windows,
               w.n_ctx, engine.plan().n_batch);
    if (base)
        fmt::print("chunk             PPL       ln(PPL(Q)/PPL(base))           KL Divergence              Δp RMS         Same top p\n");

    RunningMean nll;
    Comparison comparison;
    int64_t n_scored = 0;
    for (int window = 0; window < w.n_windows; ++window) {
        const auto begin = static_cast<size_t>(window) * static_cast<size_t>(w.step);
        const Stopwatch watch;
        learn::run_window(engine, learn::window_input(tokens, w, window, tokenizer.special()), w.first, [&](int position, std::span<const float> logits) {
            const int32_t next = tokens[begin + static_cast<size_t>(position) + 1];
            nll.add(learn::negative_log_likelihood(logits, next));
            if (kept) kept->add(logits);
            if (base) comparison.add(logits, base->log_probs(n_scored), next);
            ++n_scored;
        });
        perf.prompt_s += watch.seconds();
        perf.n_prompt += w.n_ctx;
        if (window == 0)
            say("perplexity: {:.2f} seconds per pass - ETA {:.2f} minutes\n", watch.seconds(),
                       watch.seconds() * w.n_windows / 60);
        if (base) {
            fmt::print("{}", comparison.running_line(window + 1));
            std::fflush(stdout);
        } else {
            print_window(p, w, window, nll);
        }
    }
    if (base) {
        fmt::print("{}", comparison.report());
    } else {
        const double result = std::exp(nll.mean());
        fmt::print("\nFinal estimate: PPL = {:.4f} +/- {:.5f}\n", result, nll.error() * result);
    }
    if (kept) kept->finish();
    if (a.log.perf) print_timings(*a.program, perf);
    say("powerinfer: prompt {:.1f} tokens/s, active share {:.1f} %, hash {:016x}\n",
               static_cast<double>(perf.n_prompt) / std::max(perf.prompt_s, 1e-9), 100 * engine.counts().active_share(),
               engine.logits_hash());
    if (a.log.layers) print_layers(engine.counts());
    return 0;
}

}  // namespace powerinfer::tools
