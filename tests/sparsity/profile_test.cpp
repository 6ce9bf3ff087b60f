#include "sparsity/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "error_message.h"
#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::sparsity {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::TinyModel;
using test::TinyShape;
using testing::HasSubstr;

ActivationProfile small_profile(uint64_t scale = 1) {
    ActivationProfile p;
    p.n_tokens = 10 * scale;
    p.fingerprint = 77;
    p.n_embd = 8;
    p.n_ff = 4;
    p.sources = {"a.txt"};
    const auto f = static_cast<double>(scale);
    p.layers = {{{1 * scale, 0, 10 * scale, 9 * scale},
                 {-1 * f, 0, 5 * f, 2 * f},
                 {1 * f, 0, 9 * f, 4 * f},
                 {2 * f, 0, 3 * f, 7 * f}},
                {{0, 2 * scale, 0, 0}, {0, 1 * f, 0, 0}, {0, 1 * f, 0, 0}, {0, 4 * f, 0, 0}}};
    return p;
}

void expect_equal(const ActivationProfile& a, const ActivationProfile& b) {
    EXPECT_EQ(a.n_tokens, b.n_tokens);
    EXPECT_EQ(a.fingerprint, b.fingerprint);
    EXPECT_EQ(a.n_embd, b.n_embd);
    EXPECT_EQ(a.n_ff, b.n_ff);
    ASSERT_EQ(a.layers.size(), b.layers.size());
    for (size_t i = 0; i < a.layers.size(); ++i) {
        EXPECT_EQ(a.layers[i].fires, b.layers[i].fires);
        EXPECT_EQ(a.layers[i].sum, b.layers[i].sum);
        EXPECT_EQ(a.layers[i].sum_of_squares, b.layers[i].sum_of_squares);
        EXPECT_EQ(a.layers[i].contribution, b.layers[i].contribution);
    }
}

TEST(Profile, IsReadBackAsItWasWritten) {
    TemporaryFolder folder;
    ActivationProfile p = small_profile();
    write_profile(folder / "p.gguf", p);
    expect_equal(open_profile(folder / "p.gguf"), p);
    EXPECT_EQ(open_profile(folder / "p.gguf").sources, p.sources);
    // Counts alone, as published profiles have them.
    for (LayerProfile& layer : p.layers) layer.sum = layer.sum_of_squares = layer.contribution = {};
    p.n_tokens = p.fingerprint = 0;
    p.n_embd = 0;
    p.sources = {};
    write_profile(folder / "p.gguf", p);
    expect_equal(open_profile(folder / "p.gguf"), p);
    EXPECT_FALSE(open_profile(folder / "p.gguf").has_moments());
}

TEST(Profile, MergesBySum) {
    ActivationProfile p = small_profile(1);
    p.merge(small_profile(2));
    expect_equal(p, small_profile(3));
    EXPECT_EQ(p.sources.size(), 2u);
}

TEST(Profile, RefusesToMergeWhatDoesNotBelongTogether) {
    const auto merged_with = [](auto&& change) {
        ActivationProfile p = small_profile(), q = small_profile();
        change(q);
        return message_of([&] { p.merge(q); });
    };
    EXPECT_THAT(merged_with([](ActivationProfile& q) { q.layers.pop_back(); }),
                HasSubstr("2 layers of 4 neurons (n_embd 8) and 1 of 4"));
    EXPECT_THAT(merged_with([](ActivationProfile& q) { q.fingerprint = 78; }), HasSubstr("different models"));
    EXPECT_THAT(merged_with([](ActivationProfile& q) { q.n_tokens = 0; }), HasSubstr("counts alone"));
    EXPECT_THAT(merged_with([](ActivationProfile& q) {
                    q.layers[1].fires[0] = std::numeric_limits<int64_t>::max();
                    q.layers[1].fires[1] = q.layers[1].fires[0];
                }),
                HasSubstr("exceeds"));
}

TEST(Profile, TellsThePowerLaw) {
    const ActivationProfile p = small_profile();
    EXPECT_DOUBLE_EQ(p.frequency(0, 2), 1.0);
    EXPECT_DOUBLE_EQ(p.active_share(0), 0.5);
    EXPECT_DOUBLE_EQ(p.share_covering(0, 0.8), 0.5);   // 10 + 9 of 20
    EXPECT_DOUBLE_EQ(p.share_covering(0, 0.5), 0.25);  // 10 of 20
    EXPECT_DOUBLE_EQ(p.share_covering(1, 0.8), 0.25);
}

/// Writes the small profile with something else than it should have.
std::string message_for(const std::function<void(ActivationProfile&)>& change) {
    TemporaryFolder folder;
    ActivationProfile p = small_profile();
    change(p);
    write_profile(folder / "p.gguf", p);
    return message_of([&] { open_profile(folder / "p.gguf"); });
}

TEST(Profile, RefusesImpossibleNumbers) {
    EXPECT_THAT(message_for([](auto& p) { p.layers[1].fires[2] = 11; }),
                HasSubstr("'powerinfer.profile.1.fires' holds the count 11"));
    EXPECT_THAT(message_for([](auto& p) { p.layers[1].fires[2] = ~0ull; }),
                HasSubstr("holds the count 18446744073709551615"));
    EXPECT_THAT(message_for([](auto& p) { p.layers[0].sum[1] = std::numeric_limits<double>::quiet_NaN(); }),
                HasSubstr("'powerinfer.profile.0.sum' holds nan"));
    EXPECT_THAT(message_for([](auto& p) { p.layers[0].contribution[1] = -1; }), HasSubstr("of at least 0"));
    EXPECT_THAT(message_for([](auto& p) { p.n_tokens = ~0ull; }), HasSubstr("which no text has"));
}

TEST(Profile, RefusesFilesThatMissSomething) {
    using formats::GgufValue;
    TemporaryFolder folder;
    const auto message = [&](const std::string& leave_out, int n_layer, size_t n_ff, bool as_floats) {
        formats::GgufWriter out(folder / "p.gguf", formats::GgufMagic::gguf);
        const std::map<std::string, GgufValue> keys = {
            {"version", GgufValue::of_u32(leave_out == "newer" ? 9 : 1)},
            {"tokens", GgufValue::of_u64(5)},
            {"fingerprint", GgufValue::of_u64(5)},
            {"n_layer", GgufValue::of_u32(static_cast<uint32_t>(n_layer))},
            {"n_embd", GgufValue::of_u32(8)},
            {"n_ff", GgufValue::of_u32(4)}};
        for (const auto& [name, value] : keys)
            if (name != leave_out) out.set("powerinfer.profile." + name, value);
        GgufValue fires{.type = formats::GgufType::array,
                        .element = formats::GgufType::u64,
                        .data = std::vector<uint64_t>(n_ff)};
        if (as_floats) fires = GgufValue::of_f32s(std::vector<double>(n_ff));
        out.set("powerinfer.profile.0.fires", fires);
        out.finish();
        return message_of([&] { open_profile(folder / "p.gguf"); });
    };
    EXPECT_EQ(message("", 1, 4, false), "(no error)");
    EXPECT_THAT(message("version", 1, 4, false), HasSubstr("holds no activation profile"));
    EXPECT_THAT(message("newer", 1, 4, false), HasSubstr("version 9, expected 1"));
    for (const char* name : {"tokens", "fingerprint", "n_layer", "n_embd", "n_ff"})
        EXPECT_THAT(message(name, 1, 4, false), HasSubstr(std::string("powerinfer.profile.") + name));
    EXPECT_THAT(message("", 2, 4, false), HasSubstr("no key 'powerinfer.profile.1.fires'"));
    EXPECT_THAT(message("", 0, 4, false), HasSubstr("is 0, expected 1 to"));
    EXPECT_THAT(message("", 1, 5, false), HasSubstr("has 5 values, expected one for each of 4 neurons"));
    EXPECT_THAT(message("", 1, 4, true), HasSubstr("is array of f32, expected array of u64"));
}

/// A profile file, with the order of moved neurons as a model file has it.
void write_with_order(const std::string& path, const ActivationProfile& p,
                      const std::vector<int64_t>& order) {
    formats::GgufWriter out(path, formats::GgufMagic::gguf);
    declare_profile(out, p);
    for (int i = 0; i < p.n_layer(); ++i)
        out.set("powerinfer.neuron_order." + std::to_string(i), formats::GgufValue::of_i32s(order));
    out.finish();
}

TEST(Profile, KnowsWhoseNumbersItsNeuronsHave) {
    TemporaryFolder folder;
    const ActivationProfile plain = small_profile();
    write_with_order(folder / "a.gguf", plain, {2, 3, 0, 1});
    write_with_order(folder / "b.gguf", plain, {3, 2, 0, 1});
    const ActivationProfile a = open_profile(folder / "a.gguf"), b = open_profile(folder / "b.gguf");
    EXPECT_NE(a.numbering, 0u);
    EXPECT_NE(a.numbering, b.numbering);
    write_profile(folder / "alone.gguf", a);
    EXPECT_EQ(open_profile(folder / "alone.gguf").numbering, a.numbering);
    ActivationProfile p = plain;
    EXPECT_THAT(message_of([&] { p.merge(a); }), HasSubstr("number their neurons differently"));
    TinyModel tiny(TinyShape{});
    const auto m = tiny.write(folder / "m.gguf");
    ActivationProfile q = empty_profile(*m);
    EXPECT_EQ(message_of([&] { q.check_fits(*m, "q"); }), "(no error)");
    q.numbering = a.numbering;
    EXPECT_THAT(message_of([&] { q.check_fits(*m, "q"); }), HasSubstr("'q' numbers the neurons otherwise"));
}

TEST(Profile, FingerprintsTellModelsApartAndNotTheirNumberFormats) {
    TemporaryFolder folder;
    TinyModel one(TinyShape{.seed = 1}), same(TinyShape{.seed = 1}), other(TinyShape{.seed = 2});
    const auto a = one.write(folder / "a.gguf", DType::F32), b = same.write(folder / "b.gguf", DType::Q8_0),
               c = other.write(folder / "c.gguf", DType::F32);
    EXPECT_EQ(fingerprint_of(*a), fingerprint_of(*b));
    EXPECT_NE(fingerprint_of(*a), fingerprint_of(*c));
    const ActivationProfile p = empty_profile(*a);
    EXPECT_EQ(message_of([&] { p.check_fits(*b, "p.gguf"); }), "(no error)");
    EXPECT_THAT(message_of([&] { p.check_fits(*c, "p.gguf"); }),
                HasSubstr("'p.gguf' is a profile of another model of the same shape"));
    const auto wide = TinyModel(TinyShape{.n_ff = 128}).write(folder / "d.gguf");
    EXPECT_THAT(message_of([&] { p.check_fits(*wide, "p.gguf"); }),
                HasSubstr("layers of 96 neurons (n_embd 32), the model 2 of 128"));
}

}  // namespace
}  // namespace powerinfer::sparsity
