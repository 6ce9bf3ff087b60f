// Conversations in the terminal, through the chat template of the model.
#pragma once

#include "tools/stream.h"

namespace powerinfer::tools {

/// Whether the program, its options and the file's template make this a conversation.
bool wants_conversation(const Arguments& a, const formats::GgufFile& file);

/// Talks until the user ends it. The value is the exit status.
int converse(const Stage& s);

}  // namespace powerinfer::tools
