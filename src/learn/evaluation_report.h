// An evaluation for people and programs: a table, JSON, and a page with charts.
#pragma once

#include <string>

#include "learn/evaluate.h"

namespace powerinfer::learn {

/// One line per layer and the figures of the whole.
std::string table_of(const Evaluation& e);

/// One object: perplexity, perplexity_off, kl, active_share, true_active_share, recall, precision,
/// contribution_recall, ..., layers[] with the same per layer.
std::string json_of(const Evaluation& e);

/// A page of three charts: how often the neurons of each layer fire by rank, which share of them makes 80 %
/// of the activations, and each layer's recall.
std::string svg_of(const Evaluation& e);

}  // namespace powerinfer::learn
