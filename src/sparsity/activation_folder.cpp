#include "sparsity/activation_folder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "formats/numbered_files.h"
#include "formats/torch_archive.h"
#include "formats/torch_write.h"

namespace powerinfer::sparsity {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStart = "activation_", kWhat = "profile";
constexpr size_t kMaxLayers = 4096, kMaxNeurons = 1 << 24;
constexpr double kMostExact = 9007199254740992.0;  // 2^53: every whole number up to here is a double
constexpr int kScaledBits = 40;  // the largest score becomes a count of about this many bits

/// The one vector of a file, [n_ff], checked to be finite and not negative.
std::vector<double> read_layer(const std::string& path) {
    const auto archive = formats::TorchArchive::open(path);
    const auto& tensors = archive.tensors();
    if (tensors.size() != 1)
        fail(ErrorKind::bad_file, "'{}' holds {} tensors, expected one: the counts of a layer", path,
             tensors.size());
    const formats::SafeTensor& tensor = tensors.begin()->second;
    if (tensor.shape.size() != 1 || tensor.shape[0] < 1 || static_cast<size_t>(tensor.shape[0]) > kMaxNeurons)
        fail(ErrorKind::bad_file,
             "'{}' holds a tensor of the shape [{}], expected one dimension of 1 to {} neurons", path,
             fmt::join(tensor.shape, ", "), kMaxNeurons);
    std::vector<double> values;
    if (tensor.dtype == "F64") {
        values.resize(static_cast<size_t>(tensor.shape[0]));
        std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(double));
    } else if (tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16") {
        for (const float x : tensor.to_floats()) values.push_back(static_cast<double>(x));
    } else if (tensor.dtype[0] == 'I' || tensor.dtype == "U8") {
        for (const int64_t x : tensor.to_ints()) values.push_back(static_cast<double>(x));
    } else {
        fail(ErrorKind::unsupported, "'{}' holds {} values, expected whole numbers or floats", path,
             tensor.dtype);
    }
    for (size_t j = 0; j < values.size(); ++j) {
        if (!std::isfinite(values[j]) || values[j] < 0)
            fail(ErrorKind::bad_file,
                 "'{}': the value of neuron {} is {}, expected a finite number of at least 0", path, j,
                 values[j]);
    }
    return values;
}

}  // namespace

ActivationProfile read_activation_folder(const std::string& folder, const model::ModelSpec* model) {
    const auto n_layer = model ? std::optional<int64_t>(model->n_layer) : std::nullopt;
    const std::vector<std::string> files = formats::numbered_files(folder, kStart, kWhat, n_layer);
    if (files.size() > kMaxLayers)
        fail(ErrorKind::bad_file, "'{}' holds {} layers, expected at most {}", folder, files.size(),
             kMaxLayers);
    std::vector<std::vector<double>> layers;
    double most = 0;
    bool whole = true;
    for (const std::string& path : files) {
        layers.push_back(read_layer(path));
        if (model && layers.back().size() != static_cast<size_t>(model->n_ff))
            fail(ErrorKind::bad_file,
                 "'{}' has {} values, but the model has {} neurons per layer: it belongs to another model",
                 path, layers.back().size(), model->n_ff);
        if (layers.back().size() != layers.front().size())
            fail(ErrorKind::bad_file,
                 "'{}' has {} values and '{}' has {}; layers of one model have the same number", path,
                 layers.back().size(), files.front(), layers.front().size());
        for (const double x : layers.back()) {
            most = std::max(most, x);
            whole = whole && x == std::floor(x);
        }
    }
    const int shift = whole && most <= kMostExact ? 0 : kScaledBits - std::ilogb(most);
    ActivationProfile profile;
    profile.n_ff = static_cast<int>(layers.front().size());
    profile.n_embd = model ? model->n_embd : 0;
    profile.sources = {fs::path(folder).filename().string()};
    for (const std::vector<double>& values : layers) {
        LayerProfile& layer = profile.layers.emplace_back();
        for (const double x : values)
            layer.fires.push_back(static_cast<uint64_t>(std::llround(std::ldexp(x, shift))));
    }
    return profile;
}

void write_activation_folder(const std::string& folder, const ActivationProfile& profile) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) fail(ErrorKind::io, "the folder '{}' cannot be made: {}", folder, error.message());
    const auto path_of = [&](int layer) {
        return (fs::path(folder) / fmt::format("{}{}.pt", kStart, layer)).string();
    };
    for (int i = 0; i < profile.n_layer(); ++i) {
        const std::vector<uint64_t>& fires = profile.layers[static_cast<size_t>(i)].fires;
        formats::write_torch_tensor(path_of(i), std::vector<int64_t>(fires.begin(), fires.end()));
    }
    formats::numbered_files(folder, kStart, kWhat, profile.n_layer());  // throws where more layers lie there
}

}  // namespace powerinfer::sparsity
