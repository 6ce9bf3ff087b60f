// `predictor`: makes the activation predictors of a model, or takes those of a published one.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file_writer.h"
#include "convert/predictor_import.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/numbers.h"
#include "tools/predictors.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualTokens = 4096, kUsualTrainingTokens = 65536;
constexpr size_t kMostCheckTokens = 8192;

void say_size(const std::string& path, const sparsity::PredictorSet& set) {
    uint64_t bytes = 0;
    for (const sparsity::LayerPredictor& layer : set.layers) bytes += layer.n_bytes();
    say("powerinfer: predictors of {} layers -> {}, {}\n", set.n_layer(), path, size_text(bytes));
}

int import(const Arguments& a, const LogSink& log) {
    if (a.words.size() != 2)
        fail(ErrorKind::bad_argument, "predictor import takes one folder with model_0.pt and so on, {} were given",
             a.words.size() - 1);
    const auto model = load_model(open_file(a, log), a, log);
    const sparsity::PredictorSet set = convert::import_predictors(a.words[1], *model, a.predictor.type);
    sparsity::write_predictors(a.output.path, set);
    say_size(a.output.path, set);
    return 0;
}

}  // namespace

learn::Maker maker_from_name(const std::string& word) {
    for (const learn::Maker maker : {learn::Maker::svd, learn::Maker::train, learn::Maker::sign}) {
        if (word == learn::name(maker)) return maker;
    }
    fail(ErrorKind::bad_argument, "'{}' makes no predictors, expected svd, train or sign", word);
}

LearningText learning_text(const Arguments& a, const std::string& words, const model::ModelSpec& spec,
                           const tokenizer::Tokenizer& tokenizer) {
    LearningText t;
    t.ids = tokenizer.encode(words, {.add_special = false});
    if (t.ids.empty()) fail(ErrorKind::bad_argument, "'{}' has no tokens, expected a text", a.prompt.file);
    const auto wanted = static_cast<size_t>(a.learn.n_tokens);
    // A text that is used up leaves its last quarter.
    const size_t n = std::min(wanted, std::max<size_t>(t.ids.size() / 4 * 3, 1));
    const size_t n_check = std::min({t.ids.size() - n, kMostCheckTokens, std::max<size_t>(n, 2048)});
    t.check_ids.assign(t.ids.end() - static_cast<std::ptrdiff_t>(n_check), t.ids.end());
    t.ids.resize(n);
    t.text = windows_to_learn(a, t.ids, spec, tokenizer);
    t.check = windows_to_learn(a, t.check_ids, spec, tokenizer);
    return t;
}

sparsity::PredictorSet made_predictors(const Arguments& a, learn::Maker maker, std::shared_ptr<const model::Model> model,
                                       const LearningText& text, const LogSink& log, const Progress& progress) {
    learn::MakerOptions options;
    options.maker = maker;
    options.target = learn::target_from_text(a.predictor.target);
    options.n_most_rank = a.predictor.rank;
    options.fixed_rank = a.predictor.rank > 0;
    options.type = a.predictor.type;
    options.original_form = a.predictor.original_form;
    options.n_epochs = a.predictor.n_epochs;
    options.n_threads = std::max(a.context.n_threads, 0);
    options.log = log;
    options.progress = progress;
    options.folder = a.predictor.keep.empty() ? a.output.path + ".recording" : a.predictor.keep;
    struct Remover {
        std::string folder;
        ~Remover() {
            std::error_code ignored;
            if (!folder.empty()) fs::remove_all(folder, ignored);
        }
    };
    // A folder that was there before is somebody's.
    const Remover remover{a.predictor.keep.empty() && !fs::exists(options.folder) ? options.folder : ""};
    return learn::make_predictors(std::move(model), text.text, text.check, options);
}

int predictor(const Arguments& a) {
    const LogSink log = log_to_stderr(a.log.verbosity);
    if (a.words.empty())
        fail(ErrorKind::bad_argument, "predictor needs one of: svd, train, sign, import");
    if (a.output.path.empty()) fail(ErrorKind::bad_argument, "--output is required");
    {
        const FileWriter can_be_written(a.output.path);
    }
    if (a.words[0] == "import") return import(a, log);
    const learn::Maker maker = maker_from_name(a.words[0]);
    if (a.words.size() > 1) fail(ErrorKind::bad_argument, "'{}' is one word too many", a.words[1]);
    Arguments with_tokens = a;
    if (a.learn.n_tokens == 0)
        with_tokens.learn.n_tokens = maker == learn::Maker::train ? kUsualTrainingTokens : kUsualTokens;
    const std::string words = text_to_learn(a);
    const auto file = open_file(a, log);
    const auto model = load_model(file, a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const LearningText text = learning_text(with_tokens, words, model->spec, tokenizer);
    InterruptWatch watch(Watched::every_end);
    const sparsity::PredictorSet set =
        made_predictors(a, maker, model, text, log, progress_on_terminal(watch, a.log.verbosity));
    sparsity::write_predictors(a.output.path, set);
    say_size(a.output.path, set);
    return 0;
}

}  // namespace powerinfer::tools
