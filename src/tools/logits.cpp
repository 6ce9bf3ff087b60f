// `logits`: what the model says after every token of a given sequence, for comparison with other engines.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "base/file_writer.h"
#include "formats/safetensors.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/perf.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

std::vector<int32_t> read_ids(const std::string& path) {
    const std::string text = read_text_file(path);
    std::vector<int32_t> ids;
    for (size_t begin = 0; (begin = text.find_first_not_of(" \t\r\n,[]", begin)) != std::string::npos;) {
        const size_t end = std::min(text.find_first_of(" \t\r\n,[]", begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        try {
            ids.push_back(static_cast<int32_t>(parse_integer(word, 0, INT32_MAX)));
        } catch (const Error& e) {
            fail(ErrorKind::bad_argument, "--ids-file '{}', entry {}: {}", path, ids.size() + 1, e.what());
        }
        begin = end;
    }
    if (ids.empty()) fail(ErrorKind::bad_argument, "--ids-file '{}' holds no token ids", path);
    return ids;
}

}  // namespace

int logits(const Arguments& a) {
    require_no_words(a);
    if (a.output.path.empty()) fail(ErrorKind::bad_argument, "--output is required");
    if (a.output.ids_file.empty()) fail(ErrorKind::bad_argument, "--ids-file is required");
    const LogSink log = log_to_stderr(a.log.verbosity);
    const std::vector<int32_t> ids = read_ids(a.output.ids_file);
    { const FileWriter can_be_written(a.output.path); }

    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    plan::Budget b = budget(a, *model, log);
    b.n_ctx = std::max(static_cast<int>(ids.size()), 8);
    auto engine = engine::Engine::load(model, announced(plan::solve(*model, b), log), engine_options(a), log);

    const auto n_vocab = static_cast<size_t>(model->spec.n_vocab);
    std::vector<float> all;
    all.reserve(ids.size() * n_vocab);
    const auto n_batch = static_cast<size_t>(engine.plan().n_batch);
    std::vector<engine::BatchToken> batch;
    for (size_t begin = 0; begin < ids.size(); begin += n_batch) {
        batch.clear();
        for (size_t i = begin; i < std::min(begin + n_batch, ids.size()); ++i)
            batch.push_back({.id = ids[i], .seq = 0, .want_logits = true});
        engine.step(batch);
        for (size_t i = 0; i < batch.size(); ++i) {
            const std::span<const float> row = engine.logits(i);
            all.insert(all.end(), row.begin(), row.end());
        }
    }
    formats::write_safetensors(a.output.path, {{.name = "logits",
                                                .dtype = "F32",
                                                .shape = {static_cast<int64_t>(ids.size()), model->spec.n_vocab},
                                                .data = all.data(),
                                                .size = all.size() * sizeof(float)}});
    say("powerinfer: logits of {} tokens, active share {:.1f} %, hash {:016x}\n", ids.size(),
               100 * engine.counts().active_share(), engine.logits_hash());
    if (a.log.layers) print_layers(engine.counts());
    return 0;
}

}  // namespace powerinfer::tools
