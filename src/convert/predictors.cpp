#include "convert/predictors.h"

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "convert/hf_config.h"
#include "convert/row_sources.h"
#include "formats/numbered_files.h"
#include "formats/torch_archive.h"

namespace powerinfer::convert {
namespace {

namespace fs = std::filesystem;
using formats::SafeTensor;
using formats::TorchArchive;

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
    const std::vector<std::string> files = formats::numbered_files(folder, "model_", "predictor", n_layer);
    for (size_t index = 0; index < files.size(); ++index) {
        const auto layer = static_cast<int64_t>(index);
        const std::string& path = files[index];
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
