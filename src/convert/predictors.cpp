#include "convert/predictors.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "convert/hf_config.h"
#include "convert/row_sources.h"
#include "formats/torch_archive.h"

namespace powerinfer::convert {
namespace {

namespace fs = std::filesystem;
using formats::SafeTensor;
using formats::TorchArchive;

/// N of "model_N.pt", or nothing for other names.
std::optional<int64_t> layer_of(const std::string& name) {
    constexpr std::string_view kStart = "model_", kEnd = ".pt";
    if (name.size() <= kStart.size() + kEnd.size() || !name.starts_with(kStart) || !name.ends_with(kEnd))
        return std::nullopt;
    int64_t n = 0;
    const char *begin = name.data() + kStart.size(), *end = name.data() + name.size() - kEnd.size();
    const auto [stop, error] = std::from_chars(begin, end, n);
    return error == std::errc() && stop == end && n >= 0 ? std::optional(n) : std::nullopt;
}

std::map<int64_t, std::string> files_by_layer(const std::string& folder, int64_t n_layer) {
    if (!fs::is_directory(folder)) fail(ErrorKind::io, "the predictor folder '{}' does not exist", folder);
    std::map<int64_t, std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const auto n = layer_of(entry.path().filename().string());
        if (!n) continue;
        const auto [it, added] = files.emplace(*n, entry.path().string());
        if (!added)
            fail(ErrorKind::bad_file, "'{}' and '{}' are both predictors of layer {}; one would be right",
                 it->second, entry.path().string(), *n);
    }
    for (int64_t n = 0; n < n_layer; ++n) {
        if (!files.contains(n))
            fail(ErrorKind::bad_file,
                 "the predictor folder '{}' has no model_{}.pt; the model has {} layers, so "
                 "model_0.pt to model_{}.pt would be right",
                 folder, n, n_layer, n_layer - 1);
    }
    if (const auto extra = files.upper_bound(n_layer - 1); extra != files.end())
        fail(ErrorKind::bad_file,
             "'{}' is a predictor of layer {}, but the model has {} layers, numbered from 0", extra->second,
             extra->first, n_layer);
    return files;
}

std::optional<float> read_threshold(const std::string& folder) {
    if (!fs::exists(fs::path(folder) / "config.json")) return std::nullopt;
    const auto threshold = HfConfig::read(folder).find_number({"sparse_threshold"});
    return threshold ? std::optional(static_cast<float>(*threshold)) : std::nullopt;
}

/// One opened file, so that the two matrices of a layer do not read it twice.
struct OpenLayer {
    int64_t layer = -1;
    std::shared_ptr<const TorchArchive> archive;

    std::shared_ptr<const TorchArchive> get(int64_t n, const std::string& path) {
        if (n != layer) {
            archive = nullptr;
            archive = std::make_shared<const TorchArchive>(TorchArchive::open(path));
            layer = n;
        }
        return archive;
    }
};

/// Checks one file and gives the rank of its predictor.
int64_t check_layer(const TorchArchive& archive, const std::string& path, int64_t n_embd, int64_t n_ff) {
    const auto& tensors = archive.tensors();
    for (const auto& [name, tensor] : tensors) {
        if (name != "fc1.weight" && name != "fc2.weight")
            fail(ErrorKind::unsupported, "'{}' holds a tensor '{}'; a predictor is fc1.weight and fc2.weight",
                 path, name);
    }
    for (const char* name : {"fc1.weight", "fc2.weight"}) {
        if (!tensors.contains(std::string_view(name)))
            fail(ErrorKind::bad_file, "'{}' has no tensor '{}'; a predictor is fc1.weight and fc2.weight",
                 path, name);
    }
    const std::vector<int64_t>&fc1 = tensors.find("fc1.weight")->second.shape,
          &fc2 = tensors.find("fc2.weight")->second.shape;
    if (fc1.size() != 2 || fc1[0] < 1 || fc1[1] != n_embd)
        fail(ErrorKind::bad_file, "tensor 'fc1.weight' of '{}' has the shape [{}]; [rank, {}] would be right",
             path, fmt::join(fc1, ", "), n_embd);
    if (fc2.size() != 2 || fc2[0] != n_ff || fc2[1] != fc1[0])
        fail(ErrorKind::bad_file, "tensor 'fc2.weight' of '{}' has the shape [{}]; [{}, {}] would be right",
             path, fmt::join(fc2, ", "), n_ff, fc1[0]);
    return fc1[0];
}

}  // namespace

PredictorFolder open_predictors(
    const std::string& folder, int64_t n_layer, int64_t n_embd, int64_t n_ff,
    const std::function<DType(const std::string& name, DType stored, int64_t n)>& type_for) {
    PredictorFolder result;
    const auto opened = std::make_shared<OpenLayer>();
    for (const auto& entry : files_by_layer(folder, n_layer)) {
        const auto& layer = entry.first;
        const std::string& path = entry.second;
        const TorchArchive archive = TorchArchive::open(path);
        const int64_t rank = check_layer(archive, path, n_embd, n_ff);
        const auto add = [&](const std::string& source, std::array<int64_t, 4> ne) {
            const std::string origin = fmt::format("'{}' of '{}'", source, path);
            TensorJob job{"blk." + std::to_string(layer) + "." + source, origin, ne, DType::F32, {}, {}};
            job.type =
                type_for(job.name, weight_dtype(archive.tensors().find(source)->second, origin), ne[0]);
            job.open = [opened, layer, path, source]() -> RowSource {
                const auto kept = opened->get(layer, path);
                return [kept, rows = stored_rows(kept->tensors().find(source)->second)](
                           int64_t begin, int64_t end, float* dst) { rows(begin, end, dst); };
            };
            result.jobs.push_back(std::move(job));
        };
        add("fc1.weight", {n_embd, rank, 1, 1});
        add("fc2.weight", {rank, n_ff, 1, 1});
    }
    result.threshold = read_threshold(folder);
    return result;
}

}  // namespace powerinfer::convert
