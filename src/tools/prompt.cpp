#include "tools/prompt.h"

#include <cstdio>
#include <random>

#include "base/error.h"
#include "tools/numbers.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

std::string random_word() {
    static constexpr const char* kWords[] = {"So", "Once upon a time", "When", "The", "After",
                                             "If", "import",           "He",   "She", "They"};
    return kWords[std::random_device{}() % std::size(kWords)];
}

std::string prompt_text(const Arguments& a) {
    if (!a.prompt.file.empty()) {
        std::string text = read_text_file(a.prompt.file);
        if (a.prompt.binary) return text;
        if (text.ends_with('\n')) text.pop_back();
        return command_line_text(a, text);
    }
    if (a.prompt.text) return command_line_text(a, *a.prompt.text);
    return a.prompt.random ? random_word() : "";
}

}  // namespace

std::string command_line_text(const Arguments& a, const std::string& text) {
    return a.prompt.escape ? unescape(text) : text;
}

Texts read_texts(const Arguments& a) {
    Texts t;
    t.prompt = prompt_text(a);
    if (!a.prompt.system_file.empty()) t.system = read_text_file(a.prompt.system_file);
    else if (a.prompt.system) t.system = command_line_text(a, *a.prompt.system);
    const ConsoleArgs& c = a.console;
    t.chat_template = c.chat_template_file.empty() ? c.chat_template : read_text_file(c.chat_template_file);
    return t;
}

std::vector<int32_t> first_tokens(const tokenizer::Tokenizer& tokenizer, const std::string& text, int n_ctx) {
    const tokenizer::SpecialTokens& special = tokenizer.special();
    std::vector<int32_t> tokens = tokenizer.encode(text, {.add_special = true, .parse_special = true});
    if (special.add_eos && tokens.size() > 1 && tokens.back() == special.eos) tokens.pop_back();  // it is to go on
    if (tokens.empty()) tokens.push_back(special.bos != tokenizer::kNoToken ? special.bos : special.eos);
    if (tokens[0] == tokenizer::kNoToken)
        fail(ErrorKind::bad_argument, "a prompt is needed: the vocabulary has no token to start from");
    if (static_cast<int64_t>(tokens.size()) > n_ctx - 4)
        fail(ErrorKind::bad_argument, "the prompt is too long ({} tokens, at most {} fit a context of {}); --ctx-size gives more",
             tokens.size(), n_ctx - 4, n_ctx);
    return tokens;
}

void print_tokens(const tokenizer::Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
    say("number of tokens in prompt = {}\n", tokens.size());
    for (const int32_t id : tokens) say("{:6d} -> '{}'\n", id, tokenizer.piece(id, true));
    say("\n");
}

}  // namespace powerinfer::tools
