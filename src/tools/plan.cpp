// `plan`: what of a model should lie where on a machine with devices.
#include "plan/plan.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file_writer.h"
#include "convert/synth.h"
#include "plan/placement_text.h"
#include "sparsity/gpu_index.h"
#include "sparsity/profile.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/placement_sweep.h"
#include "tools/setup.h"
#include "tools/terminal.h"
#include "tools/this_machine.h"

namespace powerinfer::tools {
namespace {

/// A model as the placement sees it, and what names its neurons.
struct Subject {
    plan::Workload workload;
    std::shared_ptr<const model::Model> model;  ///< null for a shape
    plan::Frequencies frequencies;
};

Subject shape_of(const Arguments& a) {
    const convert::SynthShape shape = convert::synth_shape(a.plan.synth);
    plan::Shape s;
    s.name = a.plan.synth;
    s.n_vocab = shape.n_vocab, s.n_embd = shape.n_embd, s.n_layer = shape.n_layer, s.n_ff = shape.n_ff;
    s.n_embd_kv = shape.n_head_kv * shape.head_dim();
    if (a.synth.mix) fail(ErrorKind::bad_argument, "plan takes one number format for a shape, not the mixture {}", a.synth.mix->name);
    s.type = a.synth.type;
    s.predictor_type = a.synth.predictor_type.value_or(s.type);
    s.kv_type = a.context.cache_type_k;
    s.rank = a.synth.predictors ? a.synth.rank : 0;
    s.n_ctx = a.context.n_ctx.value_or(0) > 0 ? *a.context.n_ctx : shape.n_ctx;
    s.n_batch = std::min(a.context.n_batch, a.context.n_ubatch);
    for (const int width : {s.n_embd, s.rank})
        if (width % info(s.type).block != 0 || width % info(s.predictor_type).block != 0)
            fail(ErrorKind::bad_argument, "rows of {} elements cannot be stored as {}", width, info(s.type).name);
    Subject out;
    const auto curve = plan::power_law(s.n_ff, static_cast<double>(a.synth.active_share), static_cast<double>(a.plan.coverage));
    out.frequencies.assign(static_cast<size_t>(s.n_layer), curve);
    out.workload = plan::workload_of(s, out.frequencies);
    return out;
}

Subject subject_of(const Arguments& a, const LogSink& log) {
    if (a.model.path.empty() == a.plan.synth.empty())
        fail(ErrorKind::bad_argument, "plan needs a model, -m MODEL, or a shape such as --synth llama-7b, one of them");
    if (!a.plan.synth.empty()) return shape_of(a);
    Subject out;
    const auto file = open_file(a, log);
    out.model = load_model(file, a, log);
    plan::Budget b = budget(a, *out.model, log);
    b.repack_bytes = 0;
    const plan::Plan cpu = plan::solve(*out.model, b);
    if (!a.plan.profile.empty() || sparsity::has_profile(*file)) {
        const std::string label = a.plan.profile.empty() ? a.model.path : a.plan.profile;
        const auto profile = a.plan.profile.empty() ? sparsity::read_profile(*file) : sparsity::open_profile(label);
        profile.check_fits(*out.model, label);
        out.frequencies = plan::frequencies_of(profile);
    } else if (cpu.mode != sparsity::Mode::off) {
        fail(ErrorKind::bad_argument,
             "a sparse model is planned from its profile, which '{}' does not hold: give --profile (powerinfer profile makes one), "
             "or --sparsity off to count every neuron as firing", a.model.path);
    }
    out.workload = plan::workload_of(*out.model, cpu, out.frequencies);
    return out;
}

plan::Allowance allowance_of(const Arguments& a, const plan::Machine& machine) {
    const auto bytes = [](double gib) { return static_cast<uint64_t>(gib * 1024 * 1024 * 1024); };
    plan::Allowance allowance;
    if (a.plan.vram_gib.size() > machine.devices.size())
        fail(ErrorKind::bad_argument, "{} VRAM budgets are given, the machine '{}' has {} devices", a.plan.vram_gib.size(), machine.name,
             machine.devices.size());
    for (const double gib : a.plan.vram_gib) allowance.vram.push_back(bytes(gib));
    if (a.plan.ram_gib) allowance.ram = bytes(*a.plan.ram_gib);
    return allowance;
}

plan::Solution solution_of(const Arguments& a, const Subject& subject, const plan::Machine& machine, const plan::Allowance& allowance) {
    plan::Solution best = plan::place(subject.workload, machine, allowance);
    if (a.plan.load.empty()) return best;
    plan::Solution loaded;
    loaded.placement = plan::placement_from_json(read_text_file(a.plan.load), a.plan.load, subject.workload);
    loaded.expected = plan::expect(subject.workload, machine, allowance, loaded.placement);
    loaded.bound = best.bound;
    return loaded;
}

void write_text(const std::string& path, const std::string& text) {
    FileWriter out(path);
    out.write(text.data(), text.size());
    out.commit();
}

void write_index(const std::string& path, const Subject& subject, const plan::Solution& s) {
    if (!subject.model || subject.frequencies.empty())
        fail(ErrorKind::bad_argument, "--gpu-index needs a model and its profile: it names neurons");
    sparsity::GpuIndex index;
    for (const plan::DeviceUse& use : s.expected.devices) index.vram_capacity += use.neurons;
    index.fingerprint = sparsity::fingerprint_of(*subject.model);
    index.n_ff = subject.model->spec.n_ff;
    for (size_t l = 0; l < s.placement.layers.size(); ++l) {
        std::vector<int32_t> ids = plan::hottest_first(subject.frequencies[l]);
        ids.resize(std::min<size_t>(ids.size(), size_t{s.placement.layers[l].n_groups} * plan::kGroupNeurons));
        std::sort(ids.begin(), ids.end());
        index.on_gpu.push_back(std::move(ids));
    }
    sparsity::write_gpu_index(path, index);
}

}  // namespace

int plan_placement(const Arguments& a) {
    const LogSink log = log_to_stderr(a.log.verbosity);
    if (!a.words.empty()) fail(ErrorKind::bad_argument, "plan takes options alone, '{}' is none", a.words.front());
    const plan::Machine machine = machine_named(a.plan.machine, std::max(a.context.n_threads, 0), log);
    const Subject subject = subject_of(a, log);
    const plan::Allowance allowance = allowance_of(a, machine);
    if (a.plan.sweep) {
        const Sweep s = sweep(subject.workload, machine, allowance);
        if (!a.plan.svg.empty()) write_text(a.plan.svg, svg_of(s));
        fmt::print("{}", table_of(s));
        return 0;
    }
    if (!a.plan.svg.empty()) fail(ErrorKind::bad_argument, "--svg draws what --sweep finds, which is not given");
    const auto n_layer = static_cast<int>(subject.workload.layers.size());
    if (a.plan.explain && *a.plan.explain >= n_layer)
        fail(ErrorKind::bad_argument, "--explain {}: the layers are 0 to {}", *a.plan.explain, n_layer - 1);
    const plan::Solution s = solution_of(a, subject, machine, allowance);
    if (!a.plan.save.empty()) write_text(a.plan.save, plan::to_json(subject.workload, machine, allowance, s));
    if (!a.plan.gpu_index.empty()) write_index(a.plan.gpu_index, subject, s);
    if (a.plan.explain)
        fmt::print("{}", plan::explain(subject.workload, machine, allowance, s, static_cast<size_t>(*a.plan.explain)));
    else
        fmt::print("{}", a.plan.json ? plan::to_json(subject.workload, machine, allowance, s)
                                     : plan::report(subject.workload, machine, allowance, s));
    return 0;
}

}  // namespace powerinfer::tools
