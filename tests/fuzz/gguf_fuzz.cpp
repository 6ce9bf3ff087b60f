// Any bytes as a GGUF or PWRI file: parse, look at every key, touch every tensor.
#include <string>

#include "formats/gguf.h"
#include "fuzz.h"

using namespace powerinfer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::expect_error_or_success([&] {
        const auto file = formats::GgufFile::parse({data, size}, "fuzz");
        for (const auto& pair : file.keys()) {
            const std::string& key = pair.first;
            fuzz::expect_error_or_success([&] { file.get_uint(key); });
            fuzz::expect_error_or_success([&] { file.get_float(key); });
            fuzz::expect_error_or_success([&] { file.get_string(key); });
            fuzz::expect_error_or_success([&] { file.find_strings(key); });
            fuzz::expect_error_or_success([&] { file.find_ints(key); });
            fuzz::expect_error_or_success([&] { file.find_floats(key); });
        }
        for (const auto& tensor : file.tensors()) fuzz::touch(tensor.view.data, tensor.view.n_bytes());
    });
    return 0;
}
