// Any bytes as a GPU index.
#include "fuzz.h"
#include "sparsity/gpu_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    powerinfer::fuzz::expect_error_or_success([&] {
        const auto file = powerinfer::formats::GgufFile::parse({data, size}, "fuzz");
        const auto index = powerinfer::sparsity::read_gpu_index(file);
        for (const auto& ids : index.on_gpu) powerinfer::fuzz::touch(ids.data(), ids.size() * sizeof(int32_t));
    });
    return 0;
}
