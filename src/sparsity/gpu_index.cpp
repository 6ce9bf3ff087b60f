#include "sparsity/gpu_index.h"

#include <algorithm>

#include "base/error.h"
#include "sparsity/profile.h"

namespace powerinfer::sparsity {
namespace {

using formats::GgufFile;
using formats::GgufValue;

constexpr std::string_view kArchitecture = "generic.gpu_index";
constexpr uint64_t kMostLayers = 4096;
constexpr int64_t kMostNeurons = 1 << 24;

std::string tensor_name(size_t layer, const char* part) { return fmt::format("blk.{}.{}", layer, part); }

std::span<const int32_t> numbers(const GgufFile& file, const std::string& name) {
    const formats::GgufTensor* t = file.find_tensor(name);
    if (!t) fail(ErrorKind::bad_file, "'{}' has no tensor '{}', which a GPU index needs", file.path(), name);
    if (t->view.type != DType::I32 || t->view.n_rows() != 1 || t->view.ne[0] > kMostNeurons)
        fail(ErrorKind::bad_file, "'{}': tensor '{}' is {} {}, expected one row of at most {} I32", file.path(), name,
             info(t->view.type).name, shape_text(t->view.ne), kMostNeurons);
    return {static_cast<const int32_t*>(t->view.data), static_cast<size_t>(t->view.ne[0])};
}

}  // namespace

void GpuIndex::check_fits(const model::Model& model, const std::string& label) const {
    if (n_layer() != model.spec.n_layer || n_ff != model.spec.n_ff)
        fail(ErrorKind::bad_argument, "'{}' is a GPU index of {} layers of {} neurons, the model has {} of {}", label, n_layer(),
             n_ff, model.spec.n_layer, model.spec.n_ff);
    if (fingerprint != 0 && fingerprint != fingerprint_of(model))
        fail(ErrorKind::bad_argument, "'{}' is a GPU index of another model of the same shape", label);
}

void write_gpu_index(const std::string& path, const GpuIndex& index) {
    formats::GgufWriter out(path, formats::GgufMagic::pwri);
    out.set("general.architecture", GgufValue::of_string(std::string(kArchitecture)));
    out.set("generic.gpu_index.block_count", GgufValue::of_u32(static_cast<uint32_t>(index.n_layer())));
    out.set("split.vram_capacity", GgufValue::of_u64(index.vram_capacity));
    if (index.fingerprint != 0) out.set("powerinfer.fingerprint", GgufValue::of_u64(index.fingerprint));
    for (size_t l = 0; l < index.on_gpu.size(); ++l) {
        out.add_tensor(tensor_name(l, "gpu_idx"), DType::I32, {index.n_ff, 1, 1, 1});
        out.add_tensor(tensor_name(l, "gpu_bucket"), DType::I32, {static_cast<int64_t>(index.on_gpu[l].size()), 1, 1, 1});
    }
    out.begin_data();
    for (const std::vector<int32_t>& bucket : index.on_gpu) {
        std::vector<int32_t> flags(static_cast<size_t>(index.n_ff), 0);
        for (const int32_t id : bucket) flags[static_cast<size_t>(id)] = 1;
        out.write(flags.data(), flags.size() * sizeof(int32_t));
        out.write(bucket.data(), bucket.size() * sizeof(int32_t));
    }
    out.finish();
}

GpuIndex read_gpu_index(const GgufFile& file) {
    const std::string architecture = file.get_string("general.architecture");
    if (architecture != kArchitecture)
        fail(ErrorKind::bad_file, "'{}' is of architecture '{}', a GPU index is '{}'", file.path(), architecture, kArchitecture);
    GpuIndex index;
    index.vram_capacity = file.get_uint("split.vram_capacity");
    index.fingerprint = file.get_uint("powerinfer.fingerprint", 0);
    const size_t n_layer = file.tensors().size() / 2;
    if (n_layer == 0 || n_layer > kMostLayers || file.tensors().size() % 2 != 0)
        fail(ErrorKind::bad_file, "'{}' has {} tensors, a GPU index has two per layer", file.path(), file.tensors().size());
    const uint64_t said = file.get_uint("generic.gpu_index.block_count", n_layer);
    if (said != n_layer)
        fail(ErrorKind::bad_file, "'{}' says it has {} layers and has tensors for {}", file.path(), said, n_layer);
    for (size_t l = 0; l < n_layer; ++l) {
        const std::string idx = tensor_name(l, "gpu_idx"), bucket_name = tensor_name(l, "gpu_bucket");
        const auto flags = numbers(file, idx), bucket = numbers(file, bucket_name);
        if (l == 0) index.n_ff = static_cast<int>(flags.size());
        if (flags.empty() || flags.size() != static_cast<size_t>(index.n_ff))
            fail(ErrorKind::bad_file, "'{}': tensor '{}' has {} entries, expected {}", file.path(), idx, flags.size(), index.n_ff);
        std::vector<int32_t> ids;
        for (size_t i = 0; i < flags.size(); ++i) {
            if (flags[i] != 0 && flags[i] != 1)
                fail(ErrorKind::bad_file, "'{}': entry {} of tensor '{}' is {}, expected 0 or 1", file.path(), i, idx, flags[i]);
            if (flags[i] == 1) ids.push_back(static_cast<int32_t>(i));
        }
        if (!std::equal(ids.begin(), ids.end(), bucket.begin(), bucket.end()))
            fail(ErrorKind::bad_file, "'{}': tensor '{}' does not list the {} neurons that '{}' marks, in ascending order", file.path(),
                 bucket_name, ids.size(), idx);
        index.on_gpu.push_back(std::move(ids));
    }
    return index;
}

GpuIndex open_gpu_index(const std::string& path) { return read_gpu_index(GgufFile::open(path)); }

}  // namespace powerinfer::sparsity
