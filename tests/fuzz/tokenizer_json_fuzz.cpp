// A tokenizer.json from anywhere: refused with an Error, or a tokenizer whose ids lie inside its vocabulary.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "tokenizer/hf_tokenizer.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace powerinfer;
    try {
        const std::string_view json(reinterpret_cast<const char*>(data), size);
        const tokenizer::Tokenizer made(tokenizer::parse_tokenizer_json(json, "input"), "input");
        const auto ids = made.encode(json.substr(0, 4096), {.parse_special = true});
        for (const tokenizer::TokenId id : ids)
            if (id < 0 || id >= made.n_vocab()) std::abort();
        made.decode(ids, true);
    } catch (const Error&) {
    }
    return 0;
}
