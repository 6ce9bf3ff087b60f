// Models through the public C++ header: facts, metadata, text, errors, cancellation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <thread>

#include "api/fable.h"
#include "base/cpu_info.h"
#include "error_message.h"
#include "temporary_folder.h"
#include "tiny_model.h"

namespace powerinfer::test {
namespace {

ErrorKind kind_of(const std::function<void()>& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.kind();
    }
    throw std::logic_error("no error was thrown");
}

TEST(ApiModel, KnowsTheDemoModel) {
    const Model model = Model::load(kFablePath);
    EXPECT_EQ(model.architecture(), "llama");
    EXPECT_EQ(model.n_vocab(), 2048);
    EXPECT_EQ(model.n_embd(), 256);
    EXPECT_EQ(model.n_layer(), 4);
    EXPECT_EQ(model.n_ff(), 1024);
    EXPECT_EQ(model.n_ctx_train(), 1024);
    EXPECT_EQ(model.activation(), "relu");
    EXPECT_FALSE(model.has_predictors());
    EXPECT_EQ(model.n_bytes(), std::filesystem::file_size(kFablePath));
    EXPECT_TRUE(model.has_vocabulary());
    EXPECT_EQ(model.bos(), 1);
    EXPECT_EQ(model.eos(), 2);
    EXPECT_TRUE(model.is_end_of_generation(2));
    EXPECT_FALSE(model.is_end_of_generation(1852));
}

TEST(ApiModel, GivesMetadataAsText) {
    const TemporaryFolder folder;
    TinyModel(TinyShape{}).write(folder / "tiny.gguf");
    const Model model = Model::load(folder / "tiny.gguf");
    EXPECT_EQ(model.metadata("general.architecture"), "llama");
    EXPECT_EQ(model.metadata("llama.block_count"), "2");
    EXPECT_EQ(model.metadata("llama.attention.layer_norm_rms_epsilon"), "1e-05");
    EXPECT_EQ(model.metadata("no.such.key"), std::nullopt);
    const std::vector<std::string> keys = model.metadata_keys();
    EXPECT_TRUE(std::count(keys.begin(), keys.end(), "llama.context_length"));

    const Model fable = Model::load(kFablePath);
    const std::string tokens = fable.metadata("tokenizer.ggml.tokens").value();
    EXPECT_EQ(tokens.rfind("[\"<unk>\", \"<s>\", \"</s>\", \"<0x00>\", ", 0), 0u) << tokens.substr(0, 80);
    const std::string kinds = fable.metadata("tokenizer.ggml.token_type").value();
    EXPECT_EQ(kinds.rfind("[2, 3, 3, 6, ", 0), 0u) << kinds.substr(0, 80);
}

TEST(ApiModel, TurnsTextIntoTokensAndBack) {
    SHARED_PATH_OR_SKIP(path, "models/fable-relu/expected.json");
    const auto expected = read_json(path);
    const Model model = Model::load(kFablePath);
    const auto ids = expected.at("prompt_ids").get<std::vector<Token>>();
    EXPECT_EQ(model.tokenize(kPrompt), ids);
    EXPECT_EQ(model.detokenize(ids), kPrompt);
    EXPECT_EQ(model.tokenize(kPrompt, false), std::vector<Token>(ids.begin() + 1, ids.end()));
    EXPECT_EQ(model.piece(ids[2]), model.detokenize({ids[1], ids[2]}).substr(model.detokenize({ids[1]}).size()));
}

TEST(ApiModel, ErrorsSayWhatIsWrong) {
    EXPECT_EQ(kind_of([] { Model::load("/no/such/model.gguf"); }), ErrorKind::io);
    EXPECT_NE(message_of([] { Model::load("/no/such/model.gguf"); }).find("/no/such/model.gguf"), std::string::npos);
    const TemporaryFolder folder;
    std::ofstream(folder / "page.gguf") << "<!DOCTYPE html><html>not a model</html>";
    EXPECT_EQ(kind_of([&] { Model::load(folder / "page.gguf"); }), ErrorKind::bad_file);

    ModelOptions options;
    options.activation = "tanh";
    EXPECT_NE(message_of([&] { Model::load(kFablePath, options); }).find("'tanh'"), std::string::npos);
    options = {};
    options.threshold = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(kind_of([&] { Model::load(kFablePath, options); }), ErrorKind::bad_argument);
}

TEST(ApiModel, WithoutAVocabularyOnlyIdsWork) {
    const TemporaryFolder folder;
    TinyModel(TinyShape{}).write(folder / "tiny.gguf");
    const Model model = Model::load(folder / "tiny.gguf");
    EXPECT_FALSE(model.has_vocabulary());
    EXPECT_EQ(kind_of([&] { model.tokenize("a"); }), ErrorKind::unsupported);
    EXPECT_NE(message_of([&] { model.tokenize("a"); }).find("tiny.gguf"), std::string::npos);
    Session session(model);
    session.append({1, 2, 3});
    SamplerOptions options;
    options.temperature = 0;
    Sampler sampler(session, options);
    const Logits logits = session.logits();
    EXPECT_EQ(sampler.sample(session), std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(ApiModel, ProgressCanCancelAtEveryReport) {
    int n_reports = 0;
    double last = -1;
    ModelOptions options;
    options.progress = [&](double share, std::string_view what) {
        EXPECT_GE(share, last);
        EXPECT_LE(share, 1);
        EXPECT_FALSE(what.empty());
        last = share;
        ++n_reports;
        return true;
    };
    Model::load(kFablePath, options);
    EXPECT_EQ(last, 1);
    ASSERT_GE(n_reports, 2);
    for (int allowed = 0; allowed < n_reports; ++allowed) {
        int left = allowed;
        options.progress = [&](double, std::string_view) { return left-- > 0; };
        EXPECT_EQ(kind_of([&] { Model::load(kFablePath, options); }), ErrorKind::cancelled);
    }
}

TEST(ApiModel, OverridesActivationAndThreshold) {
    const TemporaryFolder folder;
    TinyShape shape;
    shape.predictors = true;
    shape.threshold = 0.25f;
    TinyModel(shape).write(folder / "tiny.gguf");
    const Model plain = Model::load(folder / "tiny.gguf");
    EXPECT_TRUE(plain.has_predictors());
    EXPECT_EQ(plain.threshold(), 0.25f);
    ModelOptions options;
    options.threshold = -1.5f;
    options.activation = "relu_squared";
    const Model changed = Model::load(folder / "tiny.gguf", options);
    EXPECT_EQ(changed.threshold(), -1.5f);
    EXPECT_EQ(changed.activation(), "relu_squared");
    EXPECT_EQ(plain.activation(), "relu");
}

TEST(ApiModel, ServesSeveralThreads) {
    const Model model = Model::load(kFablePath);
    const std::vector<Token> expected = model.tokenize(kPrompt);
    std::vector<std::thread> threads;
    std::atomic<int> n_good{0};
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, copy = model] {
            for (int k = 0; k < 50; ++k) n_good += copy.tokenize(kPrompt) == expected;
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(n_good, 200);
}

TEST(ApiModel, CapabilitiesNameInstructionSets) {
    const Capabilities c = capabilities();
    EXPECT_EQ(c.version, POWERINFER_VERSION);
    EXPECT_FALSE(c.cpu.empty());
    EXPECT_EQ(c.n_cores, read_cpu_info().n_physical);
    ASSERT_FALSE(c.isas.empty());
    EXPECT_EQ(c.isas.back(), "scalar");
    for (const std::string& isa : c.isas)
        EXPECT_TRUE(std::count(c.compiled_isas.begin(), c.compiled_isas.end(), isa)) << isa;
}

TEST(ApiDocs, ShowTheExamplesWordForWord) {
    const auto text = [](const std::string& path) {
        std::ifstream in(std::string(POWERINFER_SOURCE_DIR) + "/" + path);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const std::string page = text("docs/api.md");
    for (const char* example : {"examples/story.cpp", "examples/story.c"}) {
        ASSERT_FALSE(text(example).empty());
        EXPECT_NE(page.find("\n" + text(example) + "```\n"), std::string::npos) << example;
    }
}

}  // namespace
}  // namespace powerinfer::test
