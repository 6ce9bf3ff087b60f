// A conversation to the prompt text that a model was trained on, by the template that comes with the model.
// Not for tokens: the text is encoded with parse_special afterwards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::generate {

struct ChatMessage {
    std::string role;                    ///< "system", "user", "assistant", "tool", ...
    std::optional<std::string> content;  ///< nothing: null, as beside tool calls
    std::string
        fields_json;  ///< further fields as a JSON object (tool_calls, name, parts of content), or empty
};

struct ChatInputs {
    std::vector<ChatMessage> messages;
    bool add_generation_prompt = true;
    std::string bos_token,
        eos_token;  ///< as text; what a template writes itself must not be added again by the tokenizer
    std::string tools_json;      ///< a JSON array, or empty
    std::string variables_json;  ///< a JSON object of further variables (enable_thinking, ...), or empty
};

/// Immutable after parsing; render() may be called from several threads at once.
class ChatTemplate {
  public:
    /// Throws Error{bad_argument} naming the line of what is wrong.
    explicit ChatTemplate(std::string source);
    ~ChatTemplate();
    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;

    /// Throws Error{bad_argument}: the template's own refusal (a role it does not take), or the line that
    /// failed. Work, nesting and size are bounded.
    std::string render(const ChatInputs& inputs) const;

    const std::string& source() const { return source_; }

  private:
    struct Parsed;
    std::string source_;
    std::unique_ptr<const Parsed> parsed_;
};

/// The source of a template that has a name of its own, or nothing for an unknown name.
std::optional<std::string_view> named_chat_template(std::string_view name);

/// wanted: empty, a name ("chatml") or a whole template; in_file: the template of the model file, if it has
/// one. Throws Error{bad_argument} when a name is unknown, or when there is no template at all: then the
/// message offers chatml, because a model without a template was most likely not trained for conversations.
ChatTemplate choose_chat_template(std::string_view wanted, const std::optional<std::string>& in_file);

}  // namespace powerinfer::generate
