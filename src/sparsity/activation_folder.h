// The `activation/activation_N.pt` folders of published models: one one-dimensional tensor of counts or
// scores per layer. Not our own profiles, which know more: see profile.h.
#pragma once

#include <optional>
#include <string>

#include "model/model.h"
#include "sparsity/profile.h"

namespace powerinfer::sparsity {

/// Reads activation_0.pt, activation_1.pt, ..., by number. Tensors of any integer or float type are taken.
/// Scores that are no whole numbers become counts by one power of two for all layers. Nothing of the files is
/// executed. Throws Error{bad_file | unsupported | io} naming the file where a layer is missing, double or
/// one too many for `model`, where lengths differ from each other or from the model's n_ff, and where a value
/// is negative or not finite.
ActivationProfile read_activation_folder(const std::string& folder, const model::ModelSpec* model = nullptr);

/// Writes the counts as int64 tensors. Makes the folder; throws Error{bad_argument} where it holds files of
/// more layers.
void write_activation_folder(const std::string& folder, const ActivationProfile& profile);

}  // namespace powerinfer::sparsity
