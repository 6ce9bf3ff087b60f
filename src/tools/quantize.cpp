// `quantize`: a model file with smaller number formats.
#include "convert/quantize.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "convert/file_type.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/numbers.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

bool is_file_type(const std::string& word) {
    try {
        convert::find_file_type(word);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// IN [OUT] TYPE [THREADS]
void read_words(const std::vector<std::string>& words, convert::QuantizeOptions& o) {
    if (words.size() < 2 || words.size() > 4) {
        say("{}\n", quantize_types());
        fail(ErrorKind::bad_argument, "quantize needs IN [OUT] TYPE [THREADS], {} words were given", words.size());
    }
    o.input = words[0];
    size_t next = 1;
    if (words.size() > 2 && !is_file_type(words[1])) o.output = words[next++];
    o.type = words[next++];
    const convert::FileType& type = convert::find_file_type(o.type);
    if (o.output.empty())
        o.output = (std::filesystem::path(o.input).parent_path() / fmt::format("ggml-model-{}.gguf", type.name)).string();
    if (next < words.size()) o.n_threads = static_cast<int>(parse_integer(words[next++], 0, 4096));
    if (next < words.size()) fail(ErrorKind::bad_argument, "'{}' is one word too many", words[next]);
}

}  // namespace

std::string quantize_types() {
    std::string text = "TYPE is one of\n";
    for (const convert::FileType& t : convert::file_types())
        text += fmt::format("  {:>3} or {:<8} {}\n", t.number, t.name, t.note);
    return text;
}

int quantize(const Arguments& a) {
    InterruptWatch watch(Watched::every_end);
    convert::QuantizeOptions o;
    read_words(a.words, o);
    o.pure = a.quantize.pure;
    o.leave_output_tensor = a.quantize.leave_output_tensor;
    o.allow_requantize = a.quantize.allow_requantize;
    o.output_tensor_type = a.quantize.output_tensor_type;
    o.token_embedding_type = a.quantize.token_embedding_type;
    o.overrides = a.model.overrides;
    o.log = log_to_stderr(a.log.verbosity);
    o.progress = progress_on_terminal(watch, a.log.verbosity);
    const convert::QuantizeResult result = convert::quantize_file(o);
    say("powerinfer: {} -> {}, {} -> {} in {} tensors\n", o.input, o.output,
        size_text(result.n_bytes_before), size_text(result.n_bytes_after), result.n_tensors);
    return 0;
}

}  // namespace powerinfer::tools
