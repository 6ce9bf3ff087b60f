// The files of the project as lists of lines, for tests about the project itself.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace powerinfer::repo {

struct SourceFile {
    std::string path;  ///< from the top of the tree, with forward slashes
    std::vector<std::string> lines;
};

inline bool is_code(const std::filesystem::path& path) {
    static const std::vector<std::string> endings = {".cpp", ".h", ".hpp", ".c", ".cu", ".cuh"};
    return std::find(endings.begin(), endings.end(), path.extension()) != endings.end();
}

inline SourceFile read_source(const std::filesystem::path& root, const std::filesystem::path& path) {
    SourceFile file{path.lexically_relative(root).generic_string(), {}};
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) file.lines.push_back(line);
    return file;
}

/// All code below `folder` of the tree, sorted by path.
inline std::vector<SourceFile> read_code(const std::string& folder) {
    const std::filesystem::path root = POWERINFER_SOURCE_DIR;
    std::vector<SourceFile> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder))
        if (entry.is_regular_file() && is_code(entry.path())) files.push_back(read_source(root, entry.path()));
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

/// The line without what follows `//`. Good enough for looking for words: strings with // in them are cut too.
inline std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

/// True when `word` stands in the text with no letter, digit or underscore beside it.
inline bool has_word(const std::string& text, const std::string& word) {
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t end = at + word.size();
        if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
    }
    return false;
}

}  // namespace powerinfer::repo
