// `batched`: one prompt continued several times at once.
//   batched MODEL [PROMPT] [PARALLEL=1] [LEN=32] [N_THREAD] [VRAM_BUDGET=-1] [NGL=0]
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "generate/sampler.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/options.h"
#include "tools/perf.h"
#include "tools/prompt.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

constexpr int kMaxParallel = 256, kMaxLength = 1 << 20;

struct Stream {
    generate::Sampler sampler;
    std::string text;
    int place = 0;  ///< of its logits in the last step; -1 when it is finished
};

int number_word(const Arguments& a, size_t i, int otherwise, int low, int high, const char* name) {
    if (i >= a.words.size()) return otherwise;
    try {
        return static_cast<int>(parse_integer(a.words[i], low, high));
    } catch (const Error& e) {
        fail(ErrorKind::bad_argument, "{}: {}", name, e.what());
    }
}

}  // namespace

int batched(const Arguments& given) {
    Arguments a = given;
    if (a.words.empty() || a.words.size() > 7) {
        fmt::print("{}", usage(*a.program));
        return 1;
    }
    Perf perf;
    const LogSink log = log_to_stderr(a.log.verbosity);
    a.model.path = a.words[0];
    const std::string prompt = a.words.size() > 1 && !a.words[1].empty() ? a.words[1] : "Hello my name is";
    const int n_parallel = number_word(a, 2, 1, 1, kMaxParallel, "PARALLEL");
    const int n_len = number_word(a, 3, 32, 1, kMaxLength, "LEN");
    a.context.n_threads = number_word(a, 4, 0, -1, 4096, "N_THREAD");
    if (a.words.size() > 5 && a.log.verbosity >= 2)
        say("warning: this build has no GPU; ignored: VRAM_BUDGET{}\n", a.words.size() > 6 ? ", NGL" : "");
    a.sampling.seed = 1234;
    a.sampling.top_k = 40;
    a.sampling.top_p = 0.9f;
    a.sampling.temperature = 0.4f;
    a.sampling.min_p = 0;
    a.sampling.repeat_penalty = 1;

    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const auto n_prompt = tokenizer.encode(prompt, {.add_special = true, .parse_special = true}).size();
    a.context.n_ctx = std::max(n_len, static_cast<int>(n_prompt) + 4);
    plan::Budget b = budget(a, *model, log);
    b.n_seq = n_parallel;
    const std::vector<int32_t> tokens = first_tokens(tokenizer, prompt, b.n_ctx);
    auto engine = engine::Engine::load(model, announced(plan::solve(*model, b), log), engine_options(a), log);
    perf.load_s = perf.total.seconds();
    say("\nmain: n_len = {}, n_ctx = {}, n_batch = {}, n_parallel = {}, n_kv_req = {}\n", n_len, b.n_ctx,
               b.n_batch, n_parallel, tokens.size() + static_cast<size_t>(std::max(0, n_len - static_cast<int>(tokens.size()))) * static_cast<size_t>(n_parallel));

    // The prompt is computed once and its cache copied.
    std::vector<engine::BatchToken> batch;
    const Stopwatch prompt_watch;
    for (size_t begin = 0; begin < tokens.size(); begin += static_cast<size_t>(b.n_batch)) {
        batch.clear();
        for (size_t i = begin; i < std::min(begin + static_cast<size_t>(b.n_batch), tokens.size()); ++i)
            batch.push_back({tokens[i], 0, i + 1 == tokens.size()});
        engine.step(batch);
    }
    perf.prompt_s = prompt_watch.seconds();
    perf.n_prompt = static_cast<int64_t>(tokens.size());
    std::vector<Stream> streams;
    for (int i = 0; i < n_parallel; ++i) {
        a.sampling.seed = 1234 + static_cast<uint32_t>(i);  // one seed would give every stream the same text
        if (i > 0) engine.copy(0, i, static_cast<int>(tokens.size()));
        streams.push_back({generate::Sampler(a.sampling, generate::describe_vocab(tokenizer, a.sampling,
                                                                                  model->spec.n_vocab, b.n_ctx)),
                           prompt, 0});
        for (const int32_t t : tokens) streams.back().sampler.accept(t);
    }

    engine.reset_counts();
    const Stopwatch decode_watch;
    for (int n_cur = static_cast<int>(tokens.size()); n_cur <= n_len; ++n_cur) {
        batch.clear();
        for (size_t i = 0; i < streams.size(); ++i) {
            Stream& s = streams[i];
            if (s.place < 0) continue;
            const int32_t id = s.sampler.sample(engine.logits(static_cast<size_t>(s.place)));
            if (tokenizer.is_end_of_generation(id) || n_cur == n_len) {
                s.place = -1;
                say("main: stream {} finished at n_cur = {}\n", i, n_cur);
                continue;
            }
            s.text += tokenizer.piece(id);
            s.sampler.accept(id);
            s.place = static_cast<int>(batch.size());
            batch.push_back({id, static_cast<int>(i), true});
        }
        if (batch.empty()) break;
        engine.step(batch);
        perf.n_decode += static_cast<int64_t>(batch.size());
    }
    perf.decode_s = decode_watch.seconds();
    perf.decode_bytes = engine.counts().weight_bytes;

    for (size_t i = 0; i < streams.size(); ++i) fmt::print("sequence {}:\n\n{}\n\n", i, streams[i].text);
    std::fflush(stdout);
    say("main: decoded {} tokens in {:.2f} s, speed: {:.2f} t/s\n", perf.n_decode, perf.decode_s,
               static_cast<double>(perf.n_decode) / std::max(perf.decode_s, 1e-9));
    print_timings(*a.program, perf);
    print_summary(perf, engine);
    return 0;
}

}  // namespace powerinfer::tools
