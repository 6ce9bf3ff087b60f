// The commands, each in a file of its own. They print their result on stdout, everything else on stderr, and throw
// Error for what the outside got wrong. The value is the exit status.
#pragma once

#include <string>

#include "tools/arguments.h"

namespace powerinfer::tools {

int run(const Arguments& a);  ///< `chat` too
int inspect(const Arguments& a);
int tokenize(const Arguments& a);
int convert_folder(const Arguments& a);
int quantize(const Arguments& a);
std::string quantize_types();  ///< for its help: numbers, names and what they are
int logits(const Arguments& a);
int perplexity(const Arguments& a);
int profile(const Arguments& a);
int evaluate(const Arguments& a);
int predictor(const Arguments& a);
int complete_file(const Arguments& a);
int batched(const Arguments& a);
int bench(const Arguments& a);
int synth(const Arguments& a);
int plan_placement(const Arguments& a);

}  // namespace powerinfer::tools
