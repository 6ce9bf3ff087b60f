// The safetensors container: round trips, other people's files, damaged headers, shards.
#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "error_message.h"
#include "formats/image.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::formats {
namespace {

using test::message_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Header text and data bytes to a file; the header length may lie.
std::vector<uint8_t> image_of(std::string_view header, size_t data_bytes,
                              std::optional<uint64_t> length = {}) {
    test::Image image;
    image.raw<uint64_t>(length.value_or(header.size()));
    image.text(header);
    for (size_t i = 0; i < data_bytes; ++i) image.bytes.push_back(static_cast<uint8_t>(i));
    return image.bytes;
}

std::string message_for(std::string_view header, size_t data_bytes = 16,
                        std::optional<uint64_t> length = {}) {
    const auto image = image_of(header, data_bytes, length);
    return message_of([&] { SafeTensorsFile::parse(image, "m.safetensors"); });
}

/// A header with one tensor 'a' whose three fields are given.
std::string header_of(const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
}

TEST(SafeTensors, ReadsTensorsAndSkipsMetadata) {
    const auto image = image_of(
        R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I16","shape":[2,3],"data_offsets":[4,16]},)"
        R"("s":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"e":{"dtype":"F32","shape":[0,4],"data_offsets":[1,1]}})",
        16);
    const SafeTensorsFile f = SafeTensorsFile::parse(image, "m");
    ASSERT_EQ(f.tensors().size(), 3u);
    EXPECT_THAT(f.at("a").shape, ElementsAre(2, 3));
    EXPECT_EQ(f.at("a").n_elements(), 6);
    EXPECT_THAT(f.at("a").to_ints(), ElementsAre(0x0504, 0x0706, 0x0908, 0x0B0A, 0x0D0C, 0x0F0E));
    EXPECT_EQ(f.at("s").n_elements(), 1);
    EXPECT_EQ(f.at("e").n_elements(), 0);
    EXPECT_EQ(f.find("x"), nullptr);
    EXPECT_EQ(message_of([&] { f.at("x"); }), "'m': tensor 'x' is missing");
    EXPECT_THAT(message_of([&] { f.at("a").to_floats(); }), HasSubstr("type I16 cannot be read as floats"));
    EXPECT_THAT(message_of([&] { f.at("e").to_ints(); }), HasSubstr("type F32 cannot be read as integers"));
}

TEST(SafeTensors, ConvertsNumbers) {
    const float f32[] = {1.5f, -0.0f};
    const uint16_t f16[] = {0x3C00, 0xC000, 0x0001};
    const uint16_t bf16[] = {0x3FC0};
    const double f64[] = {0.5};
    const int64_t i64[] = {-(int64_t{1} << 40)};
    const int32_t i32[] = {-7};
    const int8_t i8[] = {-1};
    const test::TemporaryFolder folder;
    const std::string path = folder / "m.safetensors";
    write_safetensors(path, {{"f32", "F32", {2}, f32, 8},
                             {"f16", "F16", {3, 1}, f16, 6},
                             {"bf16", "BF16", {1}, bf16, 2},
                             {"f64", "F64", {1}, f64, 8},
                             {"i64", "I64", {1}, i64, 8},
                             {"i32", "I32", {}, i32, 4},
                             {"i8", "I8", {1}, i8, 1}});
    const SafeTensorsFile f = SafeTensorsFile::open(path);
    EXPECT_THAT(f.at("f32").to_floats(), ElementsAre(1.5f, -0.0f));
    EXPECT_TRUE(std::signbit(f.at("f32").to_floats()[1]));
    EXPECT_THAT(f.at("f16").to_floats(), ElementsAre(1.0f, -2.0f, 0x1p-24f));
    EXPECT_THAT(f.at("f16").shape, ElementsAre(3, 1));
    EXPECT_THAT(f.at("bf16").to_floats(), ElementsAre(1.5f));
    EXPECT_THAT(f.at("f64").to_floats(), ElementsAre(0.5f));
    EXPECT_THAT(f.at("i64").to_ints(), ElementsAre(-(int64_t{1} << 40)));
    EXPECT_THAT(f.at("i32").to_ints(), ElementsAre(-7));
    EXPECT_TRUE(f.at("i32").shape.empty());
    EXPECT_THAT(f.at("i8").to_ints(), ElementsAre(-1));
    const auto bytes = test::read_file(path);
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    EXPECT_EQ(length % 8, 0u);
    EXPECT_EQ(bytes.size(), 8 + length + 8 + 6 + 2 + 8 + 8 + 4 + 1);
}

TEST(SafeTensors, WriterRefusesWhatCannotBeRead) {
    const test::TemporaryFolder folder;
    const float x[2] = {};
    const auto write = [&](std::vector<SafeTensorData> t) {
        return message_of([&] { write_safetensors(folder / "m", t); });
    };
    EXPECT_THAT(write({{"a", "F32", {3}, x, 8}}), HasSubstr("has 8 bytes, its shape wants 12"));
    EXPECT_THAT(write({{"a", "Q4", {0}, x, 0}}), HasSubstr("dtype Q4"));
    EXPECT_THAT(write({{"a", "F32", {2}, x, 8}, {"a", "F32", {2}, x, 8}}), HasSubstr("'a' is taken"));
    EXPECT_THAT(write({{"\xFF", "F32", {2}, x, 8}}), HasSubstr("not UTF-8"));
    EXPECT_EQ(folder.n_files(), 0u);
}

TEST(SafeTensors, FilesOfOthersOpen) {
    SHARED_PATH_OR_SKIP(folder, "oracles/llama-relu-predictors");
    const SafeTensorsFile f = SafeTensorsFile::open_folder(folder);
    EXPECT_EQ(f.at("model.embed_tokens.weight").shape.size(), 2u);
    int n = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(test::shared_folder())) {
        if (entry.path().extension() != ".safetensors") continue;
        SCOPED_TRACE(entry.path());
        const SafeTensorsFile one = SafeTensorsFile::open(entry.path());
        EXPECT_FALSE(one.tensors().empty());
        ++n;
    }
    EXPECT_GT(n, 40);
}

TEST(SafeTensorsDamaged, NamedCases) {
    const std::string good = header_of("\"F32\"", "[4]", "[0,16]");
    EXPECT_EQ(message_for(good), "(no error)");
    EXPECT_THAT(message_for(good, 16, ~uint64_t{0}), HasSubstr("is not a safetensors file"));
    EXPECT_THAT(message_for(good, 16, 100'000'001), HasSubstr("is not a safetensors file"));
    EXPECT_THAT(message_for(good, 16, 0), HasSubstr("is not a safetensors file"));
    EXPECT_THAT(message_for(good, 16, 99'999'999), HasSubstr("the file ends inside the header"));
    EXPECT_THAT(message_for(good, 16, good.size() - 1), HasSubstr("its JSON is damaged at byte"));
    EXPECT_THAT(message_for(good, 16, good.size() + 1), HasSubstr("its JSON is damaged at byte"));
    EXPECT_THAT(message_for("[1]"), HasSubstr("is not a safetensors file"));
    EXPECT_THAT(message_for("{\"\xFF\":1}"), HasSubstr("its JSON is damaged"));
    EXPECT_THAT(message_for("{\"a\":1e999}"), HasSubstr("its JSON is damaged"));
    EXPECT_THAT(message_for("{\"a\":" + std::string(100000, '[')), HasSubstr("nested too deeply"));
    EXPECT_THAT(message_for(R"({"a":1})"), HasSubstr("tensor 'a' has no 'dtype', expected a string"));
    EXPECT_THAT(message_for(R"({"a":{"dtype":"F32"}})"),
                HasSubstr("tensor 'a' has no 'shape', expected an array"));
    EXPECT_THAT(message_for(header_of("3", "[4]", "[0,16]")), HasSubstr("tensor 'a' has no 'dtype'"));
    EXPECT_THAT(message_for(header_of("\"F4\"", "[4]", "[0,16]")), HasSubstr("tensor 'a' has dtype 'F4'"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[-4]", "[0,16]")),
                HasSubstr("'shape' = [-4], expected whole"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[4.0]", "[0,16]")),
                HasSubstr("'shape' = [4.0], expected whole"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[\"4\"]", "[0,16]")), HasSubstr("expected whole"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[18446744073709551615]", "[0,16]")),
                HasSubstr("expected whole"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[4294967296,4294967296]", "[0,16]")),
                HasSubstr("tensor 'a' has a shape of more than 2^63 bytes"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[0,4294967296,4294967296]", "[0,0]")), "(no error)");
    EXPECT_THAT(message_for(header_of("\"F32\"", "[4]", "[0]")), HasSubstr("has data_offsets [0], expected"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[4]", "[16,0]")), HasSubstr("has data_offsets [16,0]"));
    EXPECT_THAT(message_for(header_of("\"F32\"", "[4]", "[1,17]")), HasSubstr("inside the 16 bytes of data"));
    EXPECT_THAT(message_for(good, 15), HasSubstr("inside the 15 bytes of data"));
    EXPECT_THAT(
        message_for(header_of("\"F16\"", "[4]", "[0,16]")),
        HasSubstr("tensor 'a' needs 8 bytes by its shape and dtype F16, but its data_offsets give 16"));
    const std::string entry = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
    EXPECT_THAT(message_for("{\"a\":" + entry + ",\"a\":" + entry + "}"),
                HasSubstr("the name 'a' occurs twice"));
    EXPECT_THAT(message_for("{\"a\":" + entry + ",\"b\":" + entry + "}"),
                HasSubstr("tensors 'a' and 'b' overlap"));
    EXPECT_THAT(message_of([] { SafeTensorsFile::parse({}, "m"); }), HasSubstr("'m' is empty"));
    const std::string lfs = "version https://git-lfs.github.com/spec/v1\n";
    const std::vector<uint8_t> bytes(lfs.begin(), lfs.end());
    EXPECT_THAT(message_of([&] { SafeTensorsFile::parse(bytes, "m"); }), HasSubstr("Git-LFS pointer"));
}

TEST(SafeTensorsDamaged, ManySmallValuesAreRefusedNotHeld) {
    std::string header = "{\"a\":[";
    for (int i = 0; i < 5'000'000; ++i) header += "1,";
    EXPECT_THAT(message_for(header + "1]}"), HasSubstr("holds more than 4000000 values"));
}

TEST(SafeTensorsDamaged, EveryTruncationAndEveryByteChanged) {
    const auto image = image_of(
        R"({"a":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]},"b":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
        16);
    const auto parse = [](const std::vector<uint8_t>& bytes) {
        return message_of([&] {
            uint64_t sum = 0;
            const SafeTensorsFile f = SafeTensorsFile::parse(bytes, "m");
            for (const auto& [name, t] : f.tensors())
                for (const uint8_t b : t.bytes) sum += b;
            EXPECT_LT(sum, 1u << 20);
        });
    };
    EXPECT_EQ(parse(image), "(no error)");
    for (size_t n = 0; n < image.size(); ++n)
        EXPECT_THAT(parse({image.begin(), image.begin() + static_cast<ptrdiff_t>(n)}), StartsWith("'m'"))
            << n;
    for (size_t i = 0; i < image.size() - 16; ++i) {
        for (const int change : {0x01, 0x02, 0x10, 0x40, 0x80}) {
            auto bytes = image;
            bytes[i] = static_cast<uint8_t>(bytes[i] ^ change);
            EXPECT_THAT(parse(bytes), testing::AnyOf(StartsWith("'m'"), "(no error)"));
        }
    }
    test::Image whole;
    whole.bytes = image;
    const test::Field length{0, 8, "header length"};
    for (const uint64_t value : test::awkward_values(test::field_value(whole, length))) {
        EXPECT_THAT(parse(test::with_field(whole, length, value)), StartsWith("'m'")) << value;
    }
}

class SafeTensorsFolder : public testing::Test {
  protected:
    void index(const std::string& text) const {
        folder_.file("model.safetensors.index.json", std::vector<uint8_t>(text.begin(), text.end()));
    }
    void shard(const std::string& file, const std::string& tensor, float value) const {
        write_safetensors(folder_ / file, {{tensor, "F32", {1}, &value, 4}});
    }
    std::string open() const {
        return message_of([&] { SafeTensorsFile::open_folder(folder_ / ""); });
    }
    test::TemporaryFolder folder_;
};

TEST_F(SafeTensorsFolder, ShardsAreOneSet) {
    shard("m-1.safetensors", "a", 1);
    shard("m-2.safetensors", "b", 2);
    index(R"({"metadata":{"total_size":8},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
    const SafeTensorsFile f = SafeTensorsFile::open_folder(folder_ / "");
    EXPECT_THAT(f.at("a").to_floats(), ElementsAre(1.0f));
    EXPECT_THAT(f.at("b").to_floats(), ElementsAre(2.0f));
}

TEST_F(SafeTensorsFolder, FaultsNameTheFile) {
    EXPECT_THAT(open(), HasSubstr("holds neither 'model.safetensors' nor"));
    EXPECT_THAT(message_of([&] { SafeTensorsFile::open_folder(folder_ / "no"); }),
                HasSubstr("is not a folder"));
    shard("m-1.safetensors", "a", 1);
    index(R"({"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
    EXPECT_THAT(open(), AllOf(HasSubstr("m-2.safetensors"), HasSubstr("missing")));
    index(R"({"weight_map":{"a":"m-1.safetensors","b":"m-1.safetensors"}})");
    EXPECT_THAT(open(), AllOf(HasSubstr("m-1.safetensors': tensor 'b' is missing")));
    shard("m-2.safetensors", "a", 1);
    index(R"({"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
    EXPECT_THAT(open(), HasSubstr("tensor 'a' is also in another part"));
    index(R"({"weight_map":{"a":"../m-1.safetensors"}})");
    EXPECT_THAT(open(), HasSubstr("maps tensor 'a' to '../m-1.safetensors', expected the name of a file"));
    index(R"({"weight_map":{"a":7}})");
    EXPECT_THAT(open(), HasSubstr("expected the name of a file"));
    index(R"({"weight_map":[]})");
    EXPECT_THAT(open(), HasSubstr("'weight_map' is missing"));
    index("<html>");
    EXPECT_THAT(open(), HasSubstr("a web page"));
    index("");
    EXPECT_THAT(open(), HasSubstr("it is empty"));
}

}  // namespace
}  // namespace powerinfer::formats
