// Published chat templates against the text that the reference implementation of Jinja makes of them.
#include "generate/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "error_message.h"
#include "generate/jinja_eval.h"
#include "shared_data.h"

namespace powerinfer::generate {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json published_cases(const std::filesystem::path& path) {
    std::ifstream file(path);
    return Json::parse(file);
}

TEST(PublishedTemplates, RenderExactly) {
    SHARED_PATH_OR_SKIP(path, "vectors/templates/cases.json");
    int rendered = 0, refused = 0;
    for (const Json& c : published_cases(path)) {
        const std::string label = c["name"].get<std::string>() + ", " + c["conversation"].get<std::string>();
        const jinja::Value inputs = jinja::from_json(c["inputs"].dump(), "inputs");
        std::string got;
        const std::string error = test::message_of(
            [&] { got = jinja::Evaluator().run(jinja::parse(c["template"].get<std::string>()), inputs); });
        if (c["ok"].get<bool>()) {
            EXPECT_EQ(error, "(no error)") << label;
            EXPECT_EQ(got, c["text"].get<std::string>()) << label;
            ++rendered;
        } else {
            const std::string reason = c["error"].get<std::string>();
            EXPECT_THAT(error, HasSubstr(reason.substr(reason.find(": ") + 2))) << label;
            EXPECT_THAT(error, HasSubstr("line ")) << label;
            ++refused;
        }
    }
    EXPECT_EQ(rendered, 44);
    EXPECT_EQ(refused, 5);
}

TEST(ChatTemplate, GivesTheSameFromMessages) {
    SHARED_PATH_OR_SKIP(path, "vectors/templates/cases.json");
    for (const Json& c : published_cases(path)) {
        if (!c["ok"].get<bool>()) continue;
        ChatInputs inputs;
        for (const Json& m : c["inputs"]["messages"]) {
            ChatMessage& message = inputs.messages.emplace_back();
            Json rest = m;
            message.role = m["role"].get<std::string>();
            if (m.contains("content") && m["content"].is_string())
                message.content = m["content"].get<std::string>();
            rest.erase("role");
            if (message.content) rest.erase("content");
            if (!rest.empty()) message.fields_json = rest.dump();
        }
        inputs.add_generation_prompt = c["inputs"]["add_generation_prompt"].get<bool>();
        inputs.bos_token = c["inputs"]["bos_token"].get<std::string>();
        inputs.eos_token = c["inputs"]["eos_token"].get<std::string>();
        if (c["inputs"].contains("tools")) inputs.tools_json = c["inputs"]["tools"].dump();
        EXPECT_EQ(ChatTemplate(c["template"].get<std::string>()).render(inputs), c["text"].get<std::string>())
            << c["name"] << ", " << c["conversation"];
    }
}

TEST(ChatTemplate, ChatMlIsTheNamedDefault) {
    ChatInputs inputs;
    inputs.messages = {{"system", "Be kind.", ""}, {"user", "Hi", ""}};
    const std::string want =
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
    EXPECT_EQ(choose_chat_template("chatml", std::nullopt).render(inputs), want);
    EXPECT_EQ(choose_chat_template("chatml", "{{ 'file' }}").render(inputs), want)
        << "the user's choice wins";
    EXPECT_EQ(choose_chat_template("", "{{ 'file' }}").render(inputs), "file");
    EXPECT_EQ(choose_chat_template("{{ messages|length }}", "{{ 'file' }}").render(inputs), "2");
    EXPECT_THAT(test::message_of([] { choose_chat_template("", std::nullopt); }),
                AllOf(HasSubstr("has no chat template"), HasSubstr("chatml")));
    EXPECT_THAT(test::message_of([] { choose_chat_template("chatxl", std::nullopt); }),
                HasSubstr("named 'chatxl'"));
}

TEST(ChatTemplate, FurtherVariablesAndFields) {
    ChatInputs inputs;
    inputs.messages = {{"assistant", std::nullopt, R"({"name": "a", "tool_calls": [{"id": 1}]})"}};
    inputs.variables_json = R"({"enable_thinking": false})";
    const ChatTemplate t(
        "{{ messages[0].content is none }} {{ messages[0].name }} {{ messages[0].tool_calls|tojson }} "
        "{{ enable_thinking }} {{ tools is none }}");
    EXPECT_EQ(t.render(inputs), "True a [{\"id\": 1}] False True");
    inputs.variables_json = "[1]";
    EXPECT_THAT(test::message_of([&] { t.render(inputs); }), HasSubstr("must be a JSON object, not a list"));
    inputs.variables_json = "{";
    EXPECT_THAT(test::message_of([&] { t.render(inputs); }), HasSubstr("is not JSON"));
    inputs.variables_json = "";
    inputs.tools_json = std::string(100000, '[');
    EXPECT_THAT(test::message_of([&] { t.render(inputs); }), HasSubstr("tools"));
}

}  // namespace
}  // namespace powerinfer::generate
