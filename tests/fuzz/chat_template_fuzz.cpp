// Any bytes as a chat template: parse it, and render a conversation with it.
#include <string>

#include "fuzz.h"
#include "generate/chat_template.h"

using namespace powerinfer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::expect_error_or_success([&] {
        const generate::ChatTemplate parsed(std::string(reinterpret_cast<const char*>(data), size));
        generate::ChatInputs inputs;
        inputs.messages = {{"user", "Hi", ""},
                           {"assistant", std::nullopt, R"({"tool_calls": [{"id": 1.5}]})"}};
        inputs.variables_json =
            R"({"d": {"b": 1, "A": [2, null]}, "l": [3, 1, 2], "s": "a\u00e9 b", "t": true})";
        parsed.render(inputs);
    });
    return 0;
}
