#include "convert/complete.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/cpu_info.h"
#include "base/error.h"
#include "convert/mix.h"
#include "convert/tensor_stream.h"
#include "quant/format.h"
#include "sparsity/neuron_order.h"

namespace powerinfer::convert {
namespace {

using formats::GgufFile;
using formats::GgufTensor;
using formats::GgufValue;
using sparsity::NeuronOrder;

/// "ffn_up.weight" of "blk.7.ffn_up.weight", and 7; an empty part for tensors of no layer.
std::pair<std::string_view, size_t> split_name(std::string_view name) {
    if (!name.starts_with("blk.")) return {"", 0};
    const size_t dot = name.find('.', 4);
    return {name.substr(dot + 1), static_cast<size_t>(std::stoul(std::string(name.substr(4, dot - 4))))};
}

bool is_predictor_part(std::string_view part) {
    return part.starts_with("fc1.") || part.starts_with("fc2.") || part == "gate_signs";
}

/// The rows are neurons.
bool is_by_neuron(std::string_view part) {
    return part == "ffn_gate.weight" || part == "ffn_up.weight" || part == "ffn_down_t.weight";
}
bool is_neuron_bias(std::string_view part) { return part == "ffn_gate.bias" || part == "ffn_up.bias"; }

bool is_dropped_key(std::string_view key) {
    return key.starts_with("split.") || key == "general.alignment" || key == "powerinfer.sparse_threshold" ||
           key.starts_with("powerinfer.predictor.") || key.starts_with("powerinfer.evaluation.") ||
           key.starts_with("powerinfer.profile.") || key.starts_with("powerinfer.neuron_order.");
}

/// Makes the tensors of the output.
class Completion {
  public:
    Completion(const model::Model& model, const sparsity::PredictorSet& set, const NeuronOrder& order, const CompleteOptions& options)
        : file_(*model.file), set_(set), order_(order), options_(options), target_(find_file_type(options.type)) {}

    std::vector<TensorJob> jobs() {
        MixChoice choice;
        choice.target = &target_;
        std::vector<MixTensor> listed;
        std::vector<const GgufTensor*> kept;
        for (const GgufTensor& t : file_.tensors()) {
            const auto [part, layer] = split_name(t.name);
            if (is_predictor_part(part)) continue;
            kept.push_back(&t);
            listed.push_back({part == "ffn_down.weight" ? down_name(layer) : t.name, t.view.type, shape_of(t, part)});
        }
        const std::vector<MixDecision> decisions = decide_types(choice, facts_of(file_), listed);
        std::vector<TensorJob> jobs;
        size_t last_layer = 0;
        const auto add_predictor = [&](size_t layer) {
            for (const sparsity::NamedTensor& t : sparsity::predictor_tensors(set_, static_cast<int>(layer)))
                jobs.push_back({t.name, t.name, t.view.ne, t.view.type, {},
                                {static_cast<const uint8_t*>(t.view.data), t.view.n_bytes()}});
        };
        for (size_t i = 0; i < kept.size(); ++i) {
            jobs.push_back(job_of(*kept[i], decisions[i].type));
            last_layer = std::max(last_layer, split_name(kept[i]->name).second);
        }
        for (size_t layer = 0; layer <= last_layer; ++layer) add_predictor(layer);
        return jobs;
    }

  private:
    const std::string& down_name(size_t layer) {
        names_.push_back(std::make_unique<std::string>(fmt::format("blk.{}.ffn_down_t.weight", layer)));
        return *names_.back();
    }
    static std::array<int64_t, 4> shape_of(const GgufTensor& t, std::string_view part) {
        if (part != "ffn_down.weight") return t.view.ne;
        return {t.view.ne[1], t.view.ne[0], 1, 1};
    }

    TensorJob job_of(const GgufTensor& tensor, DType type) {
        const TensorView view = tensor.view;
        const auto [part, layer] = split_name(tensor.name);
        const quant::Format* format = quant::find_format(view.type);
        if (!format) type = view.type;
        TensorJob job{tensor.name, fmt::format("'{}' of '{}'", tensor.name, file_.path()), view.ne, type, {}, {}};
        const bool turns = part == "ffn_down.weight";
        if ((turns || type != view.type) && info(view.type).block > 1 && !options_.allow_requantize)
            fail(ErrorKind::bad_argument,
                 "tensor '{}' of '{}' is quantized already ({}) and {} loses precision; start from an F16, BF16 or F32 file, or "
                 "allow it with --allow-requantize",
                 tensor.name, file_.path(), info(view.type).name,
                 turns ? "laying it out by neuron" : fmt::format("quantizing it again to {}", info(type).name));
        if (format) check_encoder(type);
        if (turns) {
            job.name = fmt::format("blk.{}.ffn_down_t.weight", layer);
            job.ne = {view.ne[1], view.ne[0], 1, 1};
            if (info(type).block > 1 && job.ne[0] % info(type).block != 0) job.type = fitting_type(type, job.ne[0]);
            job.open = [this, view, at = layer]() -> RowSource { return turned(view, order_[at]); };
            return job;
        }
        if (is_neuron_bias(part)) {
            job.open = [this, view, at = layer]() -> RowSource {
                return [this, view, at](int64_t, int64_t, float* dst) {
                    const auto* bias = static_cast<const float*>(view.data);
                    for (const int32_t j : order_[at]) *dst++ = bias[j];
                };
            };
            return job;
        }
        const bool moves = is_by_neuron(part);
        if (type == view.type) {
            job.verbatim = {static_cast<const uint8_t*>(view.data), view.n_bytes()};
            if (moves) job.row_order = order_[layer];
        }
        if (format) {
            job.open = [this, view, format, moves, at = layer]() -> RowSource {
                return [this, view, format, moves, at](int64_t begin, int64_t end, float* dst) {
                    for (int64_t r = begin; r < end; ++r)
                        format->decode(view.row(moves ? order_[at][static_cast<size_t>(r)] : r), dst + (r - begin) * view.ne[0],
                                       view.ne[0]);
                };
            };
        }
        return job;
    }

    /// The rows of neurons out of a matrix {n_ff, n_embd}, decoded whole.
    static RowSource turned(const TensorView& view, const std::vector<int32_t>& order) {
        const int64_t n_ff = view.ne[0], n_embd = view.ne[1];
        auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(n_ff * n_embd));
        for (int64_t r = 0; r < n_embd; ++r) quant::format(view.type).decode(view.row(r), values->data() + r * n_ff, n_ff);
        return [values, n_ff, n_embd, &order](int64_t begin, int64_t end, float* dst) {
            for (int64_t i = 0; i < n_embd; ++i) {
                for (int64_t r = begin; r < end; ++r)
                    dst[(r - begin) * n_embd + i] = (*values)[static_cast<size_t>(i * n_ff + order[static_cast<size_t>(r)])];
            }
        };
    }

    static void check_encoder(DType type) {
        if (!quant::format(type).encode)
            fail(ErrorKind::unsupported, "the type {} can be read but not written", info(type).name);
    }

    const GgufFile& file_;
    const sparsity::PredictorSet& set_;
    const NeuronOrder& order_;
    const CompleteOptions& options_;
    const FileType& target_;
    std::vector<std::unique_ptr<std::string>> names_;
};

}  // namespace

void write_complete(const model::Model& model, const sparsity::PredictorSet& predictors,
                    const sparsity::ActivationProfile& profile, const CompleteOptions& options) {
    std::error_code ignored;
    if (std::filesystem::equivalent(model.file->path(), options.output, ignored))
        fail(ErrorKind::bad_argument, "the output '{}' is the input file itself; give the result another name", options.output);
    predictors.check_fits(model, "the predictors");
    profile.check_fits(model, "the profile");
    const NeuronOrder order = sparsity::order_by_firing(profile);
    const sparsity::PredictorSet set = sparsity::reordered(predictors, order);
    const sparsity::ActivationProfile moved = sparsity::reordered(profile, order);
    const bool for_original = set.original_can_run() && model.spec.activation == model::Activation::relu;

    Completion completion(model, set, order, options);
    const std::vector<TensorJob> jobs = completion.jobs();
    formats::GgufWriter writer(options.output, for_original ? formats::GgufMagic::pwri : formats::GgufMagic::gguf,
                               model.file->alignment());
    for (const auto& [key, value] : model.file->keys()) {
        if (!is_dropped_key(key)) writer.set(key, value);
    }
    const FileType& target = find_file_type(options.type);
    if (!target.copy) {
        writer.set("general.file_type", GgufValue::of_u32(target.number));
        writer.set("general.quantization_version", GgufValue::of_u32(2));
    }
    writer.set("powerinfer.activation", GgufValue::of_string(std::string(model::name(model.spec.activation))));
    const auto keys = sparsity::predictor_keys(set);
    for (const auto& [key, value] : keys) writer.set(key, value);
    const NeuronOrder before = sparsity::read_neuron_order(*model.file, model.spec.n_layer, model.spec.n_ff);
    for (auto& [key, value] : sparsity::neuron_order_keys(order, before)) writer.set(key, value);
    for (const auto& [key, value] : options.keys) writer.set(key, value);
    sparsity::declare_profile(writer, moved);
    ThreadPool pool(options.n_threads > 0 ? options.n_threads : read_cpu_info().n_usable);
    write_tensors(writer, jobs, pool, options.progress);
    writer.finish();
}

}  // namespace powerinfer::convert
