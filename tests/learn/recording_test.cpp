#include "learn/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "error_message.h"
#include "learn/learn_support.h"
#include "sparsity/profile.h"

namespace powerinfer::learn {
namespace {

using test::message_of;
using test::read_file;
using test::some_ids;
using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

TEST(Recording, HoldsWhatASlowReferenceComputes) {
    TemporaryFolder folder;
    TinyModel tiny({.n_ff = 90, .biases = true});
    const auto m = tiny.write(folder / "m.gguf");
    const auto ids = some_ids(30);
    const Text text{.ids = ids, .window = 12, .bos = {}};
    for (const DType type : {DType::F32, DType::F16}) {
        for (const RecordedValues values : {RecordedValues::h, RecordedValues::fired}) {
            const std::string out = folder / fmt::format("{}-{}", info(type).name, static_cast<int>(values));
            record_text(out, m, text, {.x_type = type, .values = values}, 2);
            for (int layer = 0; layer < 2; ++layer) {
                const LayerRecording r = LayerRecording::open(out, layer);
                ASSERT_EQ(r.n_tokens(), 30);
                EXPECT_EQ(r.shape().n_embd, 32);
                EXPECT_EQ(r.shape().fingerprint, sparsity::fingerprint_of(*m));
                std::vector<float> x(30 * 32), h(30 * 90);
                std::vector<uint8_t> fired(30 * 90);
                // Blocks that do not end with the windows.
                for (int64_t t = 0; t < 30; t += 7) {
                    const int64_t n = std::min<int64_t>(7, 30 - t);
                    r.read_x(t, n, x.data() + t * 32);
                    r.read_values(t, n, h.data() + t * 90);
                    r.read_fired(t, n, fired.data() + t * 90);
                }
                r.release();
                size_t n_fired = 0;
                for (size_t begin = 0; begin < 30; begin += 12) {
                    const std::vector<int32_t> part(
                        ids.begin() + static_cast<std::ptrdiff_t>(begin),
                        ids.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(begin + 12, 30)));
                    const auto slow = slow_feed_forwards(tiny, part)[static_cast<size_t>(layer)];
                    for (size_t t = 0; t < slow.size(); ++t) {
                        for (size_t i = 0; i < 32; ++i)
                            EXPECT_NEAR(static_cast<double>(x[(begin + t) * 32 + i]), slow[t].residual[i],
                                        type == DType::F32 ? 1e-4 : 4e-3);
                        for (size_t j = 0; j < 90; ++j) {
                            const size_t at = (begin + t) * 90 + j;
                            if (std::fabs(slow[t].gate[j]) > 1e-5) {
                                EXPECT_EQ(fired[at], slow[t].gate[j] > 0);
                                EXPECT_EQ(h[at] != 0, slow[t].gate[j] > 0);
                            }
                            n_fired += fired[at];
                            if (values != RecordedValues::h) continue;
                            EXPECT_NEAR(static_cast<double>(h[at]), slow[t].h[j], 4e-3);
                        }
                    }
                }
                EXPECT_GT(n_fired, 500u);
            }
        }
    }
}

TEST(Recording, GoesOnWhereItWasStopped) {
    TemporaryFolder folder;
    const auto m = TinyModel(test::TinyShape{}).write(folder / "m.gguf");
    const auto ids = some_ids(50);
    const Text text{.ids = ids, .window = 8, .bos = 1};
    record_text(folder / "whole", m, text, {}, 1);
    for (const double stop_after : {0.0, 0.3, 0.8}) {
        const std::string out = folder / fmt::format("stopped-{}", stop_after);
        int n_windows = 0;
        const auto stop = [&](double share, std::string_view) { return share <= stop_after; };
        EXPECT_THAT(message_of([&] { record_text(out, m, text, {}, 1, stop); }), testing::Not("(no error)"));
        // The stop may also come in the middle of a write.
        std::filesystem::resize_file(out + "/layer_1.rec",
                                     std::filesystem::file_size(out + "/layer_1.rec") - 5);
        EXPECT_THAT(message_of([&] { LayerRecording::open(out, 1); }), HasSubstr("layer_1.rec"));
        record_text(out, m, text, {}, 1, [&](double, std::string_view) { return ++n_windows > 0; });
        EXPECT_EQ(n_windows, stop_after == 0.0 ? 7 : stop_after == 0.3 ? 5 : 2) << "windows recorded again";
        for (const char* name : {"/layer_0.rec", "/layer_1.rec"})
            EXPECT_EQ(read_file(out + name), read_file((folder / "whole") + name));
    }
    int n_windows = 0;
    record_text(folder / "whole", m, text, {}, 1, [&](double, std::string_view) { return ++n_windows > 0; });
    EXPECT_EQ(n_windows, 0) << "a complete recording is left alone";
}

TEST(Recording, RefusesAFolderOfSomethingElse) {
    TemporaryFolder folder;
    const auto m = TinyModel(test::TinyShape{}).write(folder / "m.gguf");
    const auto other = TinyModel(test::TinyShape{.seed = 2}).write(folder / "other.gguf");
    const auto ids = some_ids(20), other_ids = some_ids(21);
    const Text text{.ids = ids, .window = 8, .bos = {}};
    record_text(folder / "r", m, text, {}, 1);
    const auto message = [&](const auto& model, const Text& t, const RecordingOptions& options) {
        return message_of([&] { record_text(folder / "r", model, t, options, 1); });
    };
    EXPECT_THAT(message(other, text, {}), HasSubstr("layer_0.rec' is a recording of another model"));
    EXPECT_THAT(message(m, Text{.ids = other_ids, .window = 8, .bos = {}}, {}),
                HasSubstr("another model, text or form"));
    EXPECT_THAT(message(m, Text{.ids = ids, .window = 9, .bos = {}}, {}),
                HasSubstr("another model, text or form"));
    EXPECT_THAT(message(m, text, {.x_type = DType::F32}), HasSubstr("another model, text or form"));
    EXPECT_THAT(message(m, text, {.x_type = DType::Q8_0}), HasSubstr("F16 or F32, not as Q8_0"));
}

TEST(Recording, RefusesDamagedFiles) {
    TemporaryFolder folder;
    const auto m = TinyModel(test::TinyShape{}).write(folder / "m.gguf");
    const auto ids = some_ids(20);
    record_text(folder / "r", m, {.ids = ids, .window = 8, .bos = {}}, {}, 1);
    const std::string path = folder / "r/layer_0.rec";
    const std::vector<uint8_t> sound = read_file(path);
    for (size_t at = 0; at < 64; at += at < 24 ? 1 : 4) {
        if (at >= 8 && at < 24) continue;  // the two hashes may be anything
        std::vector<uint8_t> damaged = sound;
        for (size_t i = 0; i < (at < 24 ? 1u : 4u); ++i) damaged[at + i] = 0xEE;
        folder.file("r/layer_0.rec", damaged);
        EXPECT_THAT(message_of([&] { LayerRecording::open(folder / "r", 0); }), HasSubstr("layer_0.rec'"))
            << "byte " << at;
    }
    folder.file("r/layer_0.rec", std::span(sound).first(30));
    EXPECT_THAT(message_of([&] { LayerRecording::open(folder / "r", 0); }),
                HasSubstr("does not start with PIREC"));
    EXPECT_THAT(
        message_of([&] { LayerRecording::open(folder / "r", 1), LayerRecording::open(folder / "r", 7); }),
        HasSubstr("layer_7.rec"));
}

}  // namespace
}  // namespace powerinfer::learn
