// A user of the C++ header whose compiler knows nothing newer than C++17.
#include <powerinfer/powerinfer.h>

#if __cplusplus >= 202002L
#error "this file is there to be compiled as C++17"
#endif

namespace powerinfer::test {

std::string cpp17_story(const std::string& path, const std::string& prompt);

std::string cpp17_story(const std::string& path, const std::string& prompt) {
    const Model model = Model::load(path);
    Session session(model);
    GenerateOptions options;
    options.n_predict = 8;
    options.sampling.temperature = 0;
    std::string text;
    session.generate(prompt, options, [&](std::string_view piece) {
        text += piece;
        return true;
    });
    return text;
}

}  // namespace powerinfer::test
