// Conversations in the terminal, through the chat template of the model.
#pragma once

#include "formats/gguf.h"
#include "generate/chat_template.h"
#include "tools/stream.h"

namespace powerinfer::tools {

/// The template to talk through, where the program, its options and the file's template make this a conversation.
/// The llama-* programs take ChatML where there is none.
std::optional<generate::ChatTemplate> conversation_template(const Arguments& a, const Texts& texts,
                                                            const formats::GgufFile& file, const LogSink& log);

/// Talks until the user ends it. The value is the exit status.
int converse(const Stage& s, const generate::ChatTemplate& chat_template);

}  // namespace powerinfer::tools
