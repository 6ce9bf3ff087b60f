// PyTorch archives: other people's predictors, hand-made pickles, everything unneeded refused by name,
// damage.
#include "formats/torch_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "error_message.h"
#include "formats/torch_image.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::formats {
namespace {

namespace pk = test::pickle;
using test::message_of;
using test::RawZip;
using test::torch_file;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string message_for(const RawZip& zip) {
    const auto image = zip.build();
    return message_of([&] { TorchArchive::parse(image.bytes, "m.pt"); });
}
std::string message_for(const std::string& value) {
    return message_for(torch_file(value));
}

struct Expected {
    const char* file;
    const char* dtype;
    int64_t rank;
    uint16_t fc1_first, fc2_first;
    uint32_t fc1_sum, fc2_sum;
};

TEST(TorchArchive, PredictorsOfOthersAreReadExactly) {
    SHARED_PATH_OR_SKIP(folder, "oracles/llama-relu-predictors/predictor");
    // First element and sum of all 16-bit words, taken with Python's zipfile.
    const Expected all[] = {{"model_0.pt", "F16", 32, 0xA8F8, 0xA888, 0x35F34B8, 0x8CE730C},
                            {"model_1.pt", "BF16", 48, 0xBE76, 0x3B5B, 0x5CFE922, 0xEB4FE74}};
    for (const Expected& e : all) {
        const TorchArchive f = TorchArchive::open(folder / e.file);
        ASSERT_EQ(f.tensors().size(), 2u);
        const SafeTensor& fc1 = f.tensors().at("fc1.weight");
        const SafeTensor& fc2 = f.tensors().at("fc2.weight");
        EXPECT_EQ(fc1.dtype, e.dtype);
        EXPECT_THAT(fc1.shape, ElementsAre(e.rank, 64));
        EXPECT_THAT(fc2.shape, ElementsAre(160, e.rank));
        const auto check = [](const SafeTensor& t, uint16_t first, uint32_t sum) {
            std::vector<uint16_t> words(t.bytes.size() / 2);
            std::memcpy(words.data(), t.bytes.data(), t.bytes.size());
            EXPECT_EQ(words.at(0), first);
            EXPECT_EQ(std::accumulate(words.begin(), words.end(), 0u), sum);
        };
        check(fc1, e.fc1_first, e.fc1_sum);
        check(fc2, e.fc2_first, e.fc2_sum);
    }
}

TEST(TorchArchive, BareTensorHasTheEmptyName) {
    const auto image = torch_file(pk::tensor({})).build();
    const TorchArchive f = TorchArchive::parse(image.bytes, "m.pt");
    ASSERT_EQ(f.tensors().size(), 1u);
    EXPECT_THAT(f.tensors().at("").shape, ElementsAre(2, 3));
    EXPECT_THAT(f.tensors().at("").to_floats(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TorchArchive, StridesOffsetsAndScalars) {
    const auto image =
        torch_file(pk::dict({{"transposed", pk::tensor({.shape = {3, 2}, .strides = {1, 3}})},
                             {"column", pk::tensor({.offset = 1, .shape = {2, 1}, .strides = {3, 7}})},
                             {"scalar", pk::tensor({.offset = 5, .shape = {}, .strides = {}})},
                             {"row", pk::tensor({.offset = 3, .shape = {1, 3}, .strides = {99, 1}})},
                             {"repeated", pk::tensor({.offset = 4, .shape = {3}, .strides = {0}})},
                             {"empty", pk::tensor({.shape = {0, 3}, .strides = {3, 1}})}}))
            .build();
    const TorchArchive f = TorchArchive::parse(image.bytes, "m.pt");
    EXPECT_THAT(f.tensors().at("transposed").to_floats(), ElementsAre(0, 3, 1, 4, 2, 5));
    EXPECT_THAT(f.tensors().at("column").to_floats(), ElementsAre(1, 4));
    EXPECT_THAT(f.tensors().at("scalar").to_floats(), ElementsAre(5));
    EXPECT_THAT(f.tensors().at("row").to_floats(), ElementsAre(3, 4, 5));
    EXPECT_THAT(f.tensors().at("repeated").to_floats(), ElementsAre(4, 4, 4));
    EXPECT_THAT(f.tensors().at("empty").to_floats(), ElementsAre());
    const TorchArchive moved = [&] {
        TorchArchive g = TorchArchive::parse(image.bytes, "m.pt");
        return g;
    }();
    EXPECT_THAT(moved.tensors().at("transposed").to_floats(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(TorchArchive, NestedValuesGetDottedNamesAndScalarsAreLeftOut) {
    const std::string parameter = pk::global("torch._utils", "_rebuild_parameter") + "(" + pk::tensor({}) +
                                  "\x88" + pk::global("collections", "OrderedDict") + ")RtR";
    const std::string state = pk::global("collections", "OrderedDict") + ")R(" + pk::text("w") + parameter +
                              "u}(" + pk::text("_metadata") + "}ub";  // a state dict with attributes
    const std::string g("G\x3F\xF0\0\0\0\0\0\0", 9);
    const auto image = torch_file(pk::dict({{"model", state},
                                            {"list", "](" + pk::tensor({}) + "K\x05" + pk::tensor({}) + "e"},
                                            {"pair", "K\x01" + pk::tensor({}) + "\x86"},
                                            {"epoch", "K\x05"},
                                            {"lr", g},
                                            {"note", pk::text("x")},
                                            {"none", "N"},
                                            {"seed", "\x8A\x0A" + std::string(10, '\x7F')}}))
                           .build();
    const TorchArchive f = TorchArchive::parse(image.bytes, "m.pt");
    std::vector<std::string> names;
    for (const auto& [name, t] : f.tensors()) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("list.0", "list.2", "model.w", "pair.1"));
}

TEST(TorchArchive, LaterProtocolsAreRead) {
    // Protocol 4: frame, short texts, STACK_GLOBAL, MEMOIZE.
    std::string value = "\x95";
    value += std::string(8, '\0');
    value += std::string(
        "}\x94\x8C\x01w\x8C\x0Ctorch._utils\x8C\x12_rebuild_tensor_v2\x93\x94(("
        "\x8C\x07storage\x8C\x05torch\x8C\x0C"
        "FloatStorage\x93\x8C\x01"
        "0\x8C\x03"
        "cpuK\x06tQ");
    value += "K" + std::string(1, '\0') + "K\x06\x85K\x01\x85\x89Nt";
    value += "Rs";
    RawZip zip = torch_file("");
    zip.entries[0].second = test::bytes_of("\x80\x04" + value + ".");
    const auto image = zip.build();
    const TorchArchive f = TorchArchive::parse(image.bytes, "m.pt");
    EXPECT_THAT(f.tensors().at("w").to_floats(), ElementsAre(0, 1, 2, 3, 4, 5));
    zip.entries[0].second[1] = 6;
    EXPECT_THAT(message_for(zip), HasSubstr("has protocol 6, expected 2 to 5"));
}

TEST(TorchArchive, EveryDtypeHasItsName) {
    const std::pair<const char*, const char*> all[] = {{"FloatStorage", "F32"},     {"HalfStorage", "F16"},
                                                       {"BFloat16Storage", "BF16"}, {"DoubleStorage", "F64"},
                                                       {"LongStorage", "I64"},      {"IntStorage", "I32"},
                                                       {"ShortStorage", "I16"},     {"CharStorage", "I8"},
                                                       {"ByteStorage", "U8"},       {"BoolStorage", "BOOL"}};
    for (const auto& [storage, dtype] : all) {
        const auto image =
            torch_file(pk::tensor({.storage = storage, .n_stored = 3, .shape = {3}, .strides = {1}})).build();
        const TorchArchive f = TorchArchive::parse(image.bytes, "m.pt");
        EXPECT_EQ(f.tensors().at("").dtype, dtype);
        EXPECT_EQ(f.tensors().at("").bytes.size(), 3 * safetensors_dtype_bytes(dtype));
    }
}

TEST(TorchArchive, ZipVariantsAreRead) {
    RawZip zip = torch_file(pk::tensor({}));
    zip.zip64 = true;
    EXPECT_EQ(message_for(zip), "(no error)");
    zip.comment = std::string(65535, 'c');
    EXPECT_EQ(message_for(zip), "(no error)");
    zip.flags = 8;  // data descriptors
    EXPECT_EQ(message_for(zip), "(no error)");
    zip.method = 8;
    EXPECT_THAT(message_for(zip), HasSubstr("'m.pt': entry 'm/data.pkl' is compressed (method 8, deflate)"));
    zip.flags = 1;
    EXPECT_THAT(message_for(zip), HasSubstr("entry 'm/data.pkl' is encrypted"));
}

TEST(TorchArchiveRefuses, EverythingThatCouldRunCode) {
    EXPECT_THAT(message_for(pk::global("os", "system") + pk::text("true") + "\x85R"),
                HasSubstr("'m.pt': its pickle asks for 'os.system', which tensors do not need"));
    EXPECT_THAT(message_for(pk::global("builtins", "eval")), HasSubstr("'builtins.eval'"));
    EXPECT_THAT(message_for(pk::global("torch._utils", "_rebuild_tensor_v3")),
                HasSubstr("_rebuild_tensor_v3"));
    EXPECT_THAT(message_for(pk::global("evil\x1b[2J", "x")), HasSubstr("'evil\\x1b[2J.x'"));
    EXPECT_THAT(message_for(pk::text("os") + pk::text("system") + "\x93"), HasSubstr("'os.system'"));
    EXPECT_THAT(message_for(")\x81"), HasSubstr("opcode 0x81"));
    EXPECT_THAT(message_for("(i"), HasSubstr("opcode 0x69"));
    EXPECT_THAT(message_for("\x82\x01"), HasSubstr("opcode 0x82"));
    EXPECT_THAT(message_for(pk::tensor({}) + "}b"), HasSubstr("sets the state of an object"));
    EXPECT_THAT(message_for(pk::global("collections", "OrderedDict") + "K\x01\x85R"),
                HasSubstr("'collections.OrderedDict' is called with the wrong arguments"));
    EXPECT_THAT(message_for(pk::global("torch", "FloatStorage") + ")R"),
                HasSubstr("'torch.FloatStorage' is called with the wrong arguments"));
}

TEST(TorchArchiveRefuses, DamagedPickles) {
    for (const char* program : {"",
                                "t",
                                "(",
                                "0",
                                "R",
                                "NR",
                                "NNR",
                                "s",
                                "}s",
                                "}Ns",
                                "}(Nu",
                                "](NNu",
                                "a",
                                "Na",
                                "h\x07",
                                "j\x07\x00\x00\x00",
                                "Q",
                                "NQ",
                                ")Q",
                                "cos",
                                "K",
                                "X\xFF\xFF\xFF\xFF",
                                "\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                                "\x8B\xFF\xFF\xFF\xFF",
                                "((N",
                                "(N",
                                "}(N"}) {
        EXPECT_THAT(message_for(std::string(program)), StartsWith("'m.pt'")) << program;
        EXPECT_NE(message_for(std::string(program)), "(no error)") << program;
    }
}

TEST(TorchArchiveRefuses, TensorsThatDoNotFitTheirStorage) {
    const auto with = [](pk::Tensor t) { return message_for(pk::dict({{"w", pk::tensor(t)}})); };
    constexpr int64_t kBig = int64_t{1} << 62;
    EXPECT_EQ(with({}), "(no error)");
    EXPECT_THAT(with({.key = "9"}), HasSubstr("tensor 'w' lies in entry 'data/9', which is missing"));
    EXPECT_THAT(with({.n_stored = 7}),
                HasSubstr("a storage of 7 F32 elements, but entry 'data/0' has only 24 bytes"));
    EXPECT_THAT(with({.n_stored = kBig}), HasSubstr("a storage of 4611686018427387904 F32 elements"));
    EXPECT_THAT(with({.n_stored = -1}), HasSubstr("a persistent id is not a storage"));
    EXPECT_THAT(with({.n_stored = 5}), HasSubstr("tensor 'w' reaches beyond the 5 elements of its storage"));
    EXPECT_THAT(with({.offset = 1}), HasSubstr("reaches beyond the 6 elements"));
    EXPECT_THAT(with({.offset = -1}), HasSubstr("has offset -1"));
    EXPECT_THAT(with({.offset = kBig}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.shape = {3, 3}}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.shape = {-2, 3}}), HasSubstr("has a dimension that is not a number of at least 0"));
    EXPECT_THAT(with({.shape = {kBig, kBig}}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.shape = {kBig, 2}, .strides = {0, 0}}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.strides = {4, 1}}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.strides = {-3, 1}}), HasSubstr("has a stride that is not a number of at least 0"));
    EXPECT_THAT(with({.strides = {kBig, kBig}}), HasSubstr("reaches beyond"));
    EXPECT_THAT(with({.shape = {6}}), HasSubstr("has 1 dimensions and 2 strides"));
    EXPECT_THAT(with({.shape = std::vector<int64_t>(9, 1), .strides = std::vector<int64_t>(9, 1)}),
                HasSubstr("at most 8"));
    EXPECT_THAT(with({.shape = {1 << 20}, .strides = {0}}), HasSubstr("repeats its elements"));
    EXPECT_EQ(with({.shape = {1, 1, 6}, .strides = {kBig, 2 * (kBig - 1), 1}}), "(no error)");
}

TEST(TorchArchiveRefuses, DeepAndCyclicAndManifoldValues) {
    std::string deep(100'000, ']');
    deep += std::string(99'999, 'a');
    EXPECT_THAT(message_for(deep), HasSubstr("its containers hold too much or each other"));
    EXPECT_THAT(message_for("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a"),
                HasSubstr("its containers hold too much or each other"));
    std::string doubled = "]";  // 2^30 paths to one empty list
    for (char slot = 1; slot <= 30; ++slot)
        doubled += std::string("q") + slot + "0](h" + slot + "h" + slot + "e";
    EXPECT_THAT(message_for(doubled), HasSubstr("its containers hold too much or each other"));
    EXPECT_THAT(message_for(std::string(2'000'001, 'N')), HasSubstr("holds more than 2000000 values"));
    EXPECT_THAT(message_for(std::string(17 << 20, 'N')), HasSubstr("its pickle has 17825"));
    EXPECT_THAT(message_for("}(NNu"), HasSubstr("has a key that is neither text nor number"));
    EXPECT_THAT(message_for(pk::dict({{"a", pk::tensor({})}, {"a", pk::tensor({})}})),
                HasSubstr("'a' occurs twice"));
}

TEST(TorchArchiveRefuses, FilesThatAreSomethingElse) {
    const auto message = [](std::string_view s) {
        const auto bytes = test::bytes_of(s);
        return message_of([&] { TorchArchive::parse(bytes, "m.pt"); });
    };
    EXPECT_THAT(message(""), HasSubstr("is empty"));
    EXPECT_THAT(
        message("\x80\x02\x8a\x0al\xfc\x9c."),
        HasSubstr("a bare pickle, as PyTorch wrote before version 1.6; load it with torch.load and save it "
                  "again with torch.save"));
    EXPECT_THAT(message("<html>"), HasSubstr("a web page"));
    EXPECT_THAT(message("version https://git-lfs.github.com/spec/v1"), HasSubstr("Git-LFS"));
    EXPECT_THAT(message("PK\x03\x04"), HasSubstr("cut short: it has no end record"));
    RawZip zip = torch_file("N");
    zip.entries[0].first = "m/other.pkl";
    EXPECT_THAT(message_for(zip), HasSubstr("without data.pkl"));
    zip = torch_file("N");
    zip.entries[1].second = test::bytes_of("big");
    EXPECT_THAT(message_for(zip), HasSubstr("big-endian"));
    zip = torch_file("N");
    zip.entries[1].first = "m/data/0";
    EXPECT_THAT(message_for(zip), HasSubstr("entry 'm/data/0' occurs twice"));
    zip = torch_file("N");
    zip.entries[1].first = "n/data.pkl";
    zip.entries[1].second = test::bytes_of("\x80\x02N.");
    EXPECT_THAT(message_for(zip), HasSubstr("more than one data.pkl"));
}

/// The sum bit by bit, as its definition has it.
uint32_t slow_crc(const std::vector<uint8_t>& bytes) {
    uint32_t sum = ~0u;
    for (const uint8_t b : bytes) {
        sum ^= b;
        for (int i = 0; i < 8; ++i) sum = sum >> 1 ^ (sum & 1u ? 0xEDB88320u : 0u);
    }
    return ~sum;
}

TEST(TorchArchiveDamaged, AMemberWithAnotherCrcIsNamed) {
    ASSERT_EQ(slow_crc(test::bytes_of("123456789")), 0xCBF43926u) << "the published check value";
    const RawZip sound = [] {
        RawZip zip = torch_file(pk::tensor({}));
        for (const auto& entry : zip.entries) zip.crcs.push_back(slow_crc(entry.second));
        return zip;
    }();
    EXPECT_EQ(message_for(sound), "(no error)");
    for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
        const std::string& name = sound.entries[i].first;
        for (const uint32_t bit : {1u, 0x80000000u}) {
            RawZip bad = sound;
            bad.crcs[i] ^= bit;
            EXPECT_THAT(message_for(bad), StartsWith("'m.pt': the zip archive is damaged or cut short: entry '" + name +
                                                     "' has the CRC " + fmt::format("{:08x}", sound.crcs[i])));
        }
        for (size_t at = 0; at < sound.entries[i].second.size(); ++at) {
            RawZip bad = sound;
            bad.entries[i].second[at] ^= 4;
            EXPECT_THAT(message_for(bad), HasSubstr("entry '" + name + "' has the CRC ")) << at;
        }
    }
    RawZip unread = sound;  // nobody asks for this one
    unread.entries.emplace_back("m/data/99", test::bytes_of("more"));
    unread.crcs.push_back(1);
    EXPECT_EQ(message_for(unread), "(no error)");
}

TEST(TorchArchiveDamaged, EveryNumberByteAndLengthOfTheFile) {
    for (const bool zip64 : {false, true}) {
        RawZip zip = torch_file(
            pk::dict({{"w", pk::tensor({})}, {"t", pk::tensor({.shape = {3, 2}, .strides = {1, 3}})}}));
        zip.zip64 = zip64;
        const test::Image image = zip.build();
        const auto parse = [](const std::vector<uint8_t>& bytes) {
            return message_of([&] {
                const TorchArchive f = TorchArchive::parse(bytes, "m.pt");
                uint64_t sum = 0;
                for (const auto& [name, t] : f.tensors())
                    for (const uint8_t b : t.bytes) sum += b;
                EXPECT_LT(sum, 1u << 20);
            });
        };
        ASSERT_EQ(parse(image.bytes), "(no error)");
        int refused = 0;
        for (const test::Field& field : image.fields) {
            for (const uint64_t value : test::awkward_values(test::field_value(image, field))) {
                const std::string message = parse(test::with_field(image, field, value));
                EXPECT_THAT(message, AnyOf(StartsWith("'m.pt'"), "(no error)")) << field.what;
                refused += message != "(no error)";
            }
        }
        EXPECT_GT(refused, 100);
        for (size_t n = 0; n < image.bytes.size(); ++n)
            EXPECT_THAT(parse({image.bytes.begin(), image.bytes.begin() + static_cast<ptrdiff_t>(n)}),
                        StartsWith("'m.pt'"));
        for (size_t i = 0; i < image.bytes.size(); ++i) {
            for (int bit = 0; bit < 8; ++bit) {
                auto bytes = image.bytes;
                bytes[i] = static_cast<uint8_t>(bytes[i] ^ 1 << bit);
                EXPECT_THAT(parse(bytes), AnyOf(StartsWith("'m.pt'"), "(no error)"));
            }
        }
    }
}

}  // namespace
}  // namespace powerinfer::formats
