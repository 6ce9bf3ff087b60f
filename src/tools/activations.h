// Which activation a model's feed-forward was trained with, found by trying: published ReLU checkpoints often say
// something else, or nothing.
#pragma once

#include "tools/arguments.h"

namespace powerinfer::tools {

/// Runs the text of --activations under every candidate and prints perplexity, zeros, and which one fits.
int measure_activations(const Arguments& a);

}  // namespace powerinfer::tools
