#include "tools/program.h"

#include <algorithm>

namespace powerinfer::tools {
namespace {

constexpr Program kSubcommands[] = {
    {"run", Command::run, Habits::own, "-m MODEL [-p PROMPT] [OPTIONS]", "continue a text"},
    {"chat", Command::chat, Habits::own, "-m MODEL [OPTIONS]", "talk with a model in the terminal"},
    {"convert", Command::convert, Habits::own, "FOLDER -o OUT [OPTIONS]",
     "make a model file from a Hugging Face folder"},
    {"quantize", Command::quantize, Habits::own, "[OPTIONS] IN [OUT] TYPE [THREADS]",
     "store the weights of a model file in fewer bits"},
    {"inspect", Command::inspect, Habits::own, "MODEL [--json]", "show what a model file holds"},
    {"tokenize", Command::tokenize, Habits::own, "-m MODEL -p TEXT [OPTIONS]", "show the tokens of a text"},
    {"logits", Command::logits, Habits::own, "-m MODEL --ids-file IDS -o OUT.safetensors [OPTIONS]",
     "write the logits after every token"},
    {"perplexity", Command::perplexity, Habits::own, "-m MODEL -f TEXT [OPTIONS]",
     "measure how well a model predicts a text"},
    {"profile", Command::profile, Habits::own, "-m MODEL -f TEXT [-o OUT] | --from-torch FOLDER | PROFILE... [OPTIONS]",
     "count how often each neuron of a model fires over a text; merge and exchange such counts"},
    {"evaluate", Command::evaluate, Habits::own, "-m MODEL -f TEXT [--json] [--svg FILE] [OPTIONS]",
     "measure what the predictors of a model find, and what leaving neurons out costs"},
    {"predictor", Command::predictor, Habits::own,
     "svd|train|sign -m MODEL -f TEXT -o OUT [OPTIONS] | import FOLDER -m MODEL -o OUT",
     "make the predictors that say which neurons may fire"},
    {"complete", Command::complete, Habits::own, "IN.gguf -f TEXT -o OUT.powerinfer.gguf [OPTIONS]",
     "make a PowerInfer model of a ReLU model: profile, predictors, neuron order, evaluation"},
    {"bench", Command::bench, Habits::own, "-m MODEL [OPTIONS]", "measure the speed of a model"},
    {"plan", Command::plan, Habits::own, "-m MODEL [--machine NAME] [--vram-budget GIB] [OPTIONS]",
     "find out what of a model should lie where on a machine with a GPU, and what that gives"},
    {"synth", Command::synth, Habits::own, "SHAPE -o OUT [OPTIONS]",
     "write a random model of any shape and sparsity, for benchmarks"},
};

constexpr Program kLinks[] = {
    {"main", Command::run, Habits::powerinfer, "-m MODEL [-p PROMPT] [OPTIONS]", "continue a text"},
    {"quantize", Command::quantize, Habits::powerinfer,
     "[--allow-requantize] [--leave-output-tensor] [--pure] IN.gguf [OUT.gguf] TYPE [THREADS]",
     "store the weights of a model file in fewer bits"},
    {"perplexity", Command::perplexity, Habits::powerinfer, "-m MODEL -f TEXT [OPTIONS]",
     "measure how well a model predicts a text"},
    {"batched", Command::batched, Habits::powerinfer,
     "MODEL [PROMPT] [PARALLEL] [LEN] [N_THREAD] [VRAM_BUDGET] [NGL]", "continue one prompt several times"},
    {"llama-cli", Command::chat, Habits::llama, "-m MODEL [-p PROMPT] [OPTIONS]",
     "talk with a model in the terminal"},
    {"llama-completion", Command::run, Habits::llama, "-m MODEL [-p PROMPT] [OPTIONS]", "continue a text"},
    {"llama-bench", Command::bench, Habits::llama, "-m MODEL [OPTIONS]", "measure the speed of a model"},
    {"llama-quantize", Command::quantize, Habits::llama, "[OPTIONS] IN.gguf [OUT.gguf] TYPE [THREADS]",
     "store the weights of a model file in fewer bits"},
    {"llama-perplexity", Command::perplexity, Habits::llama, "-m MODEL -f TEXT [OPTIONS]",
     "measure how well a model predicts a text"},
    {"llama-tokenize", Command::tokenize, Habits::llama, "-m MODEL -p TEXT [OPTIONS]",
     "show the tokens of a text"},
};

const Program* find(std::span<const Program> rows, std::string_view name) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Program& p) { return p.name == name; });
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace

std::span<const Program> subcommands() { return kSubcommands; }
std::span<const Program> links() { return kLinks; }
const Program* find_subcommand(std::string_view name) { return find(kSubcommands, name); }

const Program* find_link(std::string_view argv0) {
    const size_t slash = argv0.rfind('/');
    return find(kLinks, slash == std::string_view::npos ? argv0 : argv0.substr(slash + 1));
}

}  // namespace powerinfer::tools
