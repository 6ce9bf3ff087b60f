// `inspect`: what a model file holds, without running it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "formats/gguf.h"
#include "tools/activations.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/setup.h"
#include "tools/terminal.h"

namespace powerinfer::tools {
namespace {

using formats::GgufFile;
using formats::GgufValue;
using Json = nlohmann::ordered_json;

struct TypeTotal {
    uint64_t n_tensors = 0, n_elements = 0, n_bytes = 0;
};

/// What can be said about sparsity from names and shapes alone.
struct SparsityFacts {
    int n_layers = 0, n_predicted = 0, n_transposed = 0;
    int64_t n_ff = 0, least_rank = 0, most_rank = 0;
    uint64_t predictor_bytes = 0;
};

uint64_t tensor_bytes(const formats::GgufTensor& t) {
    return static_cast<uint64_t>(t.view.n_rows()) * t.view.row_bytes();
}

std::map<std::string, TypeTotal> totals_by_type(const GgufFile& file) {
    std::map<std::string, TypeTotal> totals;
    for (const formats::GgufTensor& t : file.tensors()) {
        TypeTotal& total = totals[std::string(info(t.view.type).name)];
        ++total.n_tensors;
        total.n_elements += static_cast<uint64_t>(t.view.n_elements());
        total.n_bytes += tensor_bytes(t);
    }
    return totals;
}

SparsityFacts sparsity_facts(const GgufFile& file) {
    SparsityFacts f;
    for (int layer = 0;; ++layer) {
        const auto find = [&](const char* part) {
            return file.find_tensor(fmt::format("blk.{}.{}.weight", layer, part));
        };
        const formats::GgufTensor* up = find("ffn_up");
        if (!up && !find("attn_norm")) return f;
        ++f.n_layers;
        if (up) f.n_ff = std::max(f.n_ff, up->view.ne[1]);
        if (find("ffn_down_t")) ++f.n_transposed;
        const formats::GgufTensor *fc1 = find("fc1"), *fc2 = find("fc2");
        if (!fc1 || !fc2) continue;
        const int64_t rank = fc1->view.ne[1];
        f.least_rank = f.n_predicted == 0 ? rank : std::min(f.least_rank, rank);
        f.most_rank = std::max(f.most_rank, rank);
        f.predictor_bytes += tensor_bytes(*fc1) + tensor_bytes(*fc2);
        ++f.n_predicted;
    }
}

std::string number_text(double v, bool is_f32) {
    return is_f32 ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
}

std::string quoted(const std::string& s) { return Json(s).dump(-1, ' ', false, Json::error_handler_t::replace); }

/// One line; arrays show their first few elements.
std::string value_line(const GgufValue& v) {
    const auto list = [](const auto& items, auto text) {
        constexpr size_t kShown = 6;
        std::string all;
        for (size_t i = 0; i < std::min(items.size(), kShown); ++i)
            all += (i ? ", " : "") + text(items[i]);
        return fmt::format("[{}{}] ({} values)", all, items.size() > kShown ? ", ..." : "", items.size());
    };
    return std::visit(
        [&](const auto& x) -> std::string {
            using T = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<T, bool>) return x ? "true" : "false";
            else if constexpr (std::is_same_v<T, double>) return number_text(x, v.type == formats::GgufType::f32);
            else if constexpr (std::is_same_v<T, std::string>) return quoted(x);
            else if constexpr (std::is_same_v<T, std::vector<std::string>>) return list(x, quoted);
            else if constexpr (std::is_same_v<T, std::vector<double>>)
                return list(x, [&](double d) { return number_text(d, v.element == formats::GgufType::f32); });
            else if constexpr (std::is_arithmetic_v<T>) return fmt::format("{}", x);
            else return list(x, [](auto i) { return fmt::format("{}", i); });
        },
        v.data);
}

std::string shortened(std::string line) {
    constexpr size_t kWidth = 100;
    if (line.size() <= kWidth) return line;
    size_t end = kWidth;
    while ((static_cast<unsigned char>(line[end]) & 0xC0u) == 0x80u) --end;  // not inside a character
    return line.substr(0, end) + " ...";
}

std::string type_name(const GgufValue& v) {
    return v.type == formats::GgufType::array ? fmt::format("[{}]", name(v.element)) : std::string(name(v.type));
}

void print_text(const GgufFile& file) {
    uint64_t n_elements = 0, n_bytes = 0;
    for (const auto& [type, total] : totals_by_type(file)) {
        n_elements += total.n_elements;
        n_bytes += total.n_bytes;
    }
    fmt::print("file          {}\n", file.path());
    fmt::print("format        {} version {}, alignment {}, {} in {} part{}\n",
               file.magic() == formats::GgufMagic::pwri ? "PWRI" : "GGUF", file.version(), file.alignment(),
               size_text(file.n_bytes()), file.parts().size(), file.parts().size() == 1 ? "" : "s");
    fmt::print("architecture  {}\n", file.get_string("general.architecture", "not said"));
    fmt::print("parameters    {} in {} tensors, {}, {:.2f} bits each\n", n_elements, file.tensors().size(),
               size_text(n_bytes),
               n_elements ? 8.0 * static_cast<double>(n_bytes) / static_cast<double>(n_elements) : 0.0);

    fmt::print("\nmetadata ({} keys)\n", file.keys().size());
    for (const auto& [key, value] : file.keys())
        fmt::print("  {:<44} {:<8} {}\n", key, type_name(value), shortened(value_line(value)));

    fmt::print("\ntensors ({})\n", file.tensors().size());
    for (const formats::GgufTensor& t : file.tensors())
        fmt::print("  {:<36} {:<7} {:<20} {}\n", t.name, info(t.view.type).name, shape_text(t.view.ne),
                   size_text(tensor_bytes(t)));

    fmt::print("\nsizes by number format\n");
    for (const auto& [type, total] : totals_by_type(file))
        fmt::print("  {:<7} {:>6} tensors  {:>12}  {:5.1f} %\n", type, total.n_tensors, size_text(total.n_bytes),
                   100.0 * static_cast<double>(total.n_bytes) / static_cast<double>(std::max<uint64_t>(n_bytes, 1)));

    const SparsityFacts f = sparsity_facts(file);
    fmt::print("\nsparsity\n  layers {}, neurons per layer {}\n", f.n_layers, f.n_ff);
    fmt::print("  activation: {}\n", file.get_string("powerinfer.activation", "not said by the file"));
    if (f.n_predicted == 0) {
        fmt::print("  predictors: none\n");
    } else {
        fmt::print("  predictors: in {} of {} layers, rank {} to {}, {}, threshold {:g}\n", f.n_predicted, f.n_layers,
                   f.least_rank, f.most_rank, size_text(f.predictor_bytes),
                   file.get_float("powerinfer.sparse_threshold", 0.0));
    }
    fmt::print("  down projection by neuron: in {} of {} layers\n", f.n_transposed, f.n_layers);
}

Json to_json(const GgufFile& file) {
    Json out = {{"path", file.path()},
                {"magic", file.magic() == formats::GgufMagic::pwri ? "PWRI" : "GGUF"},
                {"version", file.version()},
                {"alignment", file.alignment()},
                {"bytes", file.n_bytes()},
                {"parts", file.parts().size()}};
    for (const auto& [key, value] : file.keys())
        out["metadata"][key] = {{"type", type_name(value)},
                                {"value", std::visit([](const auto& x) { return Json(x); }, value.data)}};
    out["tensors"] = Json::array();
    for (const formats::GgufTensor& t : file.tensors())
        out["tensors"].push_back({{"name", t.name},
                                  {"type", info(t.view.type).name},
                                  {"shape", t.view.ne},
                                  {"bytes", tensor_bytes(t)},
                                  {"offset", t.offset},
                                  {"part", t.part}});
    for (const auto& [type, total] : totals_by_type(file))
        out["types"][type] = {
            {"tensors", total.n_tensors}, {"elements", total.n_elements}, {"bytes", total.n_bytes}};
    const SparsityFacts f = sparsity_facts(file);
    out["sparsity"] = {{"layers", f.n_layers},
                       {"neurons_per_layer", f.n_ff},
                       {"layers_with_predictor", f.n_predicted},
                       {"layers_with_down_by_neuron", f.n_transposed},
                       {"least_rank", f.least_rank},
                       {"most_rank", f.most_rank},
                       {"predictor_bytes", f.predictor_bytes}};
    return out;
}

}  // namespace

int inspect(const Arguments& a) {
    if (a.words.size() > 1)
        fail(ErrorKind::bad_argument, "inspect takes one model file, {} were given", a.words.size());
    const std::string path = a.words.empty() ? a.model.path : a.words.front();
    if (path.empty()) fail(ErrorKind::bad_argument, "inspect needs a model file: powerinfer inspect MODEL");
    Arguments with_model = a;
    with_model.model.path = path;
    if (!a.inspect.activations_text.empty()) return measure_activations(with_model);
    const auto opened = open_file(with_model, log_to_stderr(std::min(a.log.verbosity, 2)));
    const GgufFile& file = *opened;
    if (a.inspect.json) {
        fmt::print("{}\n", to_json(file).dump(2, ' ', false, Json::error_handler_t::replace));
    } else {
        print_text(file);
    }
    return 0;
}

}  // namespace powerinfer::tools
