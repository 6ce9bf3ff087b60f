// Options of `plan`.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

Option vram_budget() {
    Option o = custom("--vram-budget", "GIB",
                      "memory of the device that may be used, the runtime's context included (default: all); repeat it for "
                      "further devices, the last holds for the rest",
                      [](Arguments& a, const std::string& word) { a.plan.vram_gib.push_back(parse_number(word, 0, 1e6)); });
    o.repeatable = true;
    return o;
}

}  // namespace

std::vector<Option> plan_options() {
    std::vector<Option> rows = {
        text("--profile", "FILE", FIELD(plan.profile), "activation profile (default: the one in the model file)"),
        text("--synth", "SHAPE", FIELD(plan.synth),
             "instead of a model, a shape such as llama-70b whose neurons fire by a power law (--active-share, --coverage)"),
        number("--coverage", "N", FIELD(plan.coverage), 0.01, 0.8,
               "of a shape: share of the neurons that make 80 % of the activations"),
        text("--machine", "NAME|FILE", FIELD(plan.machine),
             "machine to plan for: rtx4090, 2xrtx4090, rtx3060, rtx2080ti, rx7900xtx, laptop-8gb, rk3588, phone, h200, a JSON file, or "
             "this, which is measured once"),
        vram_budget(),
        custom("--ram-budget", "GIB", "memory of the processor that may be used (default: what the machine does not reserve)",
               [](Arguments& a, const std::string& word) { a.plan.ram_gib = parse_number(word, 0, 1e6); }),
        flag("--json", "", FIELD(plan.json), "everything as one JSON object"),
        text("--save", "FILE", FIELD(plan.save), "write the plan, to be edited or read back"),
        text("--load", "FILE", FIELD(plan.load), "show what a saved plan gives instead of making one"),
        integer("--explain", "LAYER", FIELD(plan.explain), 0, 1 << 20, "show one layer: both sides, and what other shares would cost"),
        text("--gpu-index", "FILE", FIELD(plan.gpu_index), "write the neurons of the device as the .generated.gpuidx file of PowerInfer"),
        flag("--sweep", "", FIELD(plan.sweep), "a table over growing memory of the device, beside the rules of others"),
        text("--svg", "FILE", FIELD(plan.svg), "draw that table"),
    };
    for (Option& o : rows) {
        o.family = "Placement";
        o.commands = static_cast<CommandSet>(Command::plan);
    }
    return rows;
}

}  // namespace powerinfer::tools
