// Any bytes as a PyTorch archive: parse, read the numbers of every tensor. Bytes that do not start like a zip
// archive are also taken for the pickle inside one, so that the fuzzer reaches the machine without having to
// make archives.
#include "formats/torch_archive.h"
#include "formats/torch_image.h"
#include "fuzz.h"

using namespace powerinfer;

namespace {

void read(std::span<const uint8_t> image) {
    fuzz::expect_error_or_success([&] {
        const auto archive = formats::TorchArchive::parse(image, "fuzz");
        for (const auto& named : archive.tensors()) {
            const formats::SafeTensor& tensor = named.second;
            fuzz::touch(tensor.bytes.data(), tensor.bytes.size());
            fuzz::expect_error_or_success([&] { tensor.to_floats(); });
        }
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    read({data, size});
    if (size > 0 && data[0] != 'P') {
        test::RawZip zip = test::torch_file("N");
        zip.entries[0].second.assign(data, data + size);
        const test::Image image = zip.build();
        read(image.bytes);
    }
    return 0;
}
