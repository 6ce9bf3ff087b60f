// Continues a text with the most likely words: story_cpp MODEL [PROMPT]
#include <powerinfer/powerinfer.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: story_cpp MODEL [PROMPT]\n";
        return 2;
    }
    const std::string prompt = argc > 2 ? argv[2] : "Once upon a time there was a king who had";
    try {
        const powerinfer::Model model = powerinfer::Model::load(argv[1]);
        powerinfer::Session session(model);

        powerinfer::GenerateOptions options;
        options.n_predict = 64;
        options.sampling.temperature = 0;  // always the most likely token

        std::cout << prompt;
        session.generate(prompt, options, [](std::string_view text) {
            std::cout << text << std::flush;
            return true;  // false would end the story
        });
        std::cout << '\n';
        std::cerr << static_cast<int>(100 * session.active_share()) << " % of the neurons were computed\n";
    } catch (const powerinfer::Error& error) {
        std::cerr << "error: " << error.what() << '\n';
        return 1;
    }
}
