// A well-formed GGUF file with any metadata and tensors: the model and its vocabulary either load or are refused.
#include <memory>

#include "formats/gguf.h"
#include "fuzz.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

using namespace powerinfer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::expect_error_or_success([&] {
        const auto file =
            std::make_shared<const formats::GgufFile>(formats::GgufFile::parse({data, size}, "fuzz"));
        fuzz::expect_error_or_success([&] {
            const model::Model model = model::load(file);
            for (const model::LayerTensors& layer : model.tensors.layers)
                fuzz::touch(layer.ffn_up.data, layer.ffn_up.n_bytes());
        });
        const auto tokenizer = tokenizer::Tokenizer::load(*file);
        tokenizer.decode(tokenizer.encode("Once upon a time, 1234 \xF0\x9F\x90\x89 \xFF", {.parse_special = true}), true);
    });
    return 0;
}
