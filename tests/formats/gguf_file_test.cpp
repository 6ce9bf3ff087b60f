// Sound files: what is read, how typed access behaves, split sets, and other people's files.
#include "formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "error_message.h"
#include "formats/gguf_image.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::formats {
namespace {

using test::Image;
using test::message_of;
using test::RawGguf;
using test::sound_gguf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Gguf, ReadsEveryKindOfKey) {
    const Image image = sound_gguf().build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gguf");
    EXPECT_EQ(f.version(), 3u);
    EXPECT_EQ(f.magic(), GgufMagic::gguf);
    EXPECT_EQ(f.alignment(), 32u);
    EXPECT_EQ(f.n_bytes(), image.bytes.size());
    EXPECT_EQ(f.keys().size(), 17u);
    EXPECT_EQ(f.keys()[2].first, "k.u8");
    EXPECT_EQ(f.get_string("general.architecture"), "llama");
    EXPECT_EQ(f.get_uint("k.u8"), 200u);
    EXPECT_EQ(f.get_uint("k.u16"), 60000u);
    EXPECT_EQ(f.get_uint("k.u64"), 1ull << 40);
    EXPECT_EQ(std::get<int64_t>(f.find("k.i8")->data), -5);
    EXPECT_EQ(std::get<int64_t>(f.find("k.i16")->data), -30000);
    EXPECT_EQ(std::get<int64_t>(f.find("k.i64")->data), -(1ll << 40));
    EXPECT_EQ(f.get_float("k.f32"), 1.5);
    EXPECT_EQ(f.get_float("k.f64"), 0.1);
    EXPECT_TRUE(f.get_bool("k.bool", false));
    EXPECT_THAT(*f.find_strings("k.strings"), ElementsAre("one", "", "three"));
    EXPECT_THAT(*f.find_floats("k.f32s"), ElementsAre(0.5, -1.0));
    EXPECT_THAT(*f.find_ints("k.i32s"), ElementsAre(1, -2, 3));
    EXPECT_THAT(*f.find_ints("k.u8s"), ElementsAre(255, 0));
    EXPECT_THAT(std::get<std::vector<bool>>(f.find("k.bools")->data), ElementsAre(true, false, true));
    EXPECT_EQ(type_text(*f.find("k.bools")), "array of bool");
}

TEST(Gguf, PlacesTensors) {
    const Image image = sound_gguf().build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gguf");
    ASSERT_EQ(f.tensors().size(), 3u);
    const GgufTensor* b = f.find_tensor("b.weight");
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->view.type, DType::Q4_0);
    EXPECT_EQ(b->view.ne, (std::array<int64_t, 4>{64, 2, 1, 1}));
    EXPECT_EQ(b->view.n_bytes(), 72u);
    const size_t data_start = image.bytes.size() - 176;
    EXPECT_EQ(b->offset, data_start + 64);
    EXPECT_EQ(b->view.data, image.bytes.data() + data_start + 64);
    EXPECT_EQ(f.find_tensor("d.weight"), nullptr);
}

TEST(Gguf, DefaultsServeOnlyMissingKeys) {
    const Image image = sound_gguf().build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gguf");
    EXPECT_EQ(f.get_uint("no", 7), 7u);
    EXPECT_EQ(f.get_float("no", 0.5), 0.5);
    EXPECT_TRUE(f.get_bool("no", true));
    EXPECT_EQ(f.get_string("no", "x"), "x");
    EXPECT_EQ(f.find_strings("no"), nullptr);
    EXPECT_FALSE(f.find_floats("no").has_value());
    EXPECT_FALSE(f.find_ints("no").has_value());
    EXPECT_EQ(message_of([&] { f.get_uint("k.f32", 7); }),
              "'m.gguf': key 'k.f32' has type f32, expected an unsigned integer");
    EXPECT_EQ(message_of([&] { f.get_uint("k.i32"); }),
              "'m.gguf': key 'k.i32' is -7, expected a value of at least 0");
    EXPECT_EQ(message_of([&] { f.get_uint("no"); }),
              "'m.gguf': key 'no' is missing, expected a value of type unsigned integer");
    EXPECT_THAT(message_of([&] { f.get_float("k.u8", 1.0); }),
                HasSubstr("'k.u8' has type u8, expected f32 or f64"));
    EXPECT_THAT(message_of([&] { f.get_bool("k.u8", true); }),
                HasSubstr("'k.u8' has type u8, expected bool"));
    EXPECT_THAT(message_of([&] { f.get_string("k.strings"); }),
                HasSubstr("has type array of string, expected string"));
    EXPECT_THAT(message_of([&] { f.find_strings("k.f32s"); }),
                HasSubstr("has type array of f32, expected array of string"));
    EXPECT_THAT(message_of([&] { f.find_floats("k.u8s"); }),
                HasSubstr("has type array of u8, expected array of f32 or f64"));
    EXPECT_THAT(message_of([&] { f.find_ints("k.f32s"); }),
                HasSubstr("has type array of f32, expected array of integers"));
}

TEST(Gguf, IntegersOfAnyWidthServe) {
    RawGguf g = sound_gguf();
    g.keys.emplace_back("n", test::i64(4096));
    g.keys.emplace_back("wide", test::array_of<uint64_t>(10, {1ull << 63}));
    const Image image = g.build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gguf");
    EXPECT_EQ(f.get_uint("n"), 4096u);
    EXPECT_THAT(message_of([&] { f.find_ints("wide"); }), HasSubstr("key 'wide' holds 9223372036854775808"));
}

TEST(Gguf, VersionTwoAndPowerInferMagicLoad) {
    RawGguf g = sound_gguf();
    g.version = 2;
    g.magic = "PWRI";
    const Image image = g.build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gguf");
    EXPECT_EQ(f.version(), 2u);
    EXPECT_EQ(f.magic(), GgufMagic::pwri);
}

TEST(Gguf, ReadsAnUpstreamGpuIndex) {
    // I32 has the id 18 there, and a layer with nothing on the GPU has an empty bucket.
    RawGguf g;
    g.magic = "PWRI";
    g.keys = {{"general.architecture", test::text("generic.gpu_index")}};
    g.tensors = {{"blk.0.gpu_idx", {8}, 18, 0}, {"blk.0.gpu_bucket", {0}, 18, 32}};
    g.data_bytes = 32;
    const Image image = g.build();
    const GgufFile f = GgufFile::parse(image.bytes, "m.gpuidx");
    EXPECT_EQ(f.tensors()[0].view.type, DType::I32);
    EXPECT_EQ(f.tensors()[1].view.n_elements(), 0);
    EXPECT_EQ(f.tensors()[1].view.n_bytes(), 0u);
}

TEST(Gguf, VocabularyFilesOfOthersOpen) {
    SHARED_PATH_OR_SKIP(folder, "vectors/tokenizers");
    int n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".gguf") continue;
        ++n;
        const GgufFile f = GgufFile::open(entry.path());
        ASSERT_NE(f.find_strings("tokenizer.ggml.tokens"), nullptr) << entry;
        EXPECT_GE(f.find_strings("tokenizer.ggml.tokens")->size(), 32000u) << entry;
        EXPECT_EQ(f.get_string("general.architecture").empty(), false);
        EXPECT_EQ(f.n_bytes(), entry.file_size());
        EXPECT_EQ(f.parts().size(), 1u);
    }
    EXPECT_GE(n, 6);
    const GgufFile f = GgufFile::open(folder / "ggml-vocab-llama-spm.gguf");
    EXPECT_EQ(f.find_strings("tokenizer.ggml.tokens")->at(1), "<s>");
    EXPECT_EQ(f.find_floats("tokenizer.ggml.scores")->size(), 32000u);
    EXPECT_EQ(f.find_ints("tokenizer.ggml.token_type")->at(3), 6);
}

}  // namespace
}  // namespace powerinfer::formats
