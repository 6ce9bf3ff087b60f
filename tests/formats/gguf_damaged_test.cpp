// Named damaged files, each beside a twin that has the same feature undamaged and loads. Every refusal must
// name the key or tensor and what was found. Then a generator: every number of a sound file set to every
// awkward value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "error_message.h"
#include "formats/gguf.h"
#include "formats/gguf_damage.h"

namespace powerinfer::formats {
namespace {

using test::array_of;
using test::Image;
using test::message_of;
using test::RawGguf;
using test::RawValue;
using test::sound_gguf;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(GgufDamaged, NamedCasesAreRefusedAndTheirTwinsLoad) {
    EXPECT_GE(std::size(test::kDamageCases), 40u);
    for (const test::DamageCase& c : test::kDamageCases) {
        SCOPED_TRACE(c.name);
        RawGguf bad = sound_gguf();
        c.damage(bad);
        const Image image = bad.build();
        EXPECT_THAT(message_of([&] { GgufFile::parse(image.bytes, "m.gguf"); }),
                    AllOf(StartsWith("'m.gguf'"), HasSubstr(c.says)));
        RawGguf good = sound_gguf();
        c.twin(good);
        const Image twin = good.build();
        EXPECT_EQ(message_of([&] { GgufFile::parse(twin.bytes, "m.gguf"); }), "(no error)");
    }
}

std::string message_for(std::string_view content) {
    return message_of([&] {
        GgufFile::parse({reinterpret_cast<const uint8_t*>(content.data()), content.size()}, "m.gguf");
    });
}

TEST(GgufDamaged, FilesThatAreSomethingElseAreSaidToBeSo) {
    EXPECT_EQ(message_for(""), "'m.gguf' is empty, expected a GGUF file");
    EXPECT_EQ(message_for("GG"), "'m.gguf' is 2 bytes long, too short for a GGUF file");
    EXPECT_THAT(message_for("GGUF"), HasSubstr("4 bytes long, too short for the 24 bytes of a GGUF header"));
    EXPECT_THAT(message_for("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
                HasSubstr("Git-LFS"));
    for (const char* page :
         {"<!DOCTYPE html><html>", "<!doctype HTML>", "\n  <html lang=en>", "\xEF\xBB\xBF<HTML>"})
        EXPECT_THAT(message_for(page), HasSubstr("a web page (HTML)")) << page;
    EXPECT_THAT(message_for("PK\x03\x04........"), HasSubstr("a zip archive"));
    EXPECT_THAT(message_for("{\"error\": \"no\"}"), HasSubstr("a JSON text"));
    EXPECT_THAT(message_for(std::string_view("\x40\0\0\0\0\0\0\0{\"a\"", 12)),
                HasSubstr("a safetensors file"));
}

TEST(GgufDamaged, NamesInMessagesStayOnOneLine) {
    RawGguf g = sound_gguf();
    g.tensors[1].name = "evil\nname\x1b[31m\xFF";
    g.tensors[1].type = 4;
    const Image image = g.build();
    EXPECT_THAT(message_of([&] { GgufFile::parse(image.bytes, "m.gguf"); }),
                HasSubstr("tensor 'evil\\x0aname\\x1b[31m\\xff' has"));
}

TEST(GgufDamaged, MetadataIsBoundedInMemory) {
    // 80 million bytes as an array of u8 would take 640 MB when widened.
    RawGguf g;
    g.keys = {{"x", array_of<uint8_t>(0, std::vector<uint8_t>(80'000'000))}};
    const Image image = g.build();
    EXPECT_THAT(message_of([&] { GgufFile::parse(image.bytes, "m.gguf"); }),
                HasSubstr("key 'x' brings the metadata to more than the 512 MiB"));
}

TEST(GgufDamaged, EveryTruncationIsRefused) {
    const Image image = sound_gguf().build();
    for (size_t n = 0; n < image.bytes.size(); ++n) {
        const std::vector<uint8_t> cut(image.bytes.begin(), image.bytes.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_THAT(message_of([&] { GgufFile::parse(cut, "m.gguf"); }), StartsWith("'m.gguf'")) << n;
    }
}

/// Touches what a caller would touch.
uint64_t use(const GgufFile& f) {
    uint64_t sum = 0;
    for (const auto& [key, value] : f.keys()) sum += type_text(value).size();
    for (const GgufTensor& t : f.tensors()) {
        const auto* p = static_cast<const uint8_t*>(t.view.data);
        for (size_t i = 0; i < t.view.n_bytes(); ++i) sum += p[i];
    }
    return sum;
}

TEST(GgufDamaged, EveryNumberMutatedIsReadOrRefused) {
    const auto start = std::chrono::steady_clock::now();
    for (const char* magic : {"GGUF", "PWRI"}) {
        RawGguf g = sound_gguf();
        g.magic = magic;
        const Image image = g.build();
        EXPECT_GE(image.fields.size(), 70u);
        int refused = 0, loaded = 0;
        for (const test::Field& field : image.fields) {
            const uint64_t x = test::field_value(image, field);
            for (const uint64_t value : test::awkward_values(x)) {
                SCOPED_TRACE(field.what);
                // A copy of exactly the right size, so that a sanitizer sees a read past its end.
                const std::vector<uint8_t> bytes = test::with_field(image, field, value);
                const std::string message = message_of([&] { use(GgufFile::parse(bytes, "m.gguf")); });
                if (message == "(no error)") {
                    ++loaded;
                } else {
                    ++refused;
                    EXPECT_THAT(message, StartsWith("'m.gguf'"));
                }
            }
        }
        EXPECT_GT(refused, 300);
        EXPECT_GT(loaded, 20);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace powerinfer::formats
