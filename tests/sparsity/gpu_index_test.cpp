#include "sparsity/gpu_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_message.h"
#include "formats/gguf_image.h"
#include "temporary_folder.h"

namespace powerinfer::sparsity {
namespace {

using powerinfer::test::message_of;
using powerinfer::test::TemporaryFolder;
using testing::HasSubstr;

GpuIndex some_index() {
    GpuIndex index;
    index.vram_capacity = 13357166592u;
    index.n_ff = 300;
    index.on_gpu.resize(3);
    for (int i = 0; i < 300; ++i) index.on_gpu[2].push_back(i);  // none, some, all
    index.on_gpu[1] = {0, 7, 299};
    return index;
}

TEST(GpuIndex, ComesBackAsItWasWritten) {
    const TemporaryFolder folder;
    GpuIndex index = some_index();
    for (const uint64_t fingerprint : {uint64_t{0}, uint64_t{0xFEDCBA9876543210u}}) {
        index.fingerprint = fingerprint;
        write_gpu_index(folder / "m.gpuidx", index);
        const GpuIndex read = open_gpu_index(folder / "m.gpuidx");
        EXPECT_EQ(read.vram_capacity, index.vram_capacity);
        EXPECT_EQ(read.fingerprint, fingerprint);
        EXPECT_EQ(read.n_ff, 300);
        EXPECT_EQ(read.on_gpu, index.on_gpu);
    }
}

// What the original's loader wants: magic, keys, two tensors per layer in this order, paired by position.
TEST(GpuIndex, IsWrittenAsTheOriginalReadsIt) {
    const TemporaryFolder folder;
    write_gpu_index(folder / "m.gpuidx", some_index());
    const auto file = formats::GgufFile::open(folder / "m.gpuidx");
    EXPECT_EQ(file.magic(), formats::GgufMagic::pwri);
    EXPECT_EQ(file.version(), 3u);
    ASSERT_EQ(file.tensors().size(), 6u);
    EXPECT_EQ(file.keys().size(), 3u);
    EXPECT_EQ(file.find("split.vram_capacity")->type, formats::GgufType::u64);
    EXPECT_EQ(file.tensors()[2].name, "blk.1.gpu_idx");
    EXPECT_EQ(file.tensors()[3].name, "blk.1.gpu_bucket");
    const auto* flags = static_cast<const int32_t*>(file.tensors()[2].view.data);
    for (int i = 0; i < 300; ++i) EXPECT_EQ(flags[i], i == 0 || i == 7 || i == 299) << i;
    const auto* bucket = static_cast<const int32_t*>(file.tensors()[3].view.data);
    EXPECT_EQ(std::vector<int32_t>(bucket, bucket + 3), (std::vector<int32_t>{0, 7, 299}));
}

/// An index of one layer of four neurons, made by hand.
struct Hand {
    std::vector<int32_t> flags = {0, 1, 1, 0}, bucket = {1, 2};
    std::string architecture = "generic.gpu_index", idx_name = "blk.0.gpu_idx";
    uint32_t layers = 1;
    bool capacity = true;
    DType type = DType::I32;

    std::string error() const {
        const TemporaryFolder folder;
        {
            formats::GgufWriter out(folder / "x.gpuidx", formats::GgufMagic::pwri);
            out.set("general.architecture", formats::GgufValue::of_string(architecture));
            out.set("generic.gpu_index.block_count", formats::GgufValue::of_u32(layers));
            if (capacity) out.set("split.vram_capacity", formats::GgufValue::of_u64(5));
            out.add_tensor(idx_name, type, {static_cast<int64_t>(flags.size()), 1, 1, 1});
            out.add_tensor("blk.0.gpu_bucket", DType::I32, {static_cast<int64_t>(bucket.size()), 1, 1, 1});
            out.begin_data();
            out.write(flags.data(), flags.size() * 4);
            out.write(bucket.data(), bucket.size() * 4);
            out.finish();
        }
        return message_of([&] { open_gpu_index(folder / "x.gpuidx"); });
    }
};

TEST(GpuIndex, DamagedFilesAreRefusedInOneLine) {
    EXPECT_EQ(Hand{}.error(), "(no error)");
    const auto with = [](auto change) {
        Hand hand;
        change(hand);
        return hand.error();
    };
    EXPECT_THAT(with([](Hand& h) { h.flags[0] = -1; }), HasSubstr("entry 0 of tensor 'blk.0.gpu_idx' is -1, expected 0 or 1"));
    EXPECT_THAT(with([](Hand& h) { h.bucket = {2, 1}; }), HasSubstr("does not list the 2 neurons that 'blk.0.gpu_idx' marks"));
    EXPECT_THAT(with([](Hand& h) { h.bucket = {1, 4}; }), HasSubstr("does not list"));
    EXPECT_THAT(with([](Hand& h) { h.bucket = {1}; }), HasSubstr("does not list"));
    EXPECT_THAT(with([](Hand& h) { h.bucket = {1, 2, -5}; }), HasSubstr("does not list"));
    EXPECT_THAT(with([](Hand& h) { h.architecture = "llama"; }), HasSubstr("is of architecture 'llama', a GPU index is 'generic.gpu_index'"));
    EXPECT_THAT(with([](Hand& h) { h.layers = 4000000000u; }), HasSubstr("says it has 4000000000 layers and has tensors for 1"));
    EXPECT_THAT(with([](Hand& h) { h.capacity = false; }), HasSubstr("split.vram_capacity"));
    EXPECT_THAT(with([](Hand& h) { h.idx_name = "blk.1.gpu_idx"; }), HasSubstr("no tensor 'blk.0.gpu_idx'"));
    EXPECT_THAT(with([](Hand& h) { h.type = DType::F32; }), HasSubstr("'blk.0.gpu_idx' is F32 {4}, expected one row"));
    EXPECT_THAT(message_of([] { open_gpu_index("/nowhere/x.gpuidx"); }), HasSubstr("/nowhere/x.gpuidx"));
}

}  // namespace
}  // namespace powerinfer::sparsity
