// Writes starting inputs for the fuzz targets of formats/: small sound files of every kind. usage:
// make_fuzz_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "formats/gguf_image.h"
#include "formats/torch_image.h"
#include "sparsity/profile.h"

namespace {

namespace pk = powerinfer::test::pickle;
using powerinfer::test::bytes_of;

void write(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: make_fuzz_seeds FOLDER\n");
        return 1;
    }
    const std::filesystem::path folder = argv[1];

    auto gguf = powerinfer::test::sound_gguf();
    write(folder / "gguf/sound", gguf.build().bytes);
    gguf.magic = "PWRI";
    gguf.version = 2;
    gguf.tensors = {{"blk.0.gpu_idx", {8}, 18, 0}, {"blk.0.gpu_bucket", {0}, 18, 32}};
    write(folder / "gguf/gpu_index", gguf.build().bytes);
    write(folder / "gpu_index/two", gguf.build().bytes);

    powerinfer::sparsity::ActivationProfile profile;
    profile.n_tokens = 9;
    profile.n_ff = 2;
    profile.sources = {"a"};
    profile.layers = {{{1, 9}, {-1, 2}, {1, 2}, {3, 4}}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}}};
    std::filesystem::create_directories(folder / "profile");
    powerinfer::sparsity::write_profile((folder / "profile/sound").string(), profile);

    const std::string header =
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]},)"
        R"("b":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})";
    powerinfer::test::Image tensors;
    tensors.raw<uint64_t>(header.size());
    tensors.text(header + "0123456789abcdef");
    write(folder / "safetensors/two", tensors.bytes);

    const std::string state =
        pk::dict({{"w", pk::tensor({})},
                  {"t", pk::tensor({.offset = 1, .shape = {2, 2}, .strides = {1, 3}})},
                  {"list", "](" + pk::tensor({.storage = "HalfStorage"}) + "NK\x05" + pk::text("x") + "e"}});
    auto archive = powerinfer::test::torch_file(state);
    write(folder / "torch_archive/pickle", bytes_of(pk::program(state)));
    write(folder / "torch_archive/archive", archive.build().bytes);
    archive.zip64 = true;
    write(folder / "torch_archive/zip64", archive.build().bytes);
    return 0;
}
