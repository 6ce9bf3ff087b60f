#include "tools/learning.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "tools/numbers.h"

namespace powerinfer::tools {

std::string text_to_learn(const Arguments& a) {
    if (a.prompt.file.empty()) fail(ErrorKind::bad_argument, "a text is needed: --file FILE");
    return read_text_file(a.prompt.file);
}

std::vector<int32_t> tokens_to_learn(const Arguments& a, const tokenizer::Tokenizer& tokenizer,
                                     const std::string& text) {
    std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
    if (ids.empty()) fail(ErrorKind::bad_argument, "'{}' has no tokens, expected a text", a.prompt.file);
    if (a.learn.n_tokens > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(a.learn.n_tokens)));
    return ids;
}

std::string text_name(const Arguments& a) {
    return std::filesystem::path(a.prompt.file).filename().string();
}

learn::Text windows_to_learn(const Arguments& a, const std::vector<int32_t>& ids,
                             const model::ModelSpec& spec, const tokenizer::Tokenizer& tokenizer) {
    const int n_ctx = a.context.n_ctx.value_or(0);
    return learn::make_text(ids, n_ctx > 0 ? n_ctx : spec.n_ctx_train, spec, tokenizer.special());
}

}  // namespace powerinfer::tools
