// Real checkpoints, converted and then read by somebody else's program (the Python package `gguf`).
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "convert/convert.h"
#include "formats/gguf.h"
#include "model/model.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace powerinfer::convert {
namespace {

bool has_python_reader() {
    return std::system("python3 -c 'import gguf, numpy' >/dev/null 2>&1") == 0;
}

class Oracle : public testing::TestWithParam<std::string> {};

TEST_P(Oracle, IsReadBackByAnotherProgram) {
    SHARED_PATH_OR_SKIP(folder, GetParam());
    if (!has_python_reader()) GTEST_SKIP() << "needs python3 with the packages gguf and numpy";
    const test::TemporaryFolder scratch;
    ConvertOptions options;
    options.folder = folder.string();
    std::string command =
        "python3 '" POWERINFER_SOURCE_DIR "/tests/convert/check_conversion.py' '" + options.folder + "'";
    for (const char* type : {"auto", "f32", "f16", "bf16", "q8_0", "q4_0"}) {
        for (const bool with_predictor : {false, true}) {
            if (with_predictor && !std::filesystem::exists(folder / "predictor")) continue;
            options.outtype = type;
            options.predictor = with_predictor ? (folder / "predictor").string() : "";
            options.output = scratch / (std::string(type) + (with_predictor ? ".powerinfer.gguf" : ".gguf"));
            convert_folder(options);
            // Our own loader checks every name and shape.
            const auto file =
                std::make_shared<const formats::GgufFile>(formats::GgufFile::open(options.output));
            EXPECT_EQ(model::load(file).spec.has_predictors, with_predictor);
            command += " '" + options.output + "'";
        }
    }
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

INSTANTIATE_TEST_SUITE_P(Llamas, Oracle,
                         testing::Values("oracles/llama-3", "oracles/llama-linear-rope", "oracles/llama-relu",
                                         "oracles/llama-silu", "oracles/llama-yarn", "oracles/mistral",
                                         "oracles/bamboo", "oracles/llama-relu-predictors",
                                         "models/fable-relu"),
                         [](const auto& instance) {
                             std::string name = instance.param.substr(instance.param.find('/') + 1);
                             for (char& c : name) {
                                 if (c == '-') c = '_';
                             }
                             return name;
                         });

TEST(Demo, TheFileInModelsIsWhatTheConverterMakes) {
    SHARED_PATH_OR_SKIP(folder, "models/fable-relu");
    const test::TemporaryFolder scratch;
    ConvertOptions options;
    options.folder = folder.string();
    options.output = scratch / "fable.gguf";
    options.outtype = "f16";
    convert_folder(options);
    const auto made = test::read_file(options.output);
    EXPECT_LT(made.size(), 12'000'000u);
    EXPECT_TRUE(made == test::read_file(POWERINFER_SOURCE_DIR "/models/fable.gguf"));
}

}  // namespace
}  // namespace powerinfer::convert
