#include "convert/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "convert/quantize.h"
#include "engine/engine.h"
#include "tiny_model.h"

namespace powerinfer::convert {
namespace {

using test::TemporaryFolder;

std::shared_ptr<const model::Model> make(const std::string& path, const SynthOptions& options) {
    write_synth(path, options);
    return std::make_shared<const model::Model>(
        model::load(std::make_shared<const formats::GgufFile>(formats::GgufFile::open(path))));
}

std::vector<float> last_logits(const std::shared_ptr<const model::Model>& m, sparsity::Mode mode, double* active = nullptr) {
    const plan::Plan plan = plan::solve(*m, {.n_ctx = 64, .kv_type = DType::F32, .mode = mode});
    engine::Engine engine = engine::Engine::load(m, plan, {.n_threads = 2});
    std::vector<engine::BatchToken> batch;
    for (int i = 0; i < 48; ++i) batch.push_back({300 + i, 0, i == 47});
    engine.step(batch);
    if (active) *active = engine.counts().active_share();
    return {engine.logits(0).begin(), engine.logits(0).end()};
}

TEST(Synth, PredictEqualsOffInF32) {
    TemporaryFolder folder;
    SynthOptions o{.shape = synth_shape("tiny,n_layer=3"), .type = DType::F32, .predictor_type = DType::F32, .rank = 128};
    const auto m = make(folder / "m.gguf", o);
    double active = 0;
    const auto off = last_logits(m, sparsity::Mode::off), predict = last_logits(m, sparsity::Mode::predict, &active);
    for (size_t i = 0; i < off.size(); ++i) EXPECT_NEAR(off[i], predict[i], 1e-4);
    EXPECT_NEAR(active, 0.1, 0.04);
}

TEST(Synth, OrdinaryFilesRunExactly) {
    TemporaryFolder folder;
    SynthOptions o{.shape = synth_shape("tiny"), .type = DType::F16, .predictors = false, .active_share = 0.3};
    const auto m = make(folder / "m.gguf", o);
    EXPECT_EQ(m->file->magic(), formats::GgufMagic::gguf);
    double active = 0;
    const auto off = last_logits(m, sparsity::Mode::off), exact = last_logits(m, sparsity::Mode::exact, &active);
    for (size_t i = 0; i < off.size(); ++i) EXPECT_NEAR(off[i], exact[i], 1e-3);
    EXPECT_NEAR(active, 0.3, 0.1);
}

// The types of a mixture are those that `quantize` gives the same model.
TEST(Synth, AMixtureIsThatOfQuantize) {
    TemporaryFolder folder;
    SynthOptions o{.shape = synth_shape("tiny,n_layer=8"), .type = DType::F16, .predictors = false};
    write_synth(folder / "f16.gguf", o);
    QuantizeOptions q;
    q.input = folder / "f16.gguf";
    q.output = folder / "quantized.gguf";
    q.type = "Q4_K_M";
    quantize_file(q);
    o.mix = &find_file_type("Q4_K_M");
    write_synth(folder / "mixed.gguf", o);
    const auto expected = formats::GgufFile::open(folder / "quantized.gguf"), made = formats::GgufFile::open(folder / "mixed.gguf");
    ASSERT_EQ(made.tensors().size(), expected.tensors().size());
    size_t n_q6 = 0;
    for (size_t i = 0; i < made.tensors().size(); ++i) {
        EXPECT_EQ(made.tensors()[i].name, expected.tensors()[i].name);
        EXPECT_EQ(made.tensors()[i].view.type, expected.tensors()[i].view.type) << made.tensors()[i].name;
        n_q6 += made.tensors()[i].view.type == DType::Q6_K;
    }
    EXPECT_GT(n_q6, 1u);
    EXPECT_EQ(made.get_uint("general.file_type", 0), expected.get_uint("general.file_type", 1));
}

/// Rows of a tensor as the values they stand for.
std::vector<double> decoded(const TensorView& view) {
    std::vector<float> values(static_cast<size_t>(view.n_elements()));
    for (int64_t r = 0; r < view.ne[1]; ++r) quant::format(view.type).decode(view.row(r), values.data() + r * view.ne[0], view.ne[0]);
    return {values.begin(), values.end()};
}

std::vector<double> times(const std::vector<double>& rows, const std::vector<double>& x) {
    std::vector<double> y(rows.size() / x.size());
    for (size_t r = 0; r < y.size(); ++r)
        y[r] = std::inner_product(x.begin(), x.end(), rows.begin() + static_cast<ptrdiff_t>(r * x.size()), 0.0);
    return y;
}

// Computed outside the engine, in double, from what the file holds: how much of the activations the predictor keeps,
// how many neurons fire, how unequally, and whether neighbouring ids overlap.
TEST(Synth, PredictorsPowerLawAndOverlapAreAsPromised) {
    TemporaryFolder folder;
    for (const DType type : {DType::F32, DType::Q8_0, DType::Q4_0}) {
        SynthOptions o{.shape = synth_shape("tiny,n_embd=1024,n_ff=2816,n_layer=1"), .type = type, .predictor_type = type};
        const auto m = make(folder / "m.gguf", o);
        const model::LayerTensors& layer = m->tensors.layers[0];
        const auto gate = decoded(layer.ffn_gate), up = decoded(layer.ffn_up), fc1 = decoded(layer.fc1), fc2 = decoded(layer.fc2);
        const auto embedding = decoded(m->tensors.token_embd);
        double kept = 0, all = 0, fired = 0, selected = 0, overlap_near = 0, overlap_far = 0;
        const int n_tokens = 40;
        std::vector<double> counts(2816);
        std::vector<std::vector<bool>> sets;
        for (int token = 0; token < n_tokens; ++token) {
            const std::vector<double> x(embedding.begin() + (320 + token) * 1024, embedding.begin() + (321 + token) * 1024);
            const double rms = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / 1024);
            std::vector<double> n(x);
            for (double& v : n) v /= rms;
            std::vector<double> hidden = times(fc1, x);
            for (double& v : hidden) v = std::max(v, 0.0);
            const auto g = times(gate, n), u = times(up, n), p = times(fc2, hidden);
            std::vector<bool> set;
            for (size_t j = 0; j < g.size(); ++j) {
                const double h = std::max(g[j], 0.0) * std::fabs(u[j]);
                all += h;
                const bool is_selected = p[j] >= static_cast<double>(m->spec.predictor.threshold);
                if (is_selected) kept += h;
                selected += is_selected;
                fired += g[j] > 0;
                counts[j] += g[j] > 0;
                set.push_back(g[j] > 0);
            }
            sets.push_back(set);
        }
        const auto overlap = [&](const std::vector<bool>& a, const std::vector<bool>& b) {
            double both = 0, either = 0;
            for (size_t j = 0; j < a.size(); ++j) {
                // The hottest neurons are in every set; what tells neighbours from strangers is the others.
                if (counts[j] > 0.9 * n_tokens) continue;
                both += a[j] && b[j];
                either += a[j] || b[j];
            }
            return both / either;
        };
        for (size_t i = 0; i + 20 < sets.size(); ++i) {
            overlap_near += overlap(sets[i], sets[i + 1]);
            overlap_far += overlap(sets[i], sets[i + 20]);
        }
        EXPECT_GE(kept / all, type == DType::F32 ? 0.999999 : 0.999) << info(type).name;
        EXPECT_NEAR(fired / (n_tokens * 2816), 0.1, 0.04);
        EXPECT_LT(selected, fired * (type == DType::Q4_0 ? 1.6 : 1.1)) << info(type).name;
        EXPECT_GT(overlap_near, 1.5 * overlap_far) << info(type).name;
        // Hot near one, most cold: the hottest tenth of the neurons has most of the firing.
        std::sort(counts.rbegin(), counts.rend());
        EXPECT_GT(counts[10], 0.9 * n_tokens);
        EXPECT_GT(std::accumulate(counts.begin(), counts.begin() + 563, 0.0), 0.5 * fired);
        EXPECT_FALSE(std::is_sorted(counts.begin(), counts.end()));
    }
}

TEST(Synth, TheSameSeedGivesTheSameFile) {
    TemporaryFolder folder;
    SynthOptions o{.shape = synth_shape("tiny"), .rank = 64};
    const auto hash_with = [&](int threads) {
        o.n_threads = threads;
        write_synth(folder / "m.gguf", o);
        const MappedFile file(folder / "m.gguf");
        return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    };
    const std::string one = hash_with(1);
    EXPECT_EQ(one, hash_with(3));
    o.seed = 2;
    EXPECT_NE(one, hash_with(1));
}

TEST(SynthShape, NamesChangesAndRefusals) {
    EXPECT_EQ(synth_shape("mistral-7b").n_ff, 14336);
    EXPECT_EQ(synth_shape("llama-7b,n_layer=8,n_ff=4096").n_layer, 8);
    const auto message = [](const char* text) -> std::string {
        try {
            synth_shape(text);
        } catch (const Error& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_THAT(message("llama-8b"), testing::HasSubstr("unknown shape 'llama-8b'"));
    EXPECT_THAT(message("llama-7b,layers=8"), testing::HasSubstr("'layers=8'"));
    EXPECT_THAT(message("llama-7b,n_layer=0"), testing::HasSubstr("'n_layer=0'"));
    EXPECT_THAT(message("llama-7b,n_layer=8x"), testing::HasSubstr("'n_layer=8x'"));
    EXPECT_THAT(message("llama-7b,n_layer"), testing::HasSubstr("'n_layer'"));
    EXPECT_THAT(message("llama-7b,n_head=33"), testing::HasSubstr("33 heads"));
    EXPECT_THAT(message("llama-7b,n_layer=99999999"), testing::HasSubstr("n_layer is 99999999, expected at most 1024"));
    EXPECT_EQ(synth_shape("llama-7b,n_layer=1024").n_layer, 1024);
}

TEST(Synth, ImpossibleOptionsAreRefusedAndLeaveNoFile) {
    TemporaryFolder folder;
    SynthOptions o{.shape = synth_shape("tiny,n_ff=1000")};
    EXPECT_THROW(write_synth(folder / "m.gguf", {.shape = synth_shape("tiny"), .rank = 5}), Error);
    EXPECT_THROW(write_synth(folder / "m.gguf", {.shape = synth_shape("tiny"), .active_share = 0}), Error);
    o.predictors = false;  // rows of 1000 elements are no whole blocks
    EXPECT_THROW(write_synth(folder / "m.gguf", o), Error);
    try {  // 2,000 TB
        write_synth(folder / "m.gguf", {.shape = synth_shape("llama-7b,n_layer=1024,n_ff=1048576,n_embd=131072")});
        FAIL() << "accepted";
    } catch (const Error& e) {
        EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("m.gguf"), testing::HasSubstr("No space left on device")));
    }
    const Progress stop = [](double share, std::string_view) { return share < 0.3; };
    EXPECT_THROW(write_synth(folder / "m.gguf", {.shape = synth_shape("tiny"), .rank = 64}, {}, stop), Error);
    EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(folder / "m.gguf").parent_path()));
}

}  // namespace
}  // namespace powerinfer::convert
