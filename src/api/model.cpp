#include <cmath>

#include "api/handles.h"
#include "api/metadata.h"
#include "formats/gguf.h"
#include "generate/chat_template.h"

namespace powerinfer {
namespace {

std::shared_ptr<const model::Model> open(const std::string& path, const ModelOptions& options) {
    model::LoadOptions load;
    if (!options.activation.empty())
        load.activation = model::activation_from_name(options.activation, "The activation that was asked for");
    if (options.threshold && !std::isfinite(*options.threshold))
        fail(ErrorKind::bad_argument, "The threshold is {}; it must be a finite number.", *options.threshold);
    load.threshold = options.threshold;
    report(options.progress, 0, "opening the model file");
    auto file = std::make_shared<const formats::GgufFile>(formats::GgufFile::open(path));
    report(options.progress, 0.5, "checking the tensors");
    return std::make_shared<const model::Model>(model::load(std::move(file), load, options.log));
}

}  // namespace

const tokenizer::Tokenizer& Model::Impl::vocabulary() const {
    if (!tokenizer)
        fail(ErrorKind::unsupported, "'{}' holds no vocabulary (tokenizer.ggml.model), so it cannot work with text.",
             model->file->path());
    return *tokenizer;
}

Model Model::load(const std::string& path, const ModelOptions& options) {
    auto impl = std::make_shared<Impl>();
    impl->model = open(path, options);
    if (impl->model->file->has("tokenizer.ggml.model")) {
        report(options.progress, 0.75, "reading the vocabulary");
        impl->tokenizer = tokenizer::Tokenizer::load(*impl->model->file, options.log);
    }
    report(options.progress, 1, "model loaded");
    return Model(std::move(impl));
}

Model::Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Model::Model(const Model&) = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(const Model&) = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::string& Model::architecture() const { return impl_->model->spec.architecture; }
const std::string& Model::name() const { return impl_->model->spec.name; }
int Model::n_vocab() const { return impl_->model->spec.n_vocab; }
int Model::n_embd() const { return impl_->model->spec.n_embd; }
int Model::n_layer() const { return impl_->model->spec.n_layer; }
int Model::n_ff() const { return impl_->model->spec.n_ff; }
int Model::n_ctx_train() const { return impl_->model->spec.n_ctx_train; }
uint64_t Model::n_bytes() const { return impl_->model->file->n_bytes(); }
std::string Model::activation() const { return std::string(model::name(impl_->model->spec.activation)); }
bool Model::has_predictors() const { return impl_->model->spec.has_predictors; }
float Model::threshold() const { return impl_->model->spec.predictor.threshold_of(0); }

std::vector<std::string> Model::metadata_keys() const {
    std::vector<std::string> names;
    for (const auto& [key, value] : impl_->model->file->keys()) names.push_back(key);
    return names;
}

std::optional<std::string> Model::metadata(std::string_view key) const {
    const formats::GgufValue* value = impl_->model->file->find(key);
    if (!value) return std::nullopt;
    return api::value_text(*value);
}

bool Model::has_vocabulary() const { return impl_->tokenizer.has_value(); }

std::vector<Token> Model::tokenize(std::string_view text, bool add_special, bool parse_special) const {
    return impl_->vocabulary().encode(text, {.add_special = add_special, .parse_special = parse_special});
}

std::string Model::detokenize(const std::vector<Token>& tokens, bool show_special) const {
    return impl_->vocabulary().decode(tokens, show_special);
}

std::string Model::piece(Token token, bool show_special) const {
    return impl_->vocabulary().piece(token, show_special);
}

bool Model::is_end_of_generation(Token token) const { return impl_->vocabulary().is_end_of_generation(token); }
Token Model::bos() const { return impl_->vocabulary().special().bos; }
Token Model::eos() const { return impl_->vocabulary().special().eos; }
const std::string& Model::chat_template() const { return impl_->vocabulary().chat_template(); }

std::string Model::apply_chat_template(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                                       const std::string& wanted) const {
    const tokenizer::Tokenizer& vocabulary = impl_->vocabulary();
    const tokenizer::SpecialTokens& special = vocabulary.special();
    std::optional<std::string> in_file;
    if (!vocabulary.chat_template().empty()) in_file = vocabulary.chat_template();
    generate::ChatInputs inputs;
    for (const ChatMessage& m : messages) inputs.messages.push_back({m.role, m.content, {}});
    inputs.add_generation_prompt = add_generation_prompt;
    if (special.bos != kNoToken) inputs.bos_token = vocabulary.text(special.bos);
    if (special.eos != kNoToken) inputs.eos_token = vocabulary.text(special.eos);
    std::string text = generate::choose_chat_template(wanted, in_file).render(inputs);
    if (special.add_bos && !inputs.bos_token.empty() && text.rfind(inputs.bos_token, 0) == 0)
        text.erase(0, inputs.bos_token.size());
    return text;
}

}  // namespace powerinfer
