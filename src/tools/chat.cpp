#include "tools/chat.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "tools/interrupt.h"
#include "tools/line_editor.h"
#include "tools/numbers.h"
#include "tools/option_rows.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

using generate::ChatMessage;
using generate::FinishReason;

constexpr const char* kHelp =
    "  /help            this text\n"
    "  /exit            end (also Ctrl-D)\n"
    "  /clear           forget the conversation\n"
    "  /regen           answer once more\n"
    "  /system TEXT     what the model is told before the conversation; starts over\n"
    "  /read FILE       put the text of a file before the next message\n"
    "  /glob PATTERN    the same with every file that a pattern such as src/*.h names\n"
    "  A line that ends in \\ goes on in the next. Ctrl-C stops an answer.\n";

/// The files that a pattern names, in the order of their names.
std::vector<std::string> matching_files(const std::string& pattern) {
    glob_t found = {};
    std::vector<std::string> files;
    if (::glob(pattern.c_str(), GLOB_MARK | GLOB_TILDE, nullptr, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    std::erase_if(files, [](const std::string& name) { return name.ends_with('/'); });
    return files;
}

std::optional<std::string> template_of(const formats::GgufFile& file) {
    if (!file.has("tokenizer.chat_template")) return std::nullopt;
    return file.get_string("tokenizer.chat_template");
}

bool wants_conversation(const Arguments& a, bool has_template) {
    if (a.console.conversation != Switch::automatic) return a.console.conversation == Switch::on;
    if (is_interactive(a) || !a.console.in_prefix.empty() || !a.console.in_suffix.empty()) return false;
    if (a.program->habits == Habits::powerinfer) return false;
    return a.program->command == Command::chat || (a.program->habits == Habits::llama && has_template);
}

class Conversation {
  public:
    Conversation(const Stage& s, const generate::ChatTemplate& chat_template)
        : s_(s),
          template_(chat_template),
          editor_(history_path("chat"), s.a.console.simple_io),
          system_(s.texts.system),
          options_(s.options) {
        options_.stop.keep_match = false;
        options_.context_shift = false;
        options_.should_stop = [this] { return watch_.take(); };
    }

    int talk() {
        const bool on_terminal = ::isatty(STDIN_FILENO) != 0;
        if (on_terminal && s_.a.log.verbosity >= 1) say("\n{}\n", kHelp);
        if (const std::string& first = s_.texts.prompt; !first.empty()) {
            if (s_.a.console.display_prompt) print_now("\n> " + first + "\n");
            ask(first);
            if (s_.a.console.single_turn) return finish();
        }
        for (std::string entry; read(entry) == LineResult::line;) {
            if (entry.find_first_not_of(" \t") == std::string::npos) continue;
            editor_.remember(entry);
            if (entry[0] == '/' && entry != "/regen") {
                if (!obey(entry)) break;
                continue;
            }
            if (entry == "/regen") again();
            else ask(entry);
            if (s_.a.console.single_turn) break;
        }
        return finish();
    }

  private:
    /// One message: lines joined while they end in a backslash. Ctrl-C at the prompt drops what was typed, and ends
    /// the programs whose users know it so.
    LineResult read(std::string& entry) {
        entry.clear();
        for (std::string line;;) {
            const char* prompt = !::isatty(STDOUT_FILENO) ? "" : entry.empty() ? "\n> " : "  ";
            const LineResult result = editor_.read(prompt, line);
            if (result == LineResult::interrupted) {
                watch_.take();
                print_now("\n");
                if (s_.a.program->habits != Habits::own) {
                    status_ = kInterruptedStatus;
                    return LineResult::end_of_input;
                }
                if (entry.empty() && was_interrupted_) return LineResult::end_of_input;
                was_interrupted_ = true;
                say("(Ctrl-C once more, Ctrl-D or /exit ends)\n");
                entry.clear();
                continue;
            }
            was_interrupted_ = false;
            if (result == LineResult::end_of_input) return result;
            const bool more = line.ends_with('\\');
            if (more) line.back() = '\n';
            entry += line;
            if (!more) return LineResult::line;
        }
    }

    /// Commands. False ends the conversation.
    bool obey(const std::string& entry) {
        const size_t space = std::min(entry.find(' '), entry.size());
        const std::string command = entry.substr(0, space);
        const std::string rest = space < entry.size() ? entry.substr(space + 1) : "";
        if (command == "/exit" || command == "/quit" || command == "/bye") return false;
        if (command == "/help") {
            say("{}", kHelp);
        } else if (command == "/clear") {
            messages_.clear();
            attached_.clear();
            say("The conversation is forgotten.\n");
        } else if (command == "/system") {
            system_ = rest;
            messages_.clear();
            say("The conversation starts over.\n");
        } else if (command == "/read") {
            attach(rest);
        } else if (command == "/glob") {
            const std::vector<std::string> files = matching_files(rest);
            for (const std::string& file : files) attach(file);
            if (files.empty()) say("No file is called '{}'.\n", rest);
        } else {
            say("There is no command {}; /help lists them.\n", command);
        }
        return true;
    }

    void attach(const std::string& file) {
        try {
            if (file == "-") fail(ErrorKind::bad_argument, "standard input is where the messages come from; name a file");
            const std::string text = read_text_file(file);
            attached_ += text + "\n";
            say("{} bytes of '{}' go before the next message.\n", text.size(), file);
        } catch (const Error& e) {
            say("error: {}\n", e.what());
        }
    }

    void ask(const std::string& text) {
        messages_.push_back({.role = "user", .content = attached_ + text, .fields_json = ""});
        attached_.clear();
        answer();
    }

    void again() {
        if (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
        if (messages_.empty()) say("There is nothing to answer yet.\n");
        else answer();
    }

    std::vector<int32_t> conversation_tokens() const {
        generate::ChatInputs inputs;
        if (system_ && !system_->empty())
            inputs.messages.push_back({.role = "system", .content = *system_, .fields_json = ""});
        inputs.messages.insert(inputs.messages.end(), messages_.begin(), messages_.end());
        const tokenizer::SpecialTokens& special = s_.tokenizer.special();
        if (special.bos != tokenizer::kNoToken) inputs.bos_token = s_.tokenizer.text(special.bos);
        if (special.eos != tokenizer::kNoToken) inputs.eos_token = s_.tokenizer.text(special.eos);
        const std::string text = template_.render(inputs);
        const bool has_bos = !inputs.bos_token.empty() && text.starts_with(inputs.bos_token);
        std::vector<int32_t> tokens = s_.tokenizer.encode(text, {.add_special = !has_bos, .parse_special = true});
        if (special.add_eos && tokens.size() > 1 && tokens.back() == special.eos) tokens.pop_back();
        return tokens;
    }

    /// Drops the oldest exchanges until a quarter of the context is left for the answer.
    std::vector<int32_t> fitting_tokens() {
        const auto room = static_cast<size_t>(s_.engine.plan().n_ctx) * 3 / 4;
        std::vector<int32_t> tokens = conversation_tokens();
        while (tokens.size() > room && messages_.size() > 2) {
            messages_.erase(messages_.begin(), messages_.begin() + 2);
            say("(the oldest exchange is forgotten: the context of {} tokens is full)\n",
                       s_.engine.plan().n_ctx);
            tokens = conversation_tokens();
        }
        return tokens;
    }

    /// Streams the answer to the last message.
    void answer() {
        const std::vector<int32_t> tokens = fitting_tokens();
        if (static_cast<int64_t>(tokens.size()) >= s_.engine.plan().n_ctx) {
            say("The message is too long: {} tokens, the context has {}.\n", tokens.size(),
                       s_.engine.plan().n_ctx);
            messages_.pop_back();
            return;
        }
        if (s_.a.console.verbose_prompt) print_tokens(s_.tokenizer, tokens);
        std::string text;
        watch_.take();
        const generate::Answer answer = s_.session.generate(tokens, options_, s_.sampler, [&](std::string_view piece) {
            text += piece;
            print_now(piece);
        });
        s_.perf.add(answer.timings);
        if (answer.reason != FinishReason::cancelled) watch_.take();  // it was meant for this answer
        print_now("\n");
        if (answer.reason == FinishReason::cancelled) say("(stopped)\n");
        if (answer.reason == FinishReason::context_full) say("(the context is full)\n");
        messages_.push_back({.role = "assistant", .content = text, .fields_json = ""});
    }

    int finish() const {
        if (s_.a.program->habits == Habits::llama && s_.a.program->command == Command::chat && s_.a.console.show_timings) {
            const Perf& p = s_.perf;
            say("\n[ Prompt: {:.1f} t/s | Generation: {:.1f} t/s ]\n",
                       static_cast<double>(p.n_prompt) / std::max(p.prompt_s, 1e-9),
                       static_cast<double>(p.n_decode) / std::max(p.decode_s, 1e-9));
        }
        return status_;
    }

    const Stage& s_;
    InterruptWatch watch_;
    const generate::ChatTemplate& template_;
    LineEditor editor_;
    std::optional<std::string> system_;
    std::vector<ChatMessage> messages_;
    std::string attached_;
    generate::GenerateOptions options_;
    bool was_interrupted_ = false;
    int status_ = 0;
};

}  // namespace

std::optional<generate::ChatTemplate> conversation_template(const Arguments& a, const Texts& texts,
                                                            const formats::GgufFile& file, const LogSink& log) {
    const std::optional<std::string> in_file = template_of(file);
    if (!wants_conversation(a, in_file || !texts.chat_template.empty())) return std::nullopt;
    if (in_file || !texts.chat_template.empty() || a.program->habits != Habits::llama)
        return generate::choose_chat_template(texts.chat_template, in_file);
    powerinfer::log(log, LogLevel::warning, "'{}' has no chat template; chatml is used", file.path());
    return generate::choose_chat_template("chatml", in_file);
}

int converse(const Stage& s, const generate::ChatTemplate& chat_template) { return Conversation(s, chat_template).talk(); }

}  // namespace powerinfer::tools
