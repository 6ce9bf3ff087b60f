// Makes the activation profile of a model over a text.
#pragma once

#include <memory>
#include <vector>

#include "base/log.h"
#include "learn/text_run.h"
#include "model/model.h"
#include "sparsity/profile.h"

namespace powerinfer::learn {

/// Counts every token of the text. Sources are left to the caller.
sparsity::ActivationProfile profile_text(std::shared_ptr<const model::Model> model, const Text& text,
                                         int n_threads, const Progress& progress = {});

/// |down row|^2 of every neuron of a layer, [n_ff].
std::vector<double> down_norms(const model::Model& model, int layer);

}  // namespace powerinfer::learn
