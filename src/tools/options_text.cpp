// Options about the prompt, the terminal, conversations and what is printed.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

constexpr CommandSet kAll = kModelCommands | kLearnCommands | Command::convert | Command::synth | Command::plan | Command::quantize | Command::inspect |
                            Command::tokenize | Command::bench | Command::batched;
constexpr CommandSet kWithPrompt = kModelCommands | Command::tokenize;

Option log_disable() {
    return custom("--log-disable", "", "print no messages but errors",
                  [](Arguments& a, const std::string&) { a.log.verbosity = 1; });
}

Option verbose() {
    return custom("-v, --verbose, --log-verbose", "", "print all messages",
                  [](Arguments& a, const std::string&) { a.log.verbosity = 5; });
}

Option conversation() {
    Option o = custom("-cnv, --conversation", "", "talk, with the file's chat template (default: if it has one)",
                      [](Arguments& a, const std::string& word) {
                          a.console.conversation = word == "on" ? Switch::on : Switch::off;
                      });
    o.off_names = {"-no-cnv", "--no-conversation"};
    return o;
}

}  // namespace

std::vector<Option> text_options() {
    const CommandSet text_commands = Command::run | Command::chat;
    std::vector<Option> rows = {
        custom("-h, --help, --usage", "", "print this text",
               [](Arguments& a, const std::string&) { a.help = true; })
            .in(kAll),
        custom("--version", "", "print version, instruction sets and libraries",
               [](Arguments& a, const std::string&) { a.version = true; })
            .in(kAll),
        verbose().in(kAll),
        integer("-lv, --verbosity, --log-verbosity", "N", FIELD(log.verbosity), 0, 100,
                "0 no messages, 1 errors, 2 warnings, 3 information, 4 and more everything")
            .env("LLAMA_LOG_VERBOSITY").in(kAll),
        log_disable().in(kAll),
        text("--log-file", "FILE", FIELD(log.file), "write messages into this file too").in(kAll),
        flag("--log-append", "", FIELD(log.append), "keep what the log file holds already").in(kAll),
        flag("--perf", "--no-perf", FIELD(log.perf), "print timings at the end").env("LLAMA_ARG_PERF",
                                                                                     "LLAMA_ARG_NO_PERF"),
        flag("--layers", "", FIELD(log.layers), "print the share of active neurons of every layer at the end"),

        text("-p, --prompt", "TEXT", FIELD(prompt.text), "text to go on from").in(kWithPrompt),
        text("-f, --file", "FILE", FIELD(prompt.file), "read the text from a file, - for standard input")
            .in(kWithPrompt | kLearnCommands),
        custom("-bf, --binary-file", "FILE", "the same, every byte as it is",
               [](Arguments& a, const std::string& word) {
                   a.prompt.file = word;
                   a.prompt.binary = true;
               }),
        flag("-e, --escape", "--no-escape", FIELD(prompt.escape),
             R"(read \n \r \t \' \" \\ \xHH in texts of the command line as what they stand for)")
            .in(kWithPrompt),
        integer("-n, --predict, --n-predict", "N", FIELD(prompt.n_predict), -2, kAnyInt,
                "tokens to make; -1 = no limit, -2 = until the context is full")
            .env("LLAMA_ARG_N_PREDICT"),
        text("--prompt-cache", "FILE", FIELD(prompt.cache_file),
             "keep what was computed for the prompt in this file, and take it from there the next time")
            .in(text_commands),
        flag("--prompt-cache-all", "", FIELD(prompt.cache_all), "keep the answer too; not in interactive modes")
            .in(text_commands),
        flag("--prompt-cache-ro", "", FIELD(prompt.cache_read_only), "take from the file, never write it")
            .in(text_commands),
        flag("--random-prompt", "", FIELD(prompt.random), "start from a random word").in(text_commands),
        text("-sys, --system-prompt", "TEXT", FIELD(prompt.system), "what the model is told before a conversation")
            .in(text_commands),
        text("-sysf, --system-prompt-file", "FILE", FIELD(prompt.system_file), "the same from a file")
            .in(text_commands),

        flag("-i, --interactive", "", FIELD(console.interactive),
             "wait for input after a reverse prompt and after Ctrl-C")
            .in(text_commands),
        flag("-if, --interactive-first", "", FIELD(console.interactive_first), "wait for input at once")
            .in(text_commands),
        flag("-ins, --instruct", "", FIELD(console.instruct), "wrap input as ### Instruction and ### Response")
            .in(text_commands),
        texts("-r, --reverse-prompt", "TEXT", FIELD(console.reverse_prompts),
              "stop at this text and give control back; may be given several times")
            .in(text_commands),
        text("--in-prefix", "TEXT", FIELD(console.in_prefix), "put before input").in(text_commands),
        text("--in-suffix", "TEXT", FIELD(console.in_suffix), "put after input").in(text_commands),
        flag("--in-prefix-bos", "", FIELD(console.in_prefix_bos), "put the start token before the prefix")
            .in(text_commands),
        flag("-mli, --multiline-input", "", FIELD(console.multiline), R"(a line ends input only with \ or /)")
            .in(text_commands),
        flag("--simple-io", "", FIELD(console.simple_io), "no line editing and no colours").in(text_commands),
        maybe_switch("-co, --color", "", FIELD(console.color), "colours for prompt and input").in(text_commands),
        flag("-sp, --special", "", FIELD(console.show_special), "print control tokens").in(text_commands),
        flag("--display-prompt", "--no-display-prompt", FIELD(console.display_prompt),
             "print the prompt before the text")
            .in(text_commands),
        flag("--verbose-prompt", "", FIELD(console.verbose_prompt), "print the tokens of the prompt first")
            .in(text_commands),
        conversation().in(text_commands),
        flag("-st, --single-turn", "", FIELD(console.single_turn), "end after one answer").in(text_commands),
        flag("--show-timings", "--no-show-timings", FIELD(console.show_timings),
             "print the speeds after a conversation (llama-cli)")
            .in(text_commands),
        text("--chat-template", "NAME|TEMPLATE", FIELD(console.chat_template),
             "chat template (default: that of the file)")
            .env("LLAMA_ARG_CHAT_TEMPLATE").in(text_commands),
        text("--chat-template-file", "FILE", FIELD(console.chat_template_file), "chat template from a file")
            .env("LLAMA_ARG_CHAT_TEMPLATE_FILE").in(text_commands),
    };
    for (Option& o : rows) {
        o.family = "Text";
        if (o.commands == 0) o.commands = kModelCommands;
    }
    return rows;
}

}  // namespace powerinfer::tools
