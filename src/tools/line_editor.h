// Lines typed by a person: editing and history on a terminal (where libedit was found), plain reading elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace powerinfer::tools {

enum class LineResult { line, interrupted, end_of_input };

class LineEditor {
  public:
    /// history_file: kept across runs; empty = none. simple: never edit, whatever the terminal can do.
    LineEditor(const std::string& history_file, bool simple);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    /// Shows the prompt and reads one line, without its line break. `interrupted` when Ctrl-C dropped the line: an
    /// InterruptWatch must exist for that.
    LineResult read(const std::string& prompt, std::string& line);
    /// Several typed lines as one entry that the arrow keys bring back.
    void remember(const std::string& entry);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Where a program keeps its history: $XDG_STATE_HOME or ~/.local/state, "powerinfer/NAME"; empty where there is no home.
std::string history_path(const std::string& name);

}  // namespace powerinfer::tools
