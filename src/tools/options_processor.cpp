// Options about the processors that threads run on, and their priority.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

constexpr int kMostCpus = 1024;

/// "0xff", "FF": one bit per processor, the lowest is the first.
void add_mask(std::vector<int>& cpus, std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    if (text.empty() || text.size() > kMostCpus / 4)
        fail(ErrorKind::bad_argument, "a mask has 1 to {} hexadecimal digits", kMostCpus / 4);
    for (size_t i = 0; i < text.size(); ++i) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const char c = text[text.size() - 1 - i];
        const size_t digit = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
        if (digit == std::string_view::npos) fail(ErrorKind::bad_argument, "'{}' is not a hexadecimal digit", c);
        for (size_t bit = 0; bit < 4; ++bit)
            if (digit >> bit & 1u) cpus.push_back(static_cast<int>(4 * i + bit));
    }
}

/// "2-5", "2-", "-5".
void add_range(std::vector<int>& cpus, std::string_view text) {
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos || text.size() == 1)
        fail(ErrorKind::bad_argument, "'{}' is not a range such as 0-3", text);
    const std::string_view low = text.substr(0, dash), high = text.substr(dash + 1);
    const int first = low.empty() ? 0 : static_cast<int>(parse_integer(low, 0, kMostCpus - 1));
    const int last = high.empty() ? kMostCpus - 1 : static_cast<int>(parse_integer(high, first, kMostCpus - 1));
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
}

/// Known, and refused unless it asks for what is done anyway.
Option only_zero(std::string_view names, std::string value, std::string reason) {
    return custom(names, std::move(value), "not here unless 0: " + reason, [reason](Arguments&, const std::string& word) {
        if (word != "0" && word != "0x0") fail(ErrorKind::unsupported, "{}", reason);
    });
}

}  // namespace

std::vector<Option> processor_options() {
    const CommandSet models = kModelCommands | kLearnCommands | Command::bench;
    const std::string together = "prompts and single tokens are computed by the same threads";
    const auto set_with = [](void (*add)(std::vector<int>&, std::string_view)) {
        return [add](Arguments& a, const std::string& word) { add(a.processor.cpus, word); };
    };
    std::vector<Option> rows = {
        custom("-C, --cpu-mask", "HEX", "processors to run on, one bit each; 0 = all", set_with(add_mask)).in(models),
        custom("-Cr, --cpu-range", "A-B", "processors to run on, beside those of the mask", set_with(add_range)).in(models),
        integer("--prio", "N", FIELD(processor.priority), -1, 3,
                "priority of the process: -1 low, 0 normal, 1 medium, 2 high, 3 the highest")
            .in(models),
        only_zero("--cpu-strict", "0|1", "threads move freely among the processors of the mask").in(models),
        only_zero("-Cb, --cpu-mask-batch", "HEX", together),
        only_zero("-Crb, --cpu-range-batch", "A-B", together),
        only_zero("--cpu-strict-batch", "0|1", together),
        only_zero("--prio-batch", "N", together),
    };
    for (Option& o : rows) {
        o.family = "Processors";
        if (o.commands == 0) o.commands = kModelCommands;
    }
    return rows;
}

}  // namespace powerinfer::tools
