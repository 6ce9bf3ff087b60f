// The files of a folder that hold one layer each, by number: `model_0.pt`, `activation_11.pt`. Names are
// matched by their number and never by their order as text, in which 10 comes before 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace powerinfer::formats {

/// The paths of `<start>0.pt`, `<start>1.pt`, ..., in this order; other files of the folder are left alone.
/// `what` is a word for messages ("predictor"). Throws Error{io | bad_file} naming file or layer where the
/// folder is missing, a layer has no file or two, or, with n_layer given, there are more files than layers.
std::vector<std::string> numbered_files(const std::string& folder, std::string_view start,
                                        std::string_view what, std::optional<int64_t> n_layer);

}  // namespace powerinfer::formats
