// quantize_file on a small model: types, sizes, values, keys, and what is left behind when it is stopped.
#include "convert/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>

#include "convert/file_type.h"
#include "convert/small_gguf.h"
#include "error_message.h"
#include "quant/format.h"
#include "temporary_folder.h"

namespace powerinfer::convert {
namespace {

using formats::GgufFile;
using formats::GgufMagic;
using formats::GgufTensor;
using test::message_of;
using test::SmallGguf;
using test::TemporaryFolder;
using testing::HasSubstr;

std::vector<float> decoded(const GgufTensor& t) {
    std::vector<float> v(static_cast<size_t>(t.view.n_elements()));
    quant::format(t.view.type).decode(t.view.data, v.data(), t.view.n_elements());
    return v;
}

/// Root mean square of the difference over that of the values.
double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += a[i] * a[i];
    }
    return std::sqrt(difference / size);
}

QuantizeOptions simple(const std::string& input, const std::string& output, const std::string& type) {
    QuantizeOptions options;
    options.input = input;
    options.output = output;
    options.type = type;
    return options;
}

class Quantize : public testing::Test {
  protected:
    QuantizeResult run(const std::string& type) {
        options.input = folder / "in.gguf";
        options.output = folder / "out.gguf";
        options.type = type;
        options.log = [this](LogLevel level, std::string_view line) {
            (level == LogLevel::warning ? warnings : lines).emplace_back(line);
        };
        return quantize_file(options);
    }

    TemporaryFolder folder;
    SmallGguf model;
    QuantizeOptions options;
    std::vector<std::string> lines, warnings;
};

TEST_F(Quantize, EveryTypeKeepsTheValuesAsWellAsItsBitsAllow) {
    model.write(folder / "in.gguf");
    const GgufFile in = GgufFile::open(folder / "in.gguf");
    for (const FileType& target : file_types()) {
        if (target.base == DType::TQ1_0 || target.base == DType::TQ2_0) continue;  // three levels: see quant/
        SCOPED_TRACE(target.name);
        const QuantizeResult result = run(std::string(target.name));
        const GgufFile out = GgufFile::open(folder / "out.gguf");
        ASSERT_EQ(out.tensors().size(), in.tensors().size());
        uint64_t bytes = 0;
        for (size_t i = 0; i < in.tensors().size(); ++i) {
            const GgufTensor &a = in.tensors()[i], &b = out.tensors()[i];
            EXPECT_EQ(a.name, b.name);
            EXPECT_EQ(a.view.ne, b.view.ne);
            bytes += b.view.n_bytes();
            double bits = 8.0 * info(b.view.type).bytes / info(b.view.type).block;
            if (b.view.type == DType::BF16) bits = 9;  // of which 8 are fraction, the leading one counted
            // One more bit halves the error; uniform numbers and 2.6 bits give about 0.3.
            EXPECT_LT(relative_error(decoded(a), decoded(b)), 1.9 * std::exp2(-bits)) << a.name;
        }
        EXPECT_EQ(result.n_bytes_after, bytes);
        EXPECT_EQ(result.n_tensors, static_cast<int>(in.tensors().size()));
        EXPECT_EQ(result.n_fallbacks, 0);
        EXPECT_EQ(out.get_uint("general.file_type"), target.copy ? 1u : target.number);
        EXPECT_EQ(out.get_uint("general.quantization_version", 0), target.copy ? 0u : 2u);
        EXPECT_EQ(*out.find_strings("tokenizer.ggml.tokens"), *in.find_strings("tokenizer.ggml.tokens"));
    }
}

TEST_F(Quantize, BytesDoNotDependOnTheNumberOfThreads) {
    model.write(folder / "in.gguf");
    options.n_threads = 1;
    run("Q4_K_M");
    const auto one = test::read_file(folder / "out.gguf");
    options.n_threads = 3;
    run("Q4_K_M");
    EXPECT_EQ(one, test::read_file(folder / "out.gguf"));
}

TEST_F(Quantize, CopyIsTheSameFile) {
    model.write(folder / "in.gguf");
    run("COPY");
    EXPECT_EQ(test::read_file(folder / "in.gguf"), test::read_file(folder / "out.gguf"));
}

TEST_F(Quantize, PredictorFilesStayPredictorFiles) {
    model.magic = GgufMagic::pwri;
    model.predictors = true;
    model.write(folder / "in.gguf");
    const GgufFile in = GgufFile::open(folder / "in.gguf");
    for (const char* type : {"Q4_0", "Q4_K_M", "Q8_0", "F32", "BF16"}) {
        run(type);
        const GgufFile out = GgufFile::open(folder / "out.gguf");
        EXPECT_EQ(out.magic(), GgufMagic::pwri);
        EXPECT_EQ(out.get_float("powerinfer.sparse_threshold"), 0.25);
        EXPECT_EQ(out.find_tensor("blk.1.fc1.weight")->view.type, find_file_type(type).base);
        EXPECT_LT(relative_error(decoded(*in.find_tensor("blk.1.ffn_down_t.weight")),
                                 decoded(*out.find_tensor("blk.1.ffn_down_t.weight"))),
                  0.1);
    }
    // 64 is not a multiple of 256: fc2 falls back, fc1 does not.
    const QuantizeResult result = run("Q4_K_M");
    EXPECT_EQ(result.n_fallbacks, 2);
    EXPECT_EQ(GgufFile::open(folder / "out.gguf").find_tensor("blk.0.fc2.weight")->view.type, DType::Q5_0);
    EXPECT_THAT(warnings, testing::Contains(HasSubstr("blk.0.fc2.weight: a row of 64 elements")));
    EXPECT_THAT(warnings, testing::Contains(HasSubstr("2 of ")));
    options.predictor_type = DType::F16;
    EXPECT_EQ(run("Q4_K_M").n_fallbacks, 0);
}

TEST_F(Quantize, SaysWhatHappensToEachTensor) {
    model.write(folder / "in.gguf");
    run("Q4_0");
    EXPECT_THAT(lines, testing::Contains(
                           testing::AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("[256, 256, 1, 1]"),
                                          HasSubstr("converting to Q4_0"), HasSubstr("MiB -> "))));
    EXPECT_THAT(lines, testing::Contains(testing::StartsWith("model size  = ")));
    EXPECT_THAT(lines, testing::Contains(testing::StartsWith("quant size  = ")));
    EXPECT_TRUE(warnings.empty());
}

TEST_F(Quantize, RefusesToQuantizeTwiceUnlessAllowed) {
    model.write(folder / "in.gguf");
    run("Q8_0");
    std::filesystem::rename(folder / "out.gguf", folder / "in.gguf");
    EXPECT_THAT(
        message_of([&] { run("Q4_0"); }),
        testing::AllOf(HasSubstr("'token_embd.weight'"), HasSubstr("Q8_0"), HasSubstr("--allow-requantize")));
    EXPECT_EQ(folder.n_files(), 1u);
    options.allow_requantize = true;
    run("Q4_0");
    EXPECT_EQ(GgufFile::open(folder / "out.gguf").find_tensor("blk.0.ffn_up.weight")->view.type, DType::Q4_0);
}

TEST_F(Quantize, JoinsASplitSet) {
    model.n_layer = 1;
    model.write(folder / "whole.gguf");
    const GgufFile whole = GgufFile::open(folder / "whole.gguf");
    const auto& tensors = whole.tensors();
    const size_t cut = tensors.size() / 2;
    for (size_t part = 0; part < 2; ++part) {
        formats::GgufWriter out(folder / ("in-0000" + std::to_string(part + 1) + "-of-00002.gguf"),
                                GgufMagic::gguf);
        if (part == 0) {
            for (const auto& [key, value] : whole.keys()) out.set(key, value);
        }
        formats::GgufValue u16 = formats::GgufValue::of_u32(static_cast<uint32_t>(part));
        u16.type = formats::GgufType::u16;
        out.set("split.no", u16);
        u16.data = uint64_t{2};
        out.set("split.count", u16);
        out.set("split.tensors.count", formats::GgufValue::of_i32(static_cast<int32_t>(tensors.size())));
        const size_t first = part == 0 ? 0 : cut, last = part == 0 ? cut : tensors.size();
        for (size_t i = first; i < last; ++i)
            out.add_tensor(tensors[i].name, tensors[i].view.type, tensors[i].view.ne);
        out.begin_data();
        for (size_t i = first; i < last; ++i) out.write(tensors[i].view.data, tensors[i].view.n_bytes());
        out.finish();
    }
    quantize_file(simple(folder / "in-00001-of-00002.gguf", folder / "joined.gguf", "COPY"));
    EXPECT_EQ(test::read_file(folder / "joined.gguf"), test::read_file(folder / "whole.gguf"));
}

TEST_F(Quantize, NamesTheTensorThatHoldsNaN) {
    model.bad_tensor = "blk.1.attn_k.weight";
    model.write(folder / "in.gguf");
    for (const char* type : {"Q4_K_M", "F16", "COPY"}) {
        EXPECT_THAT(message_of([&] { run(type); }), testing::AllOf(HasSubstr("'blk.1.attn_k.weight'"),
                                                                   HasSubstr("NaN or infinity in row 32")));
        EXPECT_EQ(folder.n_files(), 1u);
    }
}

TEST_F(Quantize, NamesTheTensorThatDoesNotFitTheType) {
    model.type = DType::F32;
    model.write(folder / "in.gguf");
    {
        std::fstream file(folder / "in.gguf", std::ios::in | std::ios::out | std::ios::binary);
        const GgufFile in = GgufFile::open(folder / "in.gguf");
        const float large = 1e6f;
        file.seekp(static_cast<std::streamoff>(in.find_tensor("output.weight")->offset));
        file.write(reinterpret_cast<const char*>(&large), sizeof large);
    }
    EXPECT_THAT(message_of([&] { run("F16"); }),
                testing::AllOf(HasSubstr("'output.weight'"), HasSubstr("too large")));
    run("BF16");
}

TEST_F(Quantize, RefusesWhatCannotWork) {
    model.write(folder / "in.gguf");
    EXPECT_THAT(message_of([&] { run("Q7_K"); }), testing::AllOf(HasSubstr("'Q7_K'"), HasSubstr("Q4_K_M")));
    options = simple(folder / "in.gguf", folder / "in.gguf", "Q4_0");
    EXPECT_THAT(message_of([&] { quantize_file(options); }), HasSubstr("is the input file itself"));
    options = simple(folder / "missing.gguf", folder / "out.gguf", "Q4_0");
    EXPECT_THAT(message_of([&] { quantize_file(options); }), HasSubstr("missing.gguf"));
    options = simple(folder / "in.gguf", folder / "no/such/out.gguf", "Q4_0");
    EXPECT_THAT(message_of([&] { quantize_file(options); }), HasSubstr("no/such"));
    options = simple(folder / "in.gguf", folder / "out.gguf", "Q4_0");
    options.output_tensor_type = DType::I32;
    EXPECT_THAT(message_of([&] { quantize_file(options); }), HasSubstr("I32"));
    EXPECT_EQ(folder.n_files(), 1u);
}

TEST_F(Quantize, AStopLeavesNothingBehind) {
    model.write(folder / "in.gguf");
    int calls = 0;
    options.progress = [&](double share, std::string_view) {
        EXPECT_GE(share, 0.0);
        EXPECT_LE(share, 1.0);
        return ++calls < 5;
    };
    EXPECT_THROW(run("Q4_0"), Error);
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(folder.n_files(), 1u);
}

TEST_F(Quantize, AFullDiskLeavesNothingBehind) {
    model.write(folder / "in.gguf");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100'000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = message_of([&] { run("Q8_0"); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    EXPECT_THAT(message, testing::AllOf(HasSubstr("out.gguf"), HasSubstr("File too large")));
    EXPECT_EQ(folder.n_files(), 1u);
}

}  // namespace
}  // namespace powerinfer::convert
