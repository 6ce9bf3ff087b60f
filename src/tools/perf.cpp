#include "tools/perf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

void line(std::string_view prefix, std::string_view what, double seconds) {
    say("{}{:>17} = {:10.2f} ms\n", prefix, what, seconds * 1e3);
}

void line(std::string_view prefix, std::string_view what, double seconds, int64_t n, std::string_view unit) {
    const double count = static_cast<double>(std::max<int64_t>(n, 1));
    say("{}{:>17} = {:10.2f} ms / {:5d} {:<6} ({:8.2f} ms per token, {:8.2f} tokens per second)\n",
               prefix, what, seconds * 1e3, n, unit, seconds * 1e3 / count, seconds > 0 ? count / seconds : 0.0);
}

}  // namespace

void Perf::add(const generate::Timings& t) {
    prompt_s += t.prompt_s;
    sample_s += t.sample_s;
    decode_s += t.decode_s;
    n_prompt += t.n_prompt;
    n_sample += t.n_sample;
    n_decode += t.n_decode;
    decode_bytes += t.decode_bytes;
}

void print_timings(const Program& program, const Perf& p) {
    say("\n");  // the text may have ended within a line
    if (program.habits == Habits::own) return;
    const bool old = program.habits == Habits::powerinfer;
    const bool common = program.command == Command::run || program.command == Command::chat;
    const std::string_view prefix =
        old ? "llama_print_timings:" : common ? "common_perf_print:" : "llama_perf_context_print:";
    const double total = p.total.seconds();
    if (old) {
        line(prefix, "load time", p.load_s);
        line(prefix, "sample time", p.sample_s, p.n_sample, "runs");
    } else {
        if (common) line(prefix, "sampling time", p.sample_s, p.n_sample, "runs");
        line(prefix, "load time", p.load_s);
    }
    line(prefix, "prompt eval time", p.prompt_s, p.n_prompt, "tokens");
    line(prefix, "eval time", p.decode_s, p.n_decode, "runs");
    if (old) {
        line(prefix, "total time", total - p.load_s);
    } else {
        say("{}{:>17} = {:10.2f} ms / {:5d} tokens\n", prefix, "total time", total * 1e3,
                   p.n_prompt + p.n_decode);
        const double known = p.load_s + p.sample_s + p.prompt_s + p.decode_s;
        if (common) line(prefix, "unaccounted time", std::max(0.0, total - known));
    }
}

void print_summary(const Perf& p, const engine::Engine& engine) {
    if (p.n_prompt > 0 && p.prompt_s > 0)
        say("powerinfer: prompt {:.1f} tokens/s, {} tokens\n",
                   static_cast<double>(p.n_prompt) / p.prompt_s, p.n_prompt);
    const double seconds = std::max(p.decode_s, 1e-9);
    say("powerinfer: decode {:.1f} tokens/s, {:.1f} GB/s, active share {:.1f} %, hash {:016x}\n",
               static_cast<double>(p.n_decode) / seconds, static_cast<double>(p.decode_bytes) / 1e9 / seconds,
               100 * engine.counts().active_share(), engine.logits_hash());
}

void print_layers(const engine::EngineCounts& counts) {
    for (size_t i = 0; i < counts.layers.size(); ++i) {
        const engine::LayerCounts& layer = counts.layers[i];
        const double n = static_cast<double>(std::max<uint64_t>(layer.neurons, 1));
        say("powerinfer: layer {:3d} active share {:5.1f} %, gates computed {:5.1f} %\n", i,
                   100 * static_cast<double>(layer.fired) / n, 100 * static_cast<double>(layer.selected) / n);
    }
}

}  // namespace powerinfer::tools
