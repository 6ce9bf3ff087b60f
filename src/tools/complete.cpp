// `complete`: a ReLU model becomes a PowerInfer model in one step.
#include "convert/complete.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file_writer.h"
#include "learn/evaluate.h"
#include "learn/evaluation_report.h"
#include "learn/profiler.h"
#include "sparsity/evaluation_record.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/numbers.h"
#include "tools/perf.h"
#include "tools/predictors.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualTokens = 16384, kUsualTrainingTokens = 65536;
// A text that nobody has seen is harder than the one that thresholds are chosen on; this much is no loss to speak of.
constexpr double kUsualLimit = 0.01;

/// A file of this run alone, gone with it.
struct TemporaryFile {
    std::string path;
    ~TemporaryFile() {
        std::error_code ignored;
        fs::remove(path, ignored);
    }
};

/// Measures the file and stores the figures in it.
learn::Evaluation evaluated(const std::string& path, const Arguments& a, const std::vector<int32_t>& ids,
                            sparsity::EvaluationRecord record, const tokenizer::Tokenizer& tokenizer, const Progress& progress) {
    const auto model = std::make_shared<model::Model>(
        model::load(std::make_shared<formats::GgufFile>(formats::GgufFile::open(path))));
    learn::EvaluateOptions options;
    options.budget.n_ctx = std::min(a.context.n_ctx.value_or(0) > 0 ? *a.context.n_ctx : 512, model->spec.n_ctx_train);
    options.budget.mode = sparsity::Mode::predict;
    options.engine = engine_options(a);
    std::vector<int32_t> words;
    if (tokenizer.special().add_bos) words.push_back(tokenizer.special().bos);
    words.insert(words.end(), ids.begin(), ids.end());
    learn::Evaluation result = learn::evaluate(model, words, tokenizer.special(), options, progress);
    result.source = record.text;
    const sparsity::EvaluationRecord figures = result.record(*model);
    const double ratio = record.max_perplexity_ratio;
    record = figures;
    record.max_perplexity_ratio = ratio;
    sparsity::store_evaluation(path, record);
    return result;
}

std::string input_of(const Arguments& a) {
    if (a.words.size() > 1 || (a.words.empty() && a.model.path.empty()) || (!a.words.empty() && !a.model.path.empty()))
        fail(ErrorKind::bad_argument, "complete takes one model file, {} were given",
             a.words.size() + (a.model.path.empty() ? 0 : 1));
    return a.words.empty() ? a.model.path : a.words[0];
}

}  // namespace

int complete_file(const Arguments& given) {
    Arguments a = given;
    a.model.path = input_of(given);
    if (a.output.path.empty()) fail(ErrorKind::bad_argument, "--output is required");
    {
        const FileWriter can_be_written(a.output.path);
    }
    const learn::Maker maker = maker_from_name(a.predictor.maker);
    const learn::Target target = learn::target_from_text(a.predictor.target);
    if (a.learn.n_tokens == 0) a.learn.n_tokens = maker == learn::Maker::train ? kUsualTrainingTokens : kUsualTokens;
    const LogSink log = log_to_stderr(a.log.verbosity);
    const std::string words = text_to_learn(a);
    const std::string other_words = a.predictor.evaluate_on.empty() ? "" : read_text_file(a.predictor.evaluate_on);
    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const LearningText text = learning_text(a, words, model->spec, tokenizer);
    InterruptWatch watch(Watched::every_end);
    const Progress progress = progress_on_terminal(watch, a.log.verbosity);

    const sparsity::PredictorSet set = a.predictor.file.empty() ? made_predictors(a, maker, model, text, log, progress)
                                                                : sparsity::read_predictors(a.predictor.file);
    set.check_fits(*model, a.predictor.file.empty() ? "the predictors" : a.predictor.file);
    Stopwatch watch_profile;
    const auto profile = learn::profile_text(model, text.text, std::max(a.context.n_threads, 0), progress);
    log(LogLevel::info, fmt::format("profiled {} tokens in {:.1f} s", text.ids.size(), watch_profile.seconds()));

    const double limit = target.kind == learn::Target::Kind::perplexity ? std::max(target.value, kUsualLimit) : kUsualLimit;
    sparsity::EvaluationRecord record;
    record.text = fs::path(other_words.empty() ? a.prompt.file : a.predictor.evaluate_on).filename().string();
    record.max_perplexity_ratio = 1 + limit;
    const TemporaryFile unevaluated{a.output.path + ".unevaluated"};
    convert::write_complete(*model, set, profile,
                            {.output = unevaluated.path,
                             .type = a.predictor.model_type,
                             .allow_requantize = a.quantize.allow_requantize,
                             .keys = sparsity::evaluation_keys(record),
                             .n_threads = std::max(a.context.n_threads, 0),
                             .log = log,
                             .progress = progress});
    const std::vector<int32_t> ids =
        other_words.empty() ? text.check_ids : tokenizer.encode(other_words, {.add_special = false});
    const learn::Evaluation result = evaluated(unevaluated.path, a, ids, record, tokenizer, progress);
    fs::rename(unevaluated.path, a.output.path);
    fmt::print("{}", learn::table_of(result));
    const double loss = result.perplexity / result.perplexity_off - 1;
    say("powerinfer: {} -> {}, {}; perplexity {:+.2f} % against everything computed{}\n", a.model.path, a.output.path,
        size_text(fs::file_size(a.output.path)), 100 * loss,
        loss <= limit ? "" : fmt::format(", over the limit of {:.2g} %: --sparsity auto will not use the predictors", 100 * limit));
    return 0;
}

}  // namespace powerinfer::tools
