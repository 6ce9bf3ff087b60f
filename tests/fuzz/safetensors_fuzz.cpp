// Any bytes as a safetensors file: parse, touch every tensor, convert the small ones.
#include "formats/safetensors.h"
#include "fuzz.h"

using namespace powerinfer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::expect_error_or_success([&] {
        const auto file = formats::SafeTensorsFile::parse({data, size}, "fuzz");
        for (const auto& pair : file.tensors()) {
            const formats::SafeTensor& tensor = pair.second;
            fuzz::touch(tensor.bytes.data(), tensor.bytes.size());
            fuzz::expect_error_or_success([&] { tensor.to_floats(); });
            fuzz::expect_error_or_success([&] { tensor.to_ints(); });
        }
    });
    return 0;
}
