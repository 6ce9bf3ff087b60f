// What the command line asked for, as small structs of plain values. No parsing here: see options.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "convert/file_type.h"
#include "generate/sampler_options.h"
#include "model/spec.h"
#include "sparsity/mode.h"
#include "tools/overrides.h"
#include "tools/program.h"

namespace powerinfer::tools {

enum class Switch { off, on, automatic };

struct ModelArgs {
    std::string path;
    std::optional<model::Activation> activation;  ///< instead of what the file says
    std::optional<float> threshold;               ///< predictor threshold instead of the file's
    sparsity::Mode sparsity = sparsity::Mode::automatic;
    bool lock = false;    ///< pin the file's pages in memory
    bool repack = true;   ///< re-lay weights for speed where memory allows
    bool cache_layout = false;  ///< keep re-laid weights in a file beside the model
    std::vector<KeyOverride> overrides;  ///< in the order given; the last one holds
};

/// Overrides of the file's rotary embedding; empty = as the file says.
struct RopeArgs {
    std::optional<float> freq_base, freq_scale;  ///< freq_scale = 1 / factor
    std::optional<model::RopeScaling> scaling;
    std::optional<int> yarn_orig_ctx;
    std::optional<float> yarn_ext_factor, yarn_attn_factor, yarn_beta_slow, yarn_beta_fast;
};

struct ContextArgs {
    std::optional<int> n_ctx;  ///< 0 = as trained; nothing = as trained, or less where memory is short
    int n_batch = 512;
    int n_ubatch = 512;
    int n_threads = 0, n_threads_batch = 0;  ///< 0 = one per physical core / as n_threads
    std::string isa;                         ///< empty = the best there is
    DType cache_type_k = DType::F16, cache_type_v = DType::F16;
    bool shift = true;  ///< forget old text when the context is full, instead of stopping
    int n_keep = 0;     ///< tokens of the prompt that are never forgotten; -1 = all
    RopeArgs rope;
};

struct PromptArgs {
    std::optional<std::string> text;
    std::string file;  ///< "-" = standard input
    bool binary = false;  ///< the file's bytes as they are
    bool escape = true;   ///< \n and the like in texts from the command line
    std::optional<std::string> system;
    std::string system_file;
    bool random = false;
    int n_predict = -1;  ///< -1 = no limit, -2 = until the context is full
    std::string cache_file;  ///< --prompt-cache
    bool cache_all = false, cache_read_only = false;
};

struct ConsoleArgs {
    bool interactive = false, interactive_first = false, instruct = false;
    std::vector<std::string> reverse_prompts;
    std::string in_prefix, in_suffix;
    bool in_prefix_bos = false;
    bool multiline = false, simple_io = false;
    Switch color = Switch::off;
    bool show_special = false;
    bool display_prompt = true;
    bool verbose_prompt = false;
    Switch conversation = Switch::automatic;
    bool single_turn = false;
    bool show_timings = true;  ///< the line of speeds after a conversation
    std::string chat_template, chat_template_file;
};

/// Where threads run; empty and 0 = where the system likes.
struct ProcessorArgs {
    std::vector<int> cpus;
    int priority = 0;  ///< -1 low, 1 medium, 2 high, 3 the highest
};

struct LogArgs {
    std::string file;     ///< messages go here too; empty = nowhere else
    bool append = false;  ///< to what the file holds already
    int verbosity = 3;  ///< 0 answers only, 1 errors, 2 warnings, 3 info, 4 and 5 more
    bool perf = true;   ///< timing lines
    bool layers = false;  ///< active share per layer
};

struct TokenizeArgs {
    bool ids_only = false;
    bool add_bos = true;
    bool parse_special = true;
    bool from_stdin = false;
    bool show_count = false;
};

struct InspectArgs {
    bool json = false;
    std::string activations_text;  ///< a text file: measure which activation the weights were trained with
};

struct OutputArgs {
    std::string path;
    std::string ids_file;
};

struct PerplexityArgs {
    int stride = 0;
    int output_type = 0;  ///< 0 running values, 1 one line per window
    int chunks = -1;
    std::string logits_file;  ///< --kl-divergence-base
    bool kl_divergence = false;
};

/// What reads a text to learn about a model.
struct LearnArgs {
    int n_tokens = 0;  ///< of the text; 0 = all
};

struct PredictorArgs {
    std::string target = "ppl:0.5%";
    int rank = 0;  ///< 0 = chosen layer by layer
    DType type = DType::Q8_0;
    bool original_form = false;
    int n_epochs = 4;
    std::string keep;  ///< folder of recordings; empty = removed afterwards
    // complete
    std::string maker = "svd";
    std::string file;                 ///< predictors that were made before
    std::string model_type = "COPY";  ///< of the weights
    std::string evaluate_on;          ///< a text; empty = what the learnt part leaves
};

struct ProfileArgs {
    bool merge = false;
    std::string from_torch, to_torch;  ///< folders of activation_N.pt
};

struct EvaluateArgs {
    bool json = false;
    std::string svg;  ///< file for the page of charts
};

struct ConvertArgs {
    std::string outtype = "auto";
    std::string predictor, name;
};

struct PlanArgs {
    std::string synth;       ///< a shape instead of a model
    float coverage = 0.43f;  ///< of a shape: share of neurons that make 80 % of the activations
    std::string profile;     ///< empty = the model file's own
    std::string machine = "this";
    std::vector<double> vram_gib;  ///< one per device; the last holds for the others
    std::optional<double> ram_gib;
    bool json = false;
    std::string save, load, gpu_index;
    std::optional<int> explain;  ///< a layer
    bool sweep = false;
    std::string svg;
};

struct SynthArgs {
    DType type = DType::Q4_0;
    const convert::FileType* mix = nullptr;  ///< instead of `type`
    std::optional<DType> predictor_type;  ///< nothing = as the matrices
    bool predictors = true;
    int rank = 1024;
    float active_share = 0.1f;
    int seed = 1;
};

struct QuantizeArgs {
    bool allow_requantize = false;
    bool leave_output_tensor = false;
    bool pure = false;
    std::optional<DType> output_tensor_type, token_embedding_type;
};

/// One list per setting; every combination is measured.
struct BenchArgs {
    std::vector<std::string> models;
    std::vector<std::string> synth;  ///< shapes of random models, made for this run only
    std::vector<int> n_prompt, n_gen, n_depth, n_parallel, n_batch, n_ubatch, n_threads, repack;
    std::vector<std::pair<int, int>> prompt_gen;
    std::vector<DType> cache_type;
    std::vector<sparsity::Mode> sparsity;
    int repetitions = 5;
    int delay_s = 0;
    std::string output = "md", output_err = "none";
    bool warmup = true;
    bool progress = false;
    bool bandwidth = true;  ///< measure how fast memory is read
    bool explain = false;   ///< why the plan came out as it did
    bool fma = false;       ///< measure how fast the threads multiply and add
};

struct Arguments {
    const Program* program = nullptr;
    ModelArgs model;
    ContextArgs context;
    ProcessorArgs processor;
    generate::SamplerOptions sampling;
    PromptArgs prompt;
    ConsoleArgs console;
    LogArgs log;
    TokenizeArgs tokenize;
    InspectArgs inspect;
    OutputArgs output;
    PerplexityArgs perplexity;
    LearnArgs learn;
    ProfileArgs profile;
    EvaluateArgs evaluate;
    PredictorArgs predictor;
    ConvertArgs convert;
    QuantizeArgs quantize;
    SynthArgs synth;
    PlanArgs plan;
    BenchArgs bench;
    std::set<std::string> given;     ///< first names of the options that environment or command line set
    std::vector<std::string> words;  ///< those that belong to no option

    bool help = false, version = false, list_devices = false;
    std::vector<std::string> gpu_options;     ///< given, and without meaning here: this build has no GPU
    std::vector<std::string> inert_options;   ///< given, and without effect in this engine
    std::vector<std::string> warnings;
};

/// What holds before any option is read.
Arguments defaults(const Program& program);

}  // namespace powerinfer::tools
