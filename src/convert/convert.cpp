#include "convert/convert.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/cpu_info.h"
#include "base/error.h"
#include "convert/family.h"
#include "convert/file_type.h"
#include "convert/mix.h"
#include "convert/predictors.h"
#include "convert/row_sources.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "quant/format.h"
#include "tokenizer/hf_tokenizer.h"

namespace powerinfer::convert {
namespace {

namespace fs = std::filesystem;
using formats::GgufValue;
using formats::SafeTensor;
using formats::SafeTensorsFile;

/// The type wanted for all matrices; nothing means that each keeps its own.
std::optional<DType> parse_outtype(const std::string& text) {
    if (text == "auto") return std::nullopt;
    const auto type = find_dtype(text);
    const quant::Format* format = type ? quant::find_format(*type) : nullptr;
    if (format && format->encode) return type;
    std::string known = "auto";
    for (uint32_t id = 0; id < kDTypeIdEnd; ++id) {
        const auto t = find_dtype(id);
        const quant::Format* f = t ? quant::find_format(*t) : nullptr;
        if (f && f->encode) known += ", " + std::string(info(*t).name);
    }
    fail(ErrorKind::bad_argument, "'{}' is not an output type; the types are {}", text, known);
}

SafeTensorsFile open_checkpoint(const std::string& folder) {
    const fs::path path(folder);
    if (fs::exists(path / "model.safetensors") || fs::exists(path / "model.safetensors.index.json"))
        return SafeTensorsFile::open_folder(folder);
    std::string found = "no weights at all";
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
        const std::string extension = entry.path().extension().string();
        if (extension == ".bin" || extension == ".pth" || extension == ".pt" || extension == ".safetensors")
            found = fmt::format("'{}'", entry.path().filename().string());
    }
    fail(ErrorKind::io, "'{}' has {}, but neither model.safetensors nor model.safetensors.index.json", folder,
         found);
}

/// Stored types and names of the tensors to write.
class JobList {
  public:
    JobList(const ConvertOptions& options, std::optional<DType> outtype)
        : options_(options), outtype_(outtype) {}

    /// The type of a matrix with rows of n elements.
    DType type_for(const std::string& name, DType stored, int64_t n) {
        const DType wanted = outtype_.value_or(stored);
        if (n % info(wanted).block == 0) return wanted;
        log(options_.log, LogLevel::warning,
            "{}: a row of {} elements is not a multiple of the {} of {}; using F16", name, n,
            info(wanted).block, info(wanted).name);
        ++n_fallbacks;
        return DType::F16;
    }

    void add(const TensorPlan& plan, const SafeTensorsFile& checkpoint) {
        TensorJob job{plan.name,    fmt::format("'{}' of '{}'", plan.source, options_.folder),
                      {1, 1, 1, 1}, DType::F32,
                      {},           {}};
        if (plan.source.empty()) {
            job.ne[0] = static_cast<int64_t>(plan.values.size());
            job.open = [values = plan.values] { return computed_row(values); };
            jobs.push_back(std::move(job));
            return;
        }
        const SafeTensor* tensor = checkpoint.find(plan.source);
        if (!tensor) {
            if (plan.required)
                fail(ErrorKind::bad_file, "tensor '{}' is missing from '{}'", plan.source, options_.folder);
            return;
        }
        used.insert(plan.source);
        if (tensor->shape != plan.shape)
            fail(ErrorKind::bad_file, "tensor {} has the shape [{}]; [{}] would be right", job.origin,
                 fmt::join(tensor->shape, ", "), fmt::join(plan.shape, ", "));
        const DType stored = weight_dtype(*tensor, job.origin);
        if (plan.shape.size() == 1) {
            job.ne[0] = plan.shape[0];
            job.open = [tensor, plan] {
                return plan.layout == RowLayout::head_pairs
                           ? computed_row(paired_elements(*tensor, plan.n_head))
                           : stored_rows(*tensor);
            };
        } else {
            const bool transposed = plan.layout == RowLayout::transposed;
            job.ne[0] = transposed ? plan.shape[0] : plan.shape[1];
            job.ne[1] = transposed ? plan.shape[1] : plan.shape[0];
            job.type = type_for(plan.name, stored, job.ne[0]);
            job.open = [tensor, layout = plan.layout, n_head = plan.n_head] {
                if (layout == RowLayout::head_pairs) return paired_rows(*tensor, n_head);
                return layout == RowLayout::transposed ? transposed_rows(*tensor) : stored_rows(*tensor);
            };
        }
        jobs.push_back(std::move(job));
    }

    std::vector<TensorJob> jobs;
    std::set<std::string, std::less<>> used;
    int n_fallbacks = 0;

  private:
    const ConvertOptions& options_;
    std::optional<DType> outtype_;
};

/// Tensors whose content follows from the config.
bool is_redundant(std::string_view name) {
    return name.ends_with(".rotary_emb.inv_freq") || name == "lm_head.weight";
}

void refuse_leftovers(const SafeTensorsFile& checkpoint, const JobList& list, const Blueprint& blueprint,
                      const std::string& folder) {
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        if (!list.used.contains(name) && !is_redundant(name))
            fail(ErrorKind::unsupported,
                 "tensor '{}' of '{}' is not part of an architecture '{}' with {} layers", name, folder,
                 blueprint.architecture, blueprint.n_layer);
    }
}

/// The number for `general.file_type`: the type that most weights have.
uint32_t file_type_of(const std::vector<TensorJob>& jobs) {
    std::map<DType, double> elements;
    for (const TensorJob& job : jobs) {
        if (job.n_rows() > 1)
            elements[job.type] += static_cast<double>(job.ne[0]) * static_cast<double>(job.n_rows());
    }
    const auto most = std::max_element(elements.begin(), elements.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return file_type_number_of(most == elements.end() ? DType::F32 : most->first);
}

std::string name_of(const ConvertOptions& options) {
    if (!options.name.empty()) return options.name;
    const fs::path path = fs::weakly_canonical(options.folder);
    return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

void check_predictor_activation(const Blueprint& blueprint, const HfConfig& config) {
    if (model::is_sparse_capable(blueprint.activation)) return;
    fail(ErrorKind::bad_argument,
         "predictors say which neurons are not zero, but '{}' says the activation {}, which has no zeros; if "
         "the model "
         "was trained with ReLU, say --activation relu",
         config.path(), model::name(blueprint.activation));
}

/// The tokenizer's vocabulary with as many entries as the model has rows for.
tokenizer::VocabularyData read_vocabulary(const ConvertOptions& options, int64_t n_vocab) {
    tokenizer::VocabularyData data = tokenizer::read_hf_vocabulary(options.folder);
    const auto n = static_cast<int64_t>(data.tokens.size());
    if (n > n_vocab)
        fail(ErrorKind::bad_file,
             "the tokenizer of '{}' has {} tokens, but 'vocab_size' in config.json is {}", options.folder, n,
             n_vocab);
    if (n < n_vocab)
        log(options.log, LogLevel::info, "{} unused tokens fill the vocabulary up to the model's {}",
            n_vocab - n, n_vocab);
    tokenizer::pad_vocabulary(data, static_cast<size_t>(n_vocab));
    return data;
}

}  // namespace

ConvertResult convert_folder(const ConvertOptions& options) {
    const std::optional<DType> outtype = parse_outtype(options.outtype);
    const HfConfig config = HfConfig::read(options.folder);
    const Family& family = find_family(config);
    const SafeTensorsFile checkpoint = open_checkpoint(options.folder);
    const bool with_predictors = !options.predictor.empty();
    const Blueprint blueprint =
        family.describe({config, with_predictors, checkpoint.find("lm_head.weight") != nullptr,
                         options.activation, options.log});

    JobList list(options, outtype);
    for (const TensorPlan& plan : blueprint.tensors) list.add(plan, checkpoint);
    refuse_leftovers(checkpoint, list, blueprint, options.folder);
    std::optional<float> threshold;
    if (with_predictors) {
        check_predictor_activation(blueprint, config);
        PredictorFolder predictors = open_predictors(
            options.predictor, blueprint.n_layer, blueprint.n_embd, blueprint.n_ff,
            [&](const std::string& name, DType stored, int64_t n) { return list.type_for(name, stored, n); });
        threshold = predictors.threshold;
        if (!threshold)
            log(options.log, LogLevel::warning, "'{}' states no 'sparse_threshold'; 0 will be used",
                options.predictor);
        for (TensorJob& job : predictors.jobs) list.jobs.push_back(std::move(job));
    }
    const tokenizer::VocabularyData vocabulary = read_vocabulary(options, blueprint.n_vocab);

    formats::GgufWriter writer(options.output,
                               with_predictors ? formats::GgufMagic::pwri : formats::GgufMagic::gguf);
    writer.set("general.architecture", GgufValue::of_string(blueprint.architecture));
    writer.set("general.type", GgufValue::of_string("model"));
    writer.set("general.name", GgufValue::of_string(name_of(options)));
    writer.set("general.file_type", GgufValue::of_u32(file_type_of(list.jobs)));
    writer.set("general.quantization_version", GgufValue::of_u32(2));
    for (const auto& [key, value] : blueprint.keys) writer.set(key, value);
    writer.set("powerinfer.activation", GgufValue::of_string(std::string(model::name(blueprint.activation))));
    if (threshold) writer.set("powerinfer.sparse_threshold", GgufValue::of_f32(*threshold));
    tokenizer::write_vocabulary(writer, vocabulary);

    ThreadPool pool(options.n_threads > 0 ? options.n_threads : read_cpu_info().n_usable);
    write_tensors(writer, list.jobs, pool, options.progress);
    writer.finish();

    ConvertResult result{static_cast<int>(list.jobs.size()), list.n_fallbacks, 0, with_predictors};
    for (const TensorJob& job : list.jobs) result.n_bytes += job.n_bytes();
    log(options.log, LogLevel::info, "{}: {} tensors, {:.1f} MiB", options.output, result.n_tensors,
        static_cast<double>(result.n_bytes) / (1024.0 * 1024.0));
    return result;
}

}  // namespace powerinfer::convert
