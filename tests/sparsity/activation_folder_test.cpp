#include "sparsity/activation_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "error_message.h"
#include "formats/torch_image.h"
#include "temporary_folder.h"

namespace powerinfer::sparsity {
namespace {

namespace pk = test::pickle;
using test::message_of;
using test::RawZip;
using test::TemporaryFolder;
using testing::HasSubstr;

/// A file as torch.save writes a one-dimensional tensor.
template <class T>
std::vector<uint8_t> torch_vector(const std::vector<T>& values, const std::string& storage) {
    const auto n = static_cast<int64_t>(values.size());
    RawZip zip =
        test::torch_file(pk::tensor({.storage = storage, .n_stored = n, .shape = {n}, .strides = {1}}));
    std::vector<uint8_t> data(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
    zip.entries[2].second = data;
    return zip.build().bytes;
}

using Counts = std::vector<int64_t>;

std::string read_error(const TemporaryFolder& folder, const model::ModelSpec* spec = nullptr) {
    return message_of([&] { read_activation_folder(folder / ".", spec); });
}

TEST(ActivationFolder, TakesAnyNumberType) {
    const std::vector<uint64_t> expected = {3, 0, 250};
    const auto read = [&](const std::vector<uint8_t>& bytes) {
        TemporaryFolder folder;
        folder.file("activation_0.pt", bytes);
        const ActivationProfile p = read_activation_folder(folder / ".");
        EXPECT_EQ(p.n_tokens, 0u);
        EXPECT_FALSE(p.has_moments());
        return p.layers[0].fires;
    };
    EXPECT_EQ(read(torch_vector<int64_t>({3, 0, 250}, "LongStorage")), expected);
    EXPECT_EQ(read(torch_vector<int32_t>({3, 0, 250}, "IntStorage")), expected);
    EXPECT_EQ(read(torch_vector<int16_t>({3, 0, 250}, "ShortStorage")), expected);
    EXPECT_EQ(read(torch_vector<uint8_t>({3, 0, 250}, "ByteStorage")), expected);
    EXPECT_EQ(read(torch_vector<float>({3, 0, 250}, "FloatStorage")), expected);
    EXPECT_EQ(read(torch_vector<double>({3, 0, 250}, "DoubleStorage")), expected);
    EXPECT_EQ(read(torch_vector<uint16_t>({f32_to_f16(3), 0, f32_to_f16(250)}, "HalfStorage")), expected);
    EXPECT_EQ(read(torch_vector<uint16_t>({f32_to_bf16(3), 0, f32_to_bf16(250)}, "BFloat16Storage")),
              expected);
}

TEST(ActivationFolder, ScoresBecomeCountsInProportion) {
    TemporaryFolder folder;
    folder.file("activation_0.pt", torch_vector<double>({0.25, 0.5, 0}, "DoubleStorage"));
    folder.file("activation_1.pt", torch_vector<double>({0.001, 1, 0.75}, "DoubleStorage"));
    const ActivationProfile p = read_activation_folder(folder / ".");
    const auto top = static_cast<double>(p.layers[1].fires[1]);
    EXPECT_GT(top, 1e9);
    EXPECT_EQ(static_cast<double>(p.layers[0].fires[0]), top / 4);
    EXPECT_EQ(p.layers[0].fires[2], 0u);
    EXPECT_NEAR(static_cast<double>(p.layers[1].fires[0]) / top, 0.001, 1e-9);
    EXPECT_DOUBLE_EQ(p.frequency(0, 1), 0.5);
}

std::vector<size_t> hottest(const LayerProfile& layer, size_t n) {
    std::vector<size_t> ids(layer.fires.size());
    for (size_t j = 0; j < ids.size(); ++j) ids[j] = j;
    std::sort(ids.begin(), ids.end(), [&](size_t a, size_t b) { return layer.fires[a] > layer.fires[b]; });
    ids.resize(n);
    std::sort(ids.begin(), ids.end());
    return ids;
}

// As text, activation_10.pt comes before activation_2.pt: read in that order, layer 2 would get the hot set
// of layer 10.
TEST(ActivationFolder, EveryLayerOfTwelveGetsItsOwnHotSet) {
    constexpr size_t kNeurons = 48, kHot = 4;
    TemporaryFolder folder;
    std::vector<std::vector<size_t>> hot(12);
    for (size_t layer = 0; layer < 12; ++layer) {
        Counts counts(kNeurons, 1);
        for (size_t k = 0; k < kHot; ++k) {
            hot[layer].push_back(layer * kHot + k);
            counts[layer * kHot + k] = 1000 + static_cast<int64_t>(k);
        }
        folder.file("activation_" + std::to_string(layer) + ".pt", torch_vector(counts, "LongStorage"));
    }
    folder.file("activation_3.pt.bak", {});
    folder.file("README.md", {});
    const auto check = [&](const ActivationProfile& p) {
        ASSERT_EQ(p.n_layer(), 12);
        for (size_t layer = 0; layer < 12; ++layer)
            EXPECT_EQ(hottest(p.layers[layer], kHot), hot[layer]) << layer;
    };
    const ActivationProfile read = read_activation_folder(folder / ".");
    check(read);
    write_profile(folder / "p.gguf", read);
    check(open_profile(folder / "p.gguf"));
    write_activation_folder(folder / "again", read);
    check(read_activation_folder(folder / "again"));
}

TEST(ActivationFolder, NamesTheLayerThatIsMissingDoubleOrTooMany) {
    const std::vector<uint8_t> file = torch_vector(Counts{1, 2, 3}, "LongStorage");
    model::ModelSpec spec;
    spec.n_layer = 3;
    spec.n_ff = 3;
    TemporaryFolder folder;
    EXPECT_THAT(read_error(folder), HasSubstr("has no activation_0.pt"));
    folder.file("activation_0.pt", file);
    folder.file("activation_2.pt", file);
    EXPECT_THAT(read_error(folder), HasSubstr("has no activation_1.pt; there is a activation_2.pt"));
    EXPECT_THAT(read_error(folder, &spec), HasSubstr("has no activation_1.pt; the model has 3 layers"));
    folder.file("activation_1.pt", file);
    EXPECT_EQ(read_error(folder, &spec), "(no error)");
    folder.file("activation_3.pt", file);
    EXPECT_THAT(read_error(folder, &spec),
                HasSubstr("activation_3.pt' is a profile of layer 3, but the model has 3 layers"));
    folder.file("activation_03.pt", file);
    EXPECT_THAT(read_error(folder), HasSubstr("are both profiles of layer 3"));
    EXPECT_THAT(message_of([&] { read_activation_folder(folder / "nowhere"); }),
                HasSubstr("nowhere' does not exist"));
}

TEST(ActivationFolder, NamesTheFileOfAnotherModel) {
    TemporaryFolder folder;
    folder.file("activation_0.pt", torch_vector(Counts{1, 2, 3}, "LongStorage"));
    folder.file("activation_1.pt", torch_vector(Counts{1, 2, 3, 4}, "LongStorage"));
    EXPECT_THAT(read_error(folder), HasSubstr("activation_1.pt' has 4 values and"));
    model::ModelSpec spec;
    spec.n_layer = 2;
    spec.n_ff = 5;
    EXPECT_THAT(read_error(folder, &spec),
                HasSubstr("activation_0.pt' has 3 values, but the model has 5 neurons"));
}

TEST(ActivationFolder, RefusesWhatNoCountCanBe) {
    const auto message = [](const std::vector<uint8_t>& bytes) {
        TemporaryFolder folder;
        folder.file("activation_0.pt", bytes);
        return read_error(folder);
    };
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                     kInfinity = std::numeric_limits<double>::infinity();
    EXPECT_THAT(message(torch_vector(Counts{1, -2}, "LongStorage")), HasSubstr("value of neuron 1 is -2"));
    EXPECT_THAT(message(torch_vector<double>({kNan, 1}, "DoubleStorage")),
                HasSubstr("value of neuron 0 is nan"));
    EXPECT_THAT(message(torch_vector<double>({0, kInfinity}, "DoubleStorage")),
                HasSubstr("value of neuron 1 is inf"));
    EXPECT_THAT(message(torch_vector<float>({-0.5f}, "FloatStorage")),
                HasSubstr("value of neuron 0 is -0.5"));
    EXPECT_THAT(message(torch_vector<uint8_t>({1}, "BoolStorage")), HasSubstr("holds BOOL values"));
    EXPECT_THAT(message(torch_vector(Counts{}, "LongStorage")), HasSubstr("shape [0]"));
    EXPECT_THAT(message(test::torch_file(pk::tensor({})).build().bytes), HasSubstr("shape [2, 3]"));
    EXPECT_THAT(
        message(test::torch_file(pk::dict({{"a", pk::tensor({})}, {"b", pk::tensor({})}})).build().bytes),
        HasSubstr("holds 2 tensors"));
    EXPECT_THAT(message(test::torch_file("N").build().bytes), HasSubstr("holds 0 tensors"));
}

TEST(ActivationFolder, HostileFilesAreOneErrorAndNothingIsExecuted) {
    TemporaryFolder folder;
    const auto message = [&](const std::vector<uint8_t>& bytes) {
        folder.file("activation_0.pt", bytes);
        const std::string m = read_error(folder);
        EXPECT_EQ(m.find('\n'), std::string::npos) << m;
        return m;
    };
    const std::string call =
        pk::global("posix", "system") + "(" + pk::text("touch " + folder / "executed") + "tR";
    EXPECT_THAT(message(test::torch_file(call).build().bytes), HasSubstr("posix.system"));
    EXPECT_EQ(folder.n_files(), 1u) << "the file and nothing that it made";
    const int64_t huge = int64_t{1} << 60;
    for (const pk::Tensor& t : {pk::Tensor{.n_stored = huge, .shape = {huge}, .strides = {1}},
                                pk::Tensor{.shape = {huge}, .strides = {0}},
                                pk::Tensor{.offset = huge, .shape = {1}, .strides = {1}},
                                pk::Tensor{.shape = {-1}, .strides = {1}}})
        EXPECT_THAT(message(test::torch_file(pk::tensor(t)).build().bytes), HasSubstr("activation_0.pt'"));
    const std::vector<uint8_t> sound = torch_vector(Counts{1, 2, 3}, "LongStorage");
    for (size_t n = 0; n < sound.size(); n += 3)
        EXPECT_THAT(message({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(n)}),
                    HasSubstr("activation_0.pt'"))
            << n;
}

TEST(ActivationFolder, WritesNoFolderThatCouldNotBeReadBack) {
    TemporaryFolder folder;
    ActivationProfile p;
    p.n_ff = 2;
    p.layers.resize(2);
    p.layers[0].fires = {1, 2};
    p.layers[1].fires = {3, 4};
    write_activation_folder(folder / "a", p);
    EXPECT_EQ(read_activation_folder(folder / "a").layers[1].fires, p.layers[1].fires);
    p.layers.pop_back();
    EXPECT_THAT(message_of([&] { write_activation_folder(folder / "a", p); }),
                HasSubstr("activation_1.pt' is a profile of layer 1"));
}

}  // namespace
}  // namespace powerinfer::sparsity
