// The one-way flow of the design, held by reading every #include of src/.
#include <gtest/gtest.h>

#include <optional>
#include <regex>

#include "repo/rooms.h"
#include "repo/source_tree.h"

namespace powerinfer::repo {
namespace {

/// What is wrong with one include line of a file in `room`, or nothing.
std::optional<std::string> complaint(const std::string& path, const std::string& room, const std::string& line) {
    static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::smatch match;
    if (!std::regex_search(line, match, pattern)) return std::nullopt;
    const std::string target = match[2];
    const Room& allowed = rooms().at(room);
    if (match[1] == "\"") {
        const std::string other = target.substr(0, target.find('/'));
        if (!rooms().count(other)) return "'" + target + "' does not begin with the name of a room";
        if (other == room || allowed.rooms.count(other)) return std::nullopt;
        return "the room " + room + " may not include the room " + other;
    }
    const std::string library = library_of(target);
    if (library.empty()) return "<" + target + "> is unknown; tests/repo/rooms.h says what may be used";
    if (library == "JSON" && !path.ends_with(".cpp")) return "JSON stays in .cpp files";
    if (library == "standard" || library == "system" || library == "fmt") return std::nullopt;
    if (library == "public" && (room == "api" || room == "tools" || is_shared_public_header(target)))
        return std::nullopt;
    if (allowed.libraries.count(library)) return std::nullopt;
    return "the room " + room + " may not use " + library;
}

TEST(IncludeRules, EveryFileIncludesOnlyWhatItsRoomMay) {
    const std::vector<SourceFile> files = read_code("src");
    ASSERT_GT(files.size(), 10u);
    for (const SourceFile& file : files) {
        const std::string below = file.path.substr(4);
        const std::string room = below.substr(0, below.find('/'));
        if (!rooms().count(room)) {
            ADD_FAILURE() << file.path << ": '" << room << "' is not a room of tests/repo/rooms.h";
            continue;
        }
        for (size_t i = 0; i < file.lines.size(); ++i)
            if (const auto wrong = complaint(file.path, room, file.lines[i]))
                ADD_FAILURE() << file.path << ":" << i + 1 << ": " << *wrong;
    }
}

TEST(IncludeRules, TheRuleSeesWhatItShould) {
    EXPECT_FALSE(complaint("src/quant/a.cpp", "quant", "#include \"base/half.h\""));
    EXPECT_FALSE(complaint("src/quant/a.cpp", "quant", "#include <vector>"));
    EXPECT_FALSE(complaint("src/formats/a.cpp", "formats", "#include <nlohmann/json.hpp>"));
    EXPECT_FALSE(complaint("src/base/a.h", "base", "#include <powerinfer/error.h>"));
    EXPECT_TRUE(complaint("src/base/a.h", "base", "#include <powerinfer/powerinfer.h>"));
    EXPECT_TRUE(complaint("src/quant/a.cpp", "quant", "#include \"engine/engine.h\""));
    EXPECT_TRUE(complaint("src/quant/a.cpp", "quant", "  #  include <nlohmann/json.hpp>"));
    EXPECT_TRUE(complaint("src/formats/a.h", "formats", "#include <nlohmann/json.hpp>"));
    EXPECT_TRUE(complaint("src/base/a.h", "base", "#include \"half.h\""));
    EXPECT_TRUE(complaint("src/base/a.h", "base", "#include <somebody/else.h>"));
}

TEST(IncludeRules, NoRoomIncludesARoomThatIncludesIt) {
    for (const auto& [name, room] : rooms())
        for (const std::string& other : room.rooms)
            EXPECT_FALSE(rooms().at(other).rooms.count(name)) << name << " and " << other;
}

}  // namespace
}  // namespace powerinfer::repo
