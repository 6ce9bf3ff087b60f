// The demo model and what another program says it continues with, for tests of the public API.
#pragma once

#include <powerinfer/powerinfer.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared_data.h"

namespace powerinfer::test {

inline const std::string kFablePath = std::string(POWERINFER_SOURCE_DIR) + "/models/fable.gguf";
inline const std::string kPrompt = "Once upon a time there was a king who had";
/// The 64 most likely tokens as text, as models/fable.gguf's checkpoint gave them in another program.
inline const std::string kStory =
    " a son, and he was so beautiful that he was not to be seen.\n\n 'I am not a man,' said the king, 'and I will give you "
    "a piece of bread.'\n\n 'I will give you a piece of bread,' said the king.\n\n 'I will give you a";

inline GenerateOptions greedy(int n_predict) {
    GenerateOptions options;
    options.n_predict = n_predict;
    options.sampling.temperature = 0;
    return options;
}

inline SessionOptions small_session(const std::string& sparsity = "auto") {
    SessionOptions options;
    options.n_ctx = 256;
    options.n_threads = 2;
    options.sparsity = sparsity;
    return options;
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in);
}

}  // namespace powerinfer::test
