// The one table of command line options and the parser that walks it.
// Not for what the options do: setters only store into the structs of arguments.h.
//
// Rules: option and value are two words; a word that starts with `--` has `_` turned into `-`; a long option may be
// written with one dash; a scalar given twice takes the last value. The environment is read first.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/arguments.h"

namespace powerinfer::tools {

enum class Takes { nothing, value, maybe };

struct Option {
    std::vector<std::string> names;      ///< "-c", "--ctx-size"
    std::vector<std::string> off_names;  ///< "--no-escape"
    std::string value;                   ///< what stands for the value in the help
    Takes takes = Takes::value;
    std::vector<std::string> choices;  ///< the words that may follow where `takes` is maybe
    std::string help;
    std::string environment, off_environment;
    CommandSet commands = 0;
    std::string family;  ///< heading in the help
    bool repeatable = false;
    /// Throws Error{bad_argument} saying what is wrong with the word. Options without a value get "on" or "off".
    std::function<void(Arguments&, const std::string& word)> set;
    /// The present value as text; empty function where there is nothing to show.
    std::function<std::string(const Arguments&)> show;

    // Additions, so that a row of the table reads as one line.
    Option&& env(std::string name, std::string off = {}) && {
        environment = std::move(name);
        off_environment = std::move(off);
        return std::move(*this);
    }
    Option&& in(CommandSet set_of_commands) && {
        commands = set_of_commands;
        return std::move(*this);
    }
};

/// Every row. Built once.
const std::vector<Option>& option_table();

// The families the table is made of, each in a file of its own.
std::vector<Option> model_options();     ///< file, sparsity, context, threads, rope
std::vector<Option> processor_options();
std::vector<Option> text_options();      ///< prompt, console, chat
std::vector<Option> sampling_options();
std::vector<Option> predictor_options();
std::vector<Option> tool_options();      ///< of one command each
std::vector<Option> plan_options();
std::vector<Option> bench_options();
std::vector<Option> accepted_options();  ///< known, and without effect or refused with a reason

/// A command line that cannot be used. `what` is the whole message; `option` is set when one option is to blame.
struct UsageError {
    std::string message;
    const Option* option = nullptr;
};

using Environment = std::function<const char*(const char* name)>;

/// Reads environment and words (without the program's name) on top of defaults(program). Throws UsageError in the
/// wording that the program's users know.
Arguments parse(const Program& program, std::span<const char* const> words, const Environment& environment);

/// The help text of a program, or of one option.
std::string usage(const Program& program);
std::string usage(const Option& option, const Arguments& defaults);

}  // namespace powerinfer::tools
