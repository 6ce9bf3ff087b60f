#include "convert/quantize.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/cpu_info.h"
#include "base/error.h"
#include "convert/mix.h"
#include "convert/tensor_stream.h"
#include "formats/gguf.h"
#include "quant/format.h"

namespace powerinfer::convert {
namespace {

using formats::GgufFile;
using formats::GgufTensor;
using formats::GgufValue;

constexpr double kMiB = 1024.0 * 1024.0;

void check_encoders(const MixChoice& choice) {
    if (choice.target->copy) return;
    const std::optional<DType> types[] = {choice.target->base, choice.output, choice.token_embedding,
                                          choice.predictor};
    for (const auto& type : types) {
        if (!type) continue;
        const quant::Format* format = quant::find_format(*type);
        if (!format || !format->encode)
            fail(ErrorKind::unsupported, "the type {} can be read but not written", info(*type).name);
    }
}

void check_paths(const QuantizeOptions& options) {
    std::error_code ignored;
    if (std::filesystem::equivalent(options.input, options.output, ignored))
        fail(ErrorKind::bad_argument,
             "the output '{}' is the input file itself; give the result another name", options.output);
}

void copy_keys(const GgufFile& file, const FileType& target, formats::GgufWriter& writer) {
    for (const auto& [key, value] : file.keys()) {
        if (key.rfind("split.", 0) == 0 || key == "general.alignment") continue;
        writer.set(key, value);
    }
    if (target.copy) return;
    writer.set("general.file_type", GgufValue::of_u32(target.number));
    writer.set("general.quantization_version", GgufValue::of_u32(2));
}

TensorJob job_of(const GgufTensor& tensor, DType type, const QuantizeOptions& options) {
    const TensorView view = tensor.view;
    TensorJob job{tensor.name, fmt::format("'{}' of '{}'", tensor.name, options.input), view.ne, type, {},
                  {}};
    const quant::Format* format = quant::find_format(view.type);
    if (type == view.type) {
        job.verbatim = {static_cast<const uint8_t*>(view.data), view.n_bytes()};
    } else if (info(view.type).block > 1 && !options.allow_requantize) {
        fail(ErrorKind::bad_argument,
             "tensor '{}' of '{}' is quantized already ({}) and quantizing it again to {} loses more than "
             "quantizing the original; start from an F16, BF16 or F32 file, or allow it with "
             "--allow-requantize",
             tensor.name, options.input, info(view.type).name, info(type).name);
    }
    if (format) {
        job.open = [view, format]() -> RowSource {
            return [view, format](int64_t begin, int64_t end, float* dst) {
                format->decode(view.row(begin), dst, (end - begin) * view.ne[0]);
            };
        };
    }
    return job;
}

void log_tensor(const LogSink& log, size_t i, size_t n, const GgufTensor& tensor, const TensorJob& job,
                const MixDecision& decision) {
    const std::string what = fmt::format("[{:4}/{:4}] {:36} - [{}], type = {:>6}", i + 1, n, tensor.name,
                                         fmt::join(job.ne, ", "), info(tensor.view.type).name);
    const double before = static_cast<double>(tensor.view.n_bytes()) / kMiB;
    if (job.type == tensor.view.type) {
        powerinfer::log(log, LogLevel::info, "{}, size = {:8.3f} MiB", what, before);
        return;
    }
    if (decision.type != decision.wanted)
        powerinfer::log(log, LogLevel::warning,
                        "{}: a row of {} elements is not a multiple of the {} of {}; using {}", tensor.name,
                        job.ne[0], info(decision.wanted).block, info(decision.wanted).name,
                        info(decision.type).name);
    powerinfer::log(log, LogLevel::info, "{}, converting to {} .. size = {:8.2f} MiB -> {:8.2f} MiB", what,
                    info(job.type).name, before, static_cast<double>(job.n_bytes()) / kMiB);
}

}  // namespace

QuantizeResult quantize_file(const QuantizeOptions& options) {
    const MixChoice choice{&find_file_type(options.type), options.pure,
                           options.leave_output_tensor,   options.output_tensor_type,
                           options.token_embedding_type,  options.predictor_type};
    check_encoders(choice);
    check_paths(options);
    GgufFile file = GgufFile::open(options.input);
    for (const auto& [key, value] : options.overrides) file.override_key(key, value);
    const std::vector<GgufTensor>& tensors = file.tensors();

    std::vector<MixTensor> listed;
    for (const GgufTensor& t : tensors) listed.push_back({t.name, t.view.type, t.view.ne});
    std::vector<MixDecision> decisions = decide_types(choice, facts_of(file), listed);

    QuantizeResult result;
    result.n_tensors = static_cast<int>(tensors.size());
    double n_elements = 0;
    std::vector<TensorJob> jobs;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!quant::find_format(tensors[i].view.type))
            decisions[i] = {tensors[i].view.type, tensors[i].view.type};
        jobs.push_back(job_of(tensors[i], decisions[i].type, options));
        result.n_bytes_before += tensors[i].view.n_bytes();
        result.n_bytes_after += jobs.back().n_bytes();
        result.n_fallbacks += decisions[i].type != decisions[i].wanted;
        n_elements += static_cast<double>(tensors[i].view.n_elements());
    }

    formats::GgufWriter writer(options.output, file.magic(), file.alignment());
    copy_keys(file, *choice.target, writer);
    ThreadPool pool(options.n_threads > 0 ? options.n_threads : read_cpu_info().n_usable);
    write_tensors(writer, jobs, pool, options.progress, [&](size_t i) {
        log_tensor(options.log, i, jobs.size(), tensors[i], jobs[i], decisions[i]);
    });
    writer.finish();

    const auto total = [&](std::string_view what, uint64_t bytes) {
        log(options.log, LogLevel::info, "{} size  = {:8.2f} MiB ({:.2f} BPW)", what,
            static_cast<double>(bytes) / kMiB, 8.0 * static_cast<double>(bytes) / std::max(1.0, n_elements));
    };
    total("model", result.n_bytes_before);
    total("quant", result.n_bytes_after);
    if (result.n_fallbacks > 0)
        log(options.log, LogLevel::warning, "{} of {} tensors got another type than asked for",
            result.n_fallbacks, result.n_tensors);
    return result;
}

}  // namespace powerinfer::convert
