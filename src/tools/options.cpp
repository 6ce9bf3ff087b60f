#include "tools/options.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

struct Found {
    const Option* option = nullptr;
    bool off = false;
};

/// The row for a word as written, among those of the command.
Found find_exact(std::string_view word, Command command) {
    for (const Option& o : option_table()) {
        if (!contains(o.commands, command)) continue;
        if (std::find(o.names.begin(), o.names.end(), word) != o.names.end()) return {&o, false};
        if (std::find(o.off_names.begin(), o.off_names.end(), word) != o.off_names.end()) return {&o, true};
    }
    return {};
}

Found find_option(std::string word, Command command) {
    if (word.starts_with("--")) std::replace(word.begin(), word.end(), '_', '-');
    if (const Found found = find_exact(word, command); found.option) return found;
    if (word.starts_with("--") || !word.starts_with("-") || word.size() < 3) return {};
    word.insert(0, 1, '-');  // -vram-budget means --vram-budget
    std::replace(word.begin(), word.end(), '_', '-');
    return find_exact(word, command);
}

UsageError unknown(const Program& program, const std::string& word) {
    return {program.habits == Habits::powerinfer ? "error: unknown argument: " + word
                                                 : "error: invalid argument: " + word};
}

UsageError bad_value(const Program& program, const std::string& word, const std::string& why, const Option* o) {
    if (program.habits == Habits::powerinfer)
        return {fmt::format("error: invalid parameter for argument: {} ({})", word, why), o};
    return {fmt::format("error while handling argument \"{}\": {}", word, why), o};
}

/// A variable of the environment that turns something on or off.
std::string switch_word(const std::string& text) {
    for (const char* yes : {"1", "true", "on", "enabled"})
        if (text == yes) return "on";
    for (const char* no : {"0", "false", "off", "disabled"})
        if (text == no) return "off";
    fail(ErrorKind::bad_argument, "'{}' is neither on (1, true, on, enabled) nor off (0, false, off, disabled)", text);
}

/// Returns which options the environment set, with the variable's name.
std::map<const Option*, std::string> read_environment(const Program& program, const Environment& environment,
                                                      Arguments& a) {
    std::map<const Option*, std::string> from;
    if (!environment) return from;
    for (const Option& o : option_table()) {
        if (!contains(o.commands, program.command)) continue;
        // The programs of 2023 knew only variables of their own engine.
        const auto applies = [&](const std::string& name) {
            return !name.empty() && (program.habits != Habits::powerinfer || name.starts_with("POWERINFER_"));
        };
        for (const auto& [name, off] : {std::pair{o.environment, false}, std::pair{o.off_environment, true}}) {
            const char* text = applies(name) ? environment(name.c_str()) : nullptr;
            if (!text) continue;
            try {
                if (off) o.set(a, "off");
                else o.set(a, o.takes == Takes::nothing ? switch_word(text) : std::string(text));
            } catch (const Error& e) {
                throw UsageError{
                    fmt::format("error while handling environment variable \"{}\": {}", name, e.what()), &o};
            }
            from[&o] = name;
            a.given.insert(o.names.front());
        }
    }
    return from;
}

}  // namespace

std::vector<std::string> split_list(std::string_view text, std::string_view separators) {
    std::vector<std::string> parts;
    size_t begin = 0;
    while ((begin = text.find_first_not_of(separators, begin)) != std::string_view::npos) {
        const size_t end = std::min(text.find_first_of(separators, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return parts;
}

Option custom(std::string_view names, std::string value, std::string help,
              std::function<void(Arguments&, const std::string&)> set) {
    Option o;
    o.names = split_list(names);
    o.value = std::move(value);
    o.takes = o.value.empty() ? Takes::nothing : Takes::value;
    o.help = std::move(help);
    o.set = std::move(set);
    return o;
}

const std::vector<Option>& option_table() {
    static const std::vector<Option> table = [] {
        std::vector<Option> all;
        for (auto family : {model_options, processor_options, text_options, sampling_options, tool_options, plan_options,
                            predictor_options, bench_options,
                            accepted_options}) {
            std::vector<Option> rows = family();
            std::move(rows.begin(), rows.end(), std::back_inserter(all));
        }
        return all;
    }();
    return table;
}

Arguments parse(const Program& program, std::span<const char* const> words, const Environment& environment) {
    Arguments a = defaults(program);
    std::map<const Option*, std::string> from_environment = read_environment(program, environment, a);
    std::set<const Option*> seen;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string word = words[i];
        const bool is_option = word.size() > 1 && word[0] == '-';
        if (!is_option) {
            a.words.push_back(word);
            continue;
        }
        const auto [option, off] = find_option(word, program.command);
        if (!option) throw unknown(program, word);
        const bool has_next = i + 1 < words.size();
        std::string value = off ? "off" : "on";
        if (option->takes == Takes::value && !off) {
            if (!has_next) {
                if (program.habits == Habits::powerinfer)
                    throw UsageError{"error: invalid parameter for argument: " + word, option};
                throw bad_value(program, word, "expected value for argument", option);
            }
            value = words[++i];
        } else if (option->takes == Takes::maybe && !off && has_next) {
            const auto& c = option->choices;
            if (std::find(c.begin(), c.end(), words[i + 1]) != c.end()) value = words[++i];
        }
        if (const auto variable = from_environment.find(option); variable != from_environment.end()) {
            a.warnings.push_back(fmt::format("{} of the environment is overruled by {} of the command line",
                                             variable->second, word));
            from_environment.erase(variable);
        }
        if (!seen.insert(option).second && !option->repeatable && option->takes == Takes::value &&
            program.habits == Habits::llama)
            a.warnings.push_back(fmt::format("{} is given more than once; the last value holds", word));
        try {
            option->set(a, value);
        } catch (const Error& e) {
            throw bad_value(program, word, e.what(), option);
        }
        a.given.insert(option->names.front());
        if (a.help || a.version) return a;
    }
    return a;
}

}  // namespace powerinfer::tools
