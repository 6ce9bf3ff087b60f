// Help texts, made from the option table.
#include <algorithm>

#include "base/error.h"
#include "tools/commands.h"
#include "tools/options.h"

namespace powerinfer::tools {
namespace {

constexpr size_t kHelpColumn = 34, kWidth = 110;

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    return all;
}

/// Breaks `text` at spaces so that it fills the space right of the help column.
std::string wrapped(const std::string& text) {
    std::string out, line;
    size_t begin = 0;
    while (begin < text.size()) {
        const size_t end = std::min(text.find(' ', begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        if (!line.empty() && kHelpColumn + line.size() + 1 + word.size() > kWidth) {
            out += line + "\n" + std::string(kHelpColumn, ' ');
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
        begin = end + 1;
    }
    return out + line;
}

}  // namespace

std::string usage(const Option& option, const Arguments& defaults) {
    std::string head = joined(option.names);
    if (!option.value.empty()) head += option.takes == Takes::maybe ? " [" + option.value + "]" : " " + option.value;
    if (!option.off_names.empty()) head += ", " + joined(option.off_names);
    std::string help = option.help;
    const std::string value = option.show ? option.show(defaults) : "";
    const bool is_plain_flag = option.takes == Takes::nothing && option.off_names.empty();
    if (!value.empty() && !(is_plain_flag && value == "off")) help += fmt::format(" (default: {})", value);
    if (!option.environment.empty()) help += fmt::format(" [{}]", option.environment);
    const bool fits = head.size() + 2 <= kHelpColumn;
    return head + (fits ? std::string(kHelpColumn - head.size(), ' ') : "\n" + std::string(kHelpColumn, ' ')) +
           wrapped(help) + "\n";
}

std::string usage(const Program& program) {
    const bool own = program.habits == Habits::own;
    std::string text = fmt::format("usage: {}{} {}\n{}\n", own ? "powerinfer " : "", program.name, program.usage,
                                   program.about);
    const Arguments start = defaults(program);
    std::string family;
    for (const Option& o : option_table()) {
        if (!contains(o.commands, program.command)) continue;
        if (o.family != family) {
            family = o.family;
            text += "\n" + family + "\n";
        }
        text += usage(o, start);
    }
    if (program.command == Command::quantize) text.append("\n").append(quantize_types());
    return text;
}

}  // namespace powerinfer::tools
