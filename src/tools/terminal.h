// Small things that every command needs: messages on stderr and checks of what was not given.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/log.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// Warnings from verbosity 2 on, information from 3, everything from 4.
LogSink log_to_stderr(int verbosity);

/// Gives the standard streams that the caller closed a place of their own, lest a file opened later takes their
/// number and gets what was meant for them: messages vanish, writing a result fails.
void hold_standard_streams();

/// Text that somebody reads while it grows. Throws Error{io} when it cannot be written.
void print_now(std::string_view text);

/// From now on every message goes into a file too. Throws Error{io} where it cannot be written.
void open_log_file(const std::string& path, bool append);

/// A message on stderr, and in the log file if there is one. A stderr that takes nothing (closed, full) stops no work.
void say(std::string_view text);
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
    say(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}

/// Throws Error{bad_argument} where no model was given.
void require_model(const Arguments& a);
/// Throws Error{bad_argument} naming the first word that belongs to no option.
void require_no_words(const Arguments& a);

}  // namespace powerinfer::tools
