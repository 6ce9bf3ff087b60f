// What GgufWriter writes is read back as it was given, and nothing is left behind when writing goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "error_message.h"
#include "formats/gguf.h"
#include "formats/gguf_image.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::formats {
namespace {

using test::message_of;
using testing::HasSubstr;

void copy_all(const GgufFile& in, GgufWriter& out) {
    for (const auto& [key, value] : in.keys()) out.set(key, value);
    for (const GgufTensor& t : in.tensors()) out.add_tensor(t.name, t.view.type, t.view.ne);
    out.begin_data();
    for (const GgufTensor& t : in.tensors()) out.write(t.view.data, t.view.n_bytes());
    out.finish();
}

TEST(GgufWriter, CopyKeepsEveryByteThatMatters) {
    const test::TemporaryFolder folder;
    for (const char* magic : {"GGUF", "PWRI"}) {
        for (const size_t alignment : {32u, 8u, 4096u}) {
            test::RawGguf g = test::sound_gguf();
            g.magic = magic;
            g.alignment = alignment;
            g.keys[1].second = test::u32(static_cast<uint32_t>(alignment));
            g.tensors[1].offset = 4096;
            g.tensors[2].offset = 8192;
            g.data_bytes = 8192 + 16;
            const test::Image image = g.build();
            const GgufFile in = GgufFile::parse(image.bytes, "in");
            GgufWriter out(folder / "out.gguf", in.magic(), alignment);
            copy_all(in, out);
            const GgufFile back = GgufFile::open(folder / "out.gguf");
            EXPECT_EQ(back.magic(), in.magic());
            EXPECT_EQ(back.alignment(), alignment);
            ASSERT_EQ(back.tensors().size(), in.tensors().size());
            for (size_t i = 0; i < in.tensors().size(); ++i) {
                const GgufTensor &a = in.tensors()[i], &b = back.tensors()[i];
                EXPECT_EQ(a.name, b.name);
                EXPECT_EQ(a.view.type, b.view.type);
                EXPECT_EQ(a.view.ne, b.view.ne);
                EXPECT_EQ(b.offset % alignment, 0u);
                EXPECT_EQ(std::memcmp(a.view.data, b.view.data, a.view.n_bytes()), 0);
            }
            for (const auto& [key, value] : in.keys()) {
                if (key == "general.alignment") continue;
                ASSERT_TRUE(back.has(key)) << key;
                EXPECT_EQ(type_text(*back.find(key)), type_text(value)) << key;
                EXPECT_EQ(back.find(key)->data, value.data) << key;
            }
        }
    }
    EXPECT_EQ(folder.n_files(), 1u);
}

TEST(GgufWriter, CopyOfAVocabularyIsTheSameFile) {
    SHARED_PATH_OR_SKIP(path, "vectors/tokenizers/ggml-vocab-llama-spm.gguf");
    const test::TemporaryFolder folder;
    const GgufFile in = GgufFile::open(path);
    GgufWriter out(folder / "out.gguf", GgufMagic::gguf);
    copy_all(in, out);
    std::vector<uint8_t> a = test::read_file(path), b = test::read_file(folder / "out.gguf");
    const size_t n = std::min(a.size(), b.size());  // the original may lack padding at its end
    a.resize(n);
    b.resize(n);
    EXPECT_TRUE(a == b);
}

TEST(GgufWriter, SetReplacesAndPiecesJoin) {
    const test::TemporaryFolder folder;
    GgufWriter out(folder / "m.gguf", GgufMagic::gguf);
    out.set("a", GgufValue::of_u32(1));
    out.set("b", GgufValue::of_f32(0.25f));
    out.set("a", GgufValue::of_string("later"));
    out.add_tensor("x", DType::I32, {100, 3, 1, 1});
    out.add_tensor("y", DType::F32, {1, 1, 1, 1});
    out.begin_data();
    std::vector<int32_t> x(300);
    std::iota(x.begin(), x.end(), 0);
    out.write(x.data(), 500);
    out.write(reinterpret_cast<const uint8_t*>(x.data()) + 500, 700);
    const float y = 2.5f;
    out.write(&y, 4);
    EXPECT_FALSE(std::filesystem::exists(folder / "m.gguf"));
    out.finish();
    const GgufFile f = GgufFile::open(folder / "m.gguf");
    EXPECT_EQ(f.keys()[0].first, "a");
    EXPECT_EQ(f.get_string("a"), "later");
    EXPECT_EQ(f.get_float("b"), 0.25);
    EXPECT_EQ(std::memcmp(f.find_tensor("x")->view.data, x.data(), 1200), 0);
    EXPECT_EQ(*static_cast<const float*>(f.find_tensor("y")->view.data), 2.5f);
    EXPECT_EQ(f.n_bytes() % 32, 0u);
}

TEST(GgufWriter, WritesAGpuIndexWithItsOldTypeIds) {
    const test::TemporaryFolder folder;
    GgufWriter out(folder / "m.gpuidx", GgufMagic::pwri);
    out.add_tensor("blk.0.gpu_idx", DType::I32, {2, 1, 1, 1});
    out.add_tensor("blk.0.gpu_bucket", DType::I32, {0, 1, 1, 1});
    out.begin_data();
    const int32_t idx[2] = {0, 0};
    out.write(idx, sizeof idx);
    out.write(idx, 0);
    out.finish();
    const std::vector<uint8_t> bytes = test::read_file(folder / "m.gpuidx");
    // header 24, name length 8, name 13, n_dims 4, one dimension 8: then the type id
    EXPECT_EQ(bytes[24 + 8 + 13 + 4 + 8], 18);
    const GgufFile f = GgufFile::open(folder / "m.gpuidx");
    EXPECT_EQ(f.tensors()[0].view.type, DType::I32);
    EXPECT_EQ(f.tensors()[1].view.n_elements(), 0);
}

TEST(GgufWriter, UnfinishedFilesLeaveNothing) {
    const test::TemporaryFolder folder;
    {
        GgufWriter out(folder / "m.gguf", GgufMagic::gguf);
        out.add_tensor("x", DType::F32, {4, 1, 1, 1});
        out.begin_data();
        out.write("abcd", 4);
        EXPECT_THAT(message_of([&] { out.finish(); }),
                    HasSubstr("finished after 4 of 16 bytes of tensor 'x'"));
    }
    EXPECT_EQ(folder.n_files(), 0u);
}

TEST(GgufWriter, ReadBackFindsADamagedHeader) {
    const test::TemporaryFolder folder;
    {
        GgufWriter out(folder / "m.gguf", GgufMagic::gguf);
        out.add_tensor("x", DType::F32, {512 * 1024, 1, 1, 1});
        out.begin_data();
        const std::vector<uint8_t> data(2 << 20);
        out.write(data.data(), data.size());
        // somebody else overwrites the start of the file on the disk
        for (const auto& entry : std::filesystem::directory_iterator(folder / ""))
            std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::binary).write("\0\0\0\0", 4);
        EXPECT_THAT(message_of([&] { out.finish(); }), HasSubstr("is not a GGUF file"));
    }
    EXPECT_EQ(folder.n_files(), 0u);
}

TEST(GgufWriter, RefusesWhatItsReaderWouldRefuse) {
    const test::TemporaryFolder folder;
    EXPECT_THAT(message_of([&] { GgufWriter(folder / "m", GgufMagic::gguf, 12); }),
                HasSubstr("alignment 12"));
    EXPECT_THAT(message_of([&] { GgufWriter(folder / "no/m", GgufMagic::gguf); }),
                HasSubstr("does not exist"));
    GgufWriter out(folder / "m", GgufMagic::gguf);
    out.add_tensor("x", DType::F32, {4, 1, 1, 1});
    EXPECT_THAT(message_of([&] {
                    out.add_tensor("x", DType::F32, {4, 1, 1, 1});
                }),
                HasSubstr("'x' was added twice"));
    EXPECT_THAT(message_of([&] { out.add_tensor("q", DType::Q4_0, {33, 1, 1, 1}); }), HasSubstr("{33}"));
    EXPECT_THAT(message_of([&] { out.add_tensor("z", DType::F32, {0, 1, 1, 1}); }), HasSubstr("{0}"));
    EXPECT_THAT(message_of([&] {
                    out.add_tensor("h", DType::F32, {1 << 30, 1 << 30, 1 << 30, 1});
                }),
                HasSubstr("cannot have the shape"));
    EXPECT_THAT(message_of([&] {
                    out.add_tensor(std::string(256, 'n'), DType::F32, {4, 1, 1, 1});
                }),
                HasSubstr("has 256 bytes"));
    EXPECT_THAT(message_of([&] { out.set("", GgufValue::of_u32(1)); }), HasSubstr("has 0 bytes"));
    out.set("k", GgufValue{GgufType::u8, {}, uint64_t{300}});
    EXPECT_THAT(message_of([&] { out.begin_data(); }), HasSubstr("key 'k': the value 300 does not fit"));
}

}  // namespace
}  // namespace powerinfer::formats
