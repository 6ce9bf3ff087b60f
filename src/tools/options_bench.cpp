// Options of the benchmark: comma lists and ranges, every combination of which is measured.
#include "tools/option_rows.h"

namespace powerinfer::tools {
namespace {

/// "512", "1-4", "1-9+2", "1-8*2"; appended to `out`.
void append_range(std::vector<int>& out, const std::string& item, int low) {
    const size_t dash = item.find('-', 1);
    if (dash == std::string::npos) {
        out.push_back(static_cast<int>(parse_integer(item, low, kAnyInt)));
        return;
    }
    const size_t sign = item.find_first_of("+*", dash);
    const int64_t first = parse_integer(std::string_view(item).substr(0, dash), low, kAnyInt);
    const int64_t last = parse_integer(std::string_view(item).substr(dash + 1, sign - dash - 1), low, kAnyInt);
    const bool multiply = sign != std::string::npos && item[sign] == '*';
    const int64_t step =
        sign == std::string::npos ? 1 : parse_integer(std::string_view(item).substr(sign + 1), multiply ? 2 : 1, kAnyInt);
    if (multiply && first == 0) fail(ErrorKind::bad_argument, "a range that multiplies cannot start at 0: '{}'", item);
    for (int64_t i = first; i <= last; i = multiply ? i * step : i + step) {
        if (out.size() > 10000) fail(ErrorKind::bad_argument, "'{}' gives too many values", item);
        out.push_back(static_cast<int>(i));
    }
}

template <class Field>
Option integers(std::string_view names, Field field, int low, std::string help) {
    Option o = custom(names, "LIST", std::move(help), [=](Arguments& a, const std::string& word) {
        const std::vector<std::string> items = split_list(word, ",");
        if (items.empty()) fail(ErrorKind::bad_argument, "'{}' is not a list of whole numbers", word);
        for (const std::string& item : items) append_range(field(a), item, low);
    });
    o.repeatable = true;
    return o;
}

template <class T>
Option words(std::string_view names, std::string value, std::string help, std::vector<T> BenchArgs::*field,
             T (*read)(const std::string&)) {
    Option o = custom(names, std::move(value), std::move(help), [=](Arguments& a, const std::string& word) {
        const std::vector<std::string> items = split_list(word, ",");
        if (items.empty()) fail(ErrorKind::bad_argument, "'{}' is not a list", word);
        for (const std::string& item : items) (a.bench.*field).push_back(read(item));
    });
    o.repeatable = true;
    return o;
}

std::string same(const std::string& word) { return word; }
sparsity::Mode mode(const std::string& word) { return sparsity::mode_from_name(word); }
DType cache_type(const std::string& word) {
    for (const auto& [name, type] : cache_types())
        if (name == word) return type;
    fail(ErrorKind::bad_argument, "'{}' is not one of f16, f32, bf16, q8_0", word);
}

/// One shape a time, since a shape may hold commas.
Option synth_shape() {
    Option o = custom("--synth", "SHAPE",
                      "a random model made for this run: llama-7b, mistral-7b, ..., with changes such as llama-7b,n_layer=8",
                      [](Arguments& a, const std::string& word) { a.bench.synth.push_back(word); });
    o.repeatable = true;
    return o;
}

Option prompt_and_gen() {
    Option o = custom("-pg", "PP,TG", "a prompt of PP tokens followed by TG single ones",
                      [](Arguments& a, const std::string& word) {
                          const std::vector<std::string> items = split_list(word, ",");
                          if (items.size() != 2) fail(ErrorKind::bad_argument, "'{}' is not a pair like 512,128", word);
                          a.bench.prompt_gen.emplace_back(static_cast<int>(parse_integer(items[0], 0, kAnyInt)),
                                                          static_cast<int>(parse_integer(items[1], 0, kAnyInt)));
                      });
    o.repeatable = true;
    return o;
}

template <class Field>
Option format(std::string_view names, Field field, bool with_none, std::string help) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const char* f : {"csv", "json", "jsonl", "md", "sql"}) rows.emplace_back(f, f);
    if (with_none) rows.emplace_back("none", "none");
    return choice(names, field, rows, std::move(help));
}

Option memory_f32() {
    return custom("--memory-f32", "0|1", "cache in F32", [](Arguments& a, const std::string& word) {
        for (const std::string& item : split_list(word, ","))
            a.bench.cache_type.push_back(parse_integer(item, 0, 1) == 1 ? DType::F32 : DType::F16);
    });
}

}  // namespace

std::vector<Option> bench_options() {
    std::vector<Option> rows = {
        words("-m, --model", "LIST", "model files", &BenchArgs::models, same),
        synth_shape(),
        integers("-p, --n-prompt", FIELD(bench.n_prompt), 0, "prompt lengths (default: 512)"),
        integers("-n, --n-gen", FIELD(bench.n_gen), 0, "numbers of single tokens (default: 128)"),
        prompt_and_gen(),
        integers("--repack", FIELD(bench.repack), 0, "0 = weights stay as they lie in the file (default: 1)"),
        flag("--explain", "", FIELD(bench.explain),
             "measure the kernels anew and tell on stderr why each layer runs as it does"),
        integers("-d, --n-depth", FIELD(bench.n_depth), 0, "tokens in the cache beforehand (default: 0)"),
        integers("-npl, --n-parallel", FIELD(bench.n_parallel), 1,
                 "sequences that -n decodes at the same time (default: 1)"),
        integers("-b, --batch-size", FIELD(bench.n_batch), 1, "prompt tokens per step (default: 2048)"),
        integers("-ub, --ubatch-size", FIELD(bench.n_ubatch), 1, "tokens per pass over the weights (default: 512)"),
        integers("-t, --threads", FIELD(bench.n_threads), 1, "threads (default: one per core)"),
        words("-ctk, --cache-type-k", "LIST", "number format of the cache: f16, f32, bf16, q8_0 (default: f16)",
              &BenchArgs::cache_type, cache_type),
        custom("-ctv, --cache-type-v", "LIST", "as --cache-type-k, which decides for both",
               [](Arguments&, const std::string& word) {
                   for (const std::string& item : split_list(word, ",")) cache_type(item);
               }),
        memory_f32(),
        words("--sparsity", "LIST", "off, exact, predict, auto (default: auto)", &BenchArgs::sparsity, mode),
        integer("-r, --repetitions", "N", FIELD(bench.repetitions), 1, kAnyInt, "measurements of each"),
        integer("--delay", "S", FIELD(bench.delay_s), 0, 86400, "seconds to wait between measurements"),
        flag("--warmup", "--no-warmup", FIELD(bench.warmup), "run once before measuring"),
        flag("--bandwidth", "--no-bandwidth", FIELD(bench.bandwidth), "measure how fast memory is read, too"),
        flag("--fma", "--no-fma", FIELD(bench.fma), "measure how fast the threads multiply and add, too"),
        text("--isa", "NAME", FIELD(context.isa), "instruction set: see --version (default: the best there is)")
            .env("POWERINFER_ISA"),
        flag("--progress", "", FIELD(bench.progress), "say on stderr what is being measured"),
        format("-o, --output", FIELD(bench.output), false, "form of the results on stdout"),
        format("-oe, --output-err", FIELD(bench.output_err), true, "form of the results on stderr"),
    };
    const auto inert = [](std::string_view names) {
        return custom(names, "X", "accepted without effect", [name = split_list(names).back()](
                                                                 Arguments& a, const std::string&) {
            a.inert_options.push_back(name);
        });
    };
    for (std::string_view names : {"-fa, --flash-attn", "-mmp, --mmap", "-embd, --embeddings", "-mmq, --mul-mat-q",
                                   "-nkvo, --no-kv-offload", "-lm, --load-mode", "-lzm, --lazy-mode",
                                   "-nopo, --no-op-offload", "--no-host"})
        rows.push_back(inert(names));
    for (Option& o : rows) {
        o.family = "Benchmark";
        o.commands = static_cast<CommandSet>(Command::bench);
    }
    return rows;
}

}  // namespace powerinfer::tools
