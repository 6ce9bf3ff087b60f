// `tokenize`: the tokens of a text, in the forms that llama-tokenize prints.
#include <fmt/ranges.h>

#include <cstdio>

#include "base/error.h"
#include "tokenizer/tokenizer.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

std::string text_to_tokenize(const Arguments& a) {
    if (a.tokenize.from_stdin) return read_text_file("-");
    if (!a.prompt.file.empty()) return read_text_file(a.prompt.file);
    if (!a.prompt.text) fail(ErrorKind::bad_argument, "one of --prompt, --file and --stdin is needed");
    return a.prompt.escape ? unescape(*a.prompt.text) : *a.prompt.text;
}

}  // namespace

int tokenize(const Arguments& a) {
    require_no_words(a);
    const std::string text = text_to_tokenize(a);
    const LogSink log = log_to_stderr(a.log.verbosity);
    const auto file = open_file(a, log);
    const auto tokenizer = tokenizer::Tokenizer::load(*file, log);
    const std::vector<tokenizer::TokenId> ids =
        tokenizer.encode(text, {.add_special = a.tokenize.add_bos, .parse_special = a.tokenize.parse_special});
    if (a.tokenize.ids_only) {
        fmt::print("[{}]\n", fmt::join(ids, ", "));
    } else {
        for (const tokenizer::TokenId id : ids) fmt::print("{:6d} -> '{}'\n", id, tokenizer.piece(id, true));
    }
    if (a.tokenize.show_count) fmt::print("Total number of tokens: {}\n", ids.size());
    return 0;
}

}  // namespace powerinfer::tools
