// The names under which this program is called and what each means: a command, a family of habits, defaults.
// Not for the options themselves: see options.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace powerinfer::tools {

/// What is done. Values are bits, so that an option can name the commands that take it.
enum class Command : uint32_t {
    run = 1,
    chat = 2,
    convert = 4,
    quantize = 8,
    inspect = 16,
    tokenize = 32,
    logits = 64,
    perplexity = 128,
    bench = 256,
    batched = 512,
    synth = 1024,
    profile = 2048,
    evaluate = 4096,
    plan = 16384,
    predictor = 32768,
    complete = 65536,
};
using CommandSet = uint32_t;
constexpr CommandSet operator|(Command a, Command b) {
    return static_cast<CommandSet>(a) | static_cast<CommandSet>(b);
}
constexpr CommandSet operator|(CommandSet a, Command b) { return a | static_cast<CommandSet>(b); }
constexpr bool contains(CommandSet set, Command c) { return (set & static_cast<CommandSet>(c)) != 0; }

/// Commands that run a model and share one set of options.
inline constexpr CommandSet kModelCommands =
    Command::run | Command::chat | Command::logits | Command::perplexity;

/// Commands that run a model over a text to learn about it.
inline constexpr CommandSet kLearnCommands =
    Command::profile | Command::evaluate | Command::predictor | Command::complete;

/// Whose error texts, timing lines and small habits are kept.
enum class Habits {
    own,         ///< `powerinfer COMMAND`
    powerinfer,  ///< the PowerInfer programs of 2023
    llama,       ///< the llama-* programs
};

struct Program {
    std::string_view name;  ///< as invoked: "main", "llama-bench", or the command after "powerinfer"
    Command command;
    Habits habits;
    std::string_view usage;  ///< words after the name
    std::string_view about;  ///< one line
};

/// Every subcommand of `powerinfer`, in the order of its help.
std::span<const Program> subcommands();
/// Every other name under which the program may be invoked.
std::span<const Program> links();

/// The row for a subcommand, or null.
const Program* find_subcommand(std::string_view name);
/// The row for the last part of argv[0], or null when it is "powerinfer" or any other name.
const Program* find_link(std::string_view argv0);

}  // namespace powerinfer::tools
