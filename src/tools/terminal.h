// Small things that every command needs: messages on stderr and checks of what was not given.
#pragma once

#include <string_view>

#include "base/log.h"
#include "tools/arguments.h"

namespace powerinfer::tools {

/// Warnings from verbosity 2 on, information from 3, everything from 4.
LogSink log_to_stderr(int verbosity);

/// Text that somebody reads while it grows.
void print_now(std::string_view text);

/// Throws Error{bad_argument} where no model was given.
void require_model(const Arguments& a);
/// Throws Error{bad_argument} naming the first word that belongs to no option.
void require_no_words(const Arguments& a);

}  // namespace powerinfer::tools
