#include "generate/chat_template.h"

#include "base/error.h"
#include "generate/jinja_eval.h"

namespace powerinfer::generate {

namespace {

constexpr size_t kMaxSource = size_t{1} << 20;

constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

jinja::Value object_from(std::string_view json, std::string_view what) {
    jinja::Value value = jinja::from_json(json, what);
    if (!value.is_dict())
        fail(ErrorKind::bad_argument, "{} must be a JSON object, not a {}.", what, jinja::type_name(value));
    return value;
}

jinja::Value message_value(const ChatMessage& message) {
    jinja::Value value = jinja::make_dict();
    value.dict().set("role", jinja::Value(message.role));
    value.dict().set("content", message.content ? jinja::Value(*message.content) : jinja::Value());
    if (message.fields_json.empty()) return value;
    const jinja::Value fields = object_from(message.fields_json, "The fields of a message");
    for (const auto& [key, field] : fields.dict().items) value.dict().set(key.string(), field);
    return value;
}

}  // namespace

struct ChatTemplate::Parsed {
    jinja::Block block;
};

ChatTemplate::ChatTemplate(std::string source) : source_(std::move(source)) {
    if (source_.size() > kMaxSource)
        fail(ErrorKind::bad_argument, "The chat template has {} bytes; up to {} are accepted.",
             source_.size(), kMaxSource);
    parsed_ = std::make_unique<Parsed>(Parsed{jinja::parse(source_)});
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const ChatInputs& inputs) const {
    jinja::Value variables = jinja::make_dict();
    const auto set = [&](std::string_view name, jinja::Value value) {
        variables.dict().set(name, std::move(value));
    };
    std::vector<jinja::Value> messages;
    for (const ChatMessage& message : inputs.messages) messages.push_back(message_value(message));
    set("messages", jinja::make_list(std::move(messages)));
    set("tools", inputs.tools_json.empty() ? jinja::Value()
                                           : jinja::from_json(inputs.tools_json, "The list of tools"));
    set("add_generation_prompt", jinja::Value(inputs.add_generation_prompt));
    set("bos_token", jinja::Value(inputs.bos_token));
    set("eos_token", jinja::Value(inputs.eos_token));
    if (!inputs.variables_json.empty()) {
        const jinja::Value more = object_from(inputs.variables_json, "The object of template variables");
        for (const auto& [key, value] : more.dict().items) set(key.string(), value);
    }
    return jinja::Evaluator().run(parsed_->block, variables);
}

std::optional<std::string_view> named_chat_template(std::string_view name) {
    if (name == "chatml") return kChatMl;
    return std::nullopt;
}

ChatTemplate choose_chat_template(std::string_view wanted, const std::optional<std::string>& in_file) {
    const bool is_source =
        wanted.find("{{") != std::string_view::npos || wanted.find("{%") != std::string_view::npos;
    if (is_source) return ChatTemplate(std::string(wanted));
    if (!wanted.empty()) {
        const auto named = named_chat_template(wanted);
        if (!named)
            fail(ErrorKind::bad_argument,
                 "There is no chat template named '{}'; known is chatml, and a whole Jinja template may be "
                 "given.",
                 wanted);
        return ChatTemplate(std::string(*named));
    }
    if (in_file && !in_file->empty()) return ChatTemplate(*in_file);
    fail(ErrorKind::bad_argument,
         "The model file has no chat template (key tokenizer.chat_template), so it may not be made for "
         "conversations; "
         "choose the template chatml, or give one, to chat all the same.");
}

}  // namespace powerinfer::generate
