#include "sparsity/evaluation_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "error_message.h"
#include "plan/plan.h"
#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufFile;
using formats::GgufValue;
using test::message_of;
using test::read_file;
using test::TemporaryFolder;
using test::TinyModel;
using testing::HasSubstr;

std::shared_ptr<const model::Model> load(const std::string& path, const model::LoadOptions& options = {}) {
    return std::make_shared<const model::Model>(
        model::load(std::make_shared<const GgufFile>(GgufFile::open(path)), options));
}

/// A copy of a file with a record and other keys.
void copy_with(const std::string& from, const std::string& to, const EvaluationRecord* record,
               const std::vector<std::pair<std::string, GgufValue>>& more = {}) {
    const GgufFile file = GgufFile::open(from);
    formats::GgufWriter out(to, file.magic());
    for (const auto& [key, value] : file.keys()) out.set(key, value);
    if (record)
        for (const auto& [key, value] : evaluation_keys(*record)) out.set(key, value);
    for (const auto& [key, value] : more) out.set(key, value);
    for (const auto& t : file.tensors()) out.add_tensor(t.name, t.view.type, t.view.ne);
    out.begin_data();
    for (const auto& t : file.tensors()) out.write(t.view.data, t.view.n_bytes());
    out.finish();
}

class EvaluationRecordTest : public testing::Test {
  protected:
    EvaluationRecordTest() { TinyModel({.predictors = true}).write(folder_ / "bare.gguf"); }

    EvaluationRecord measured() const {
        EvaluationRecord r;
        r.weights = evaluated_weights(*load(folder_ / "bare.gguf"));
        r.n_tokens = 500;
        r.text = "a.txt";
        r.perplexity = 20.1;
        r.perplexity_off = 20;
        r.kl = 0.003;
        r.active_share = 0.2;
        r.true_active_share = 0.1;
        r.recall = 0.97;
        r.contribution_recall = 0.99;
        return r;
    }
    std::string file_with(const EvaluationRecord& r) const {
        copy_with(folder_ / "bare.gguf", folder_ / "with.gguf", &r);
        return folder_ / "with.gguf";
    }
    plan::Plan plan_for(const std::string& path, const model::LoadOptions& options = {}) const {
        return plan::solve(*load(path, options), {.n_ctx = 32});
    }
    TemporaryFolder folder_;
};

TEST_F(EvaluationRecordTest, IsStoredInPlaceAndReadBack) {
    EvaluationRecord blank;
    blank.text = "a.txt";
    const std::string path = file_with(blank);
    EXPECT_EQ(read_evaluation(GgufFile::open(path))->weights, 0u);
    EXPECT_THAT(trust_in_predictors(*load(path)).reason, HasSubstr("no recorded evaluation"));
    const EvaluationRecord r = measured();
    const auto size = read_file(path).size();
    store_evaluation(path, r);
    EXPECT_EQ(read_file(path).size(), size);
    const auto back = read_evaluation(GgufFile::open(path));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->weights, r.weights);
    EXPECT_EQ(back->n_tokens, r.n_tokens);
    EXPECT_EQ(back->text, r.text);
    EXPECT_EQ(back->perplexity, r.perplexity);
    EXPECT_EQ(back->perplexity_off, r.perplexity_off);
    EXPECT_EQ(back->kl, r.kl);
    EXPECT_EQ(back->active_share, r.active_share);
    EXPECT_EQ(back->true_active_share, r.true_active_share);
    EXPECT_EQ(back->recall, r.recall);
    EXPECT_EQ(back->contribution_recall, r.contribution_recall);
    const GgufFile a = GgufFile::open(path), b = GgufFile::open(folder_ / "bare.gguf");
    for (size_t i = 0; i < a.tensors().size(); ++i)
        EXPECT_EQ(
            std::memcmp(a.tensors()[i].view.data, b.tensors()[i].view.data, a.tensors()[i].view.n_bytes()),
            0);
    EXPECT_FALSE(read_evaluation(b));
    EXPECT_THAT(message_of([&] { store_evaluation(folder_ / "bare.gguf", r); }),
                HasSubstr("powerinfer.evaluation.weights' is missing"));
}

TEST_F(EvaluationRecordTest, AutoTrustsPredictorsThatWereMeasuredGoodEnough) {
    EXPECT_EQ(plan_for(folder_ / "bare.gguf").mode, Mode::exact);
    EvaluationRecord r = measured();
    const plan::Plan good = plan_for(file_with(r));
    EXPECT_EQ(good.mode, Mode::predict);
    EXPECT_EQ(
        good.mode_reason,
        "the file's predictors cost +0.50 % perplexity by its evaluation, computing 20.0 % of the neurons");
    r.perplexity = 20.3;
    const plan::Plan bad = plan_for(file_with(r));
    EXPECT_EQ(bad.mode, Mode::exact);
    EXPECT_THAT(bad.mode_reason,
                HasSubstr("cost +1.50 % perplexity by its evaluation, more than the 1.00 % allowed"));
    r.max_perplexity_ratio = 1.02;
    EXPECT_EQ(plan_for(file_with(r)).mode, Mode::predict);
    r.perplexity_off = 0;
    EXPECT_EQ(plan_for(file_with(r)).mode, Mode::exact);
}

TEST_F(EvaluationRecordTest, AutoDoesNotTrustAnEvaluationOfSomethingElse) {
    const std::string path = file_with(measured());
    EXPECT_EQ(plan_for(path, {.threshold = 0.5f}).mode, Mode::exact);
    EXPECT_THAT(plan_for(path, {.threshold = 0.5f}).mode_reason, HasSubstr("of other weights or thresholds"));
    EXPECT_EQ(plan_for(path, {.threshold = 0.0f}).mode, Mode::predict) << "the threshold that it has anyway";
    EXPECT_EQ(plan_for(path, {.activation = model::Activation::drelu}).mode, Mode::exact);
    TinyModel({.predictors = true, .seed = 2}).write(folder_ / "other.gguf");
    const EvaluationRecord r = measured();
    copy_with(folder_ / "other.gguf", folder_ / "other-with.gguf", &r);
    EXPECT_EQ(plan_for(folder_ / "other-with.gguf").mode, Mode::exact);
}

TEST_F(EvaluationRecordTest, RefusesImpossibleFigures) {
    const auto message = [&](auto&& change) {
        EvaluationRecord r = measured();
        change(r);
        const std::string path = file_with(r);
        return message_of([&] { plan_for(path); });
    };
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(message([](EvaluationRecord& r) { r.recall = 1.5; }),
                HasSubstr("'powerinfer.evaluation.recall' is 1.5, expected 0 to 1"));
    EXPECT_THAT(message([](EvaluationRecord& r) { r.perplexity = kNan; }),
                HasSubstr("'powerinfer.evaluation.perplexity' is nan"));
    EXPECT_THAT(message([](EvaluationRecord& r) { r.perplexity = -1; }),
                HasSubstr("'powerinfer.evaluation.perplexity' is -1"));
    EXPECT_THAT(message([](EvaluationRecord& r) { r.max_perplexity_ratio = 0; }),
                HasSubstr("max_perplexity_ratio' is 0, expected 1 to"));
    copy_with(folder_ / "bare.gguf", folder_ / "part.gguf", nullptr,
              {{"powerinfer.evaluation.version", GgufValue::of_u32(1)}});
    EXPECT_THAT(message_of([&] { plan_for(folder_ / "part.gguf"); }),
                HasSubstr("powerinfer.evaluation.weights"));
    copy_with(folder_ / "bare.gguf", folder_ / "new.gguf", nullptr,
              {{"powerinfer.evaluation.version", GgufValue::of_u32(2)}});
    EXPECT_THAT(message_of([&] { plan_for(folder_ / "new.gguf"); }), HasSubstr("version 2, expected 1"));
}

TEST(RewriteKeys, ChangesNumbersOfTheSameTypeOnly) {
    TemporaryFolder folder;
    const std::string path = folder / "a.gguf";
    formats::GgufWriter out(path, formats::GgufMagic::pwri, 64);
    out.set("a", GgufValue::of_string("text"));
    out.set("b", GgufValue::of_f32(1.5f));
    out.set("c", GgufValue::of_bool(false));
    out.set("d", GgufValue::of_i32s({1, 2}));
    out.set("e", GgufValue::of_u64(7));
    out.finish();
    formats::rewrite_keys(
        path,
        {{"b", GgufValue::of_f32(-2)}, {"c", GgufValue::of_bool(true)}, {"e", GgufValue::of_u64(~0ull)}});
    const GgufFile file = GgufFile::open(path);
    EXPECT_EQ(file.get_string("a"), "text");
    EXPECT_EQ(file.get_float("b"), -2);
    EXPECT_TRUE(file.get_bool("c", false));
    EXPECT_EQ(file.get_uint("e"), ~0ull);
    EXPECT_EQ(file.find_ints("d"), (std::vector<int64_t>{1, 2}));
    const auto message = [&](const std::string& key, const GgufValue& value) {
        return message_of([&] { formats::rewrite_keys(path, {{key, value}}); });
    };
    EXPECT_THAT(message("b", GgufValue::of_u32(1)),
                HasSubstr("key 'b' is f32 and cannot be rewritten as u32"));
    EXPECT_THAT(message("a", GgufValue::of_string("TEXT")), HasSubstr("cannot be rewritten"));
    EXPECT_THAT(message("d", GgufValue::of_i32s({3, 4})), HasSubstr("cannot be rewritten"));
    EXPECT_THAT(message("z", GgufValue::of_u32(1)), HasSubstr("key 'z' is missing"));
}

}  // namespace
}  // namespace powerinfer::sparsity
