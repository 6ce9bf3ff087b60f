#include "tools/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/version.h"

namespace powerinfer::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Below this size a model may stay in the processor's caches, and a share of the memory's bandwidth means nothing.
constexpr double kBeyondCaches = 1e9;

double mean(const std::vector<double>& v) {
    return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

/// Of a sample.
double deviation(const std::vector<double>& v) {
    if (v.size() < 2) return 0;
    double sum = 0;
    for (const double x : v) sum += (x - mean(v)) * (x - mean(v));
    return std::sqrt(sum / static_cast<double>(v.size() - 1));
}

/// The fields of llama-bench in its order, then ours.
Json fields(const BenchResult& r) {
    const std::vector<double> ts = r.samples_ts();
    return {{"build_commit", build_commit()},
            {"build_number", build_number()},
            {"cpu_info", r.cpu_info},
            {"gpu_info", ""},
            {"backends", "CPU"},
            {"model_filename", r.model_filename},
            {"model_type", r.model_type},
            {"model_size", r.model_size},
            {"model_n_params", r.model_n_params},
            {"n_batch", r.n_batch},
            {"n_ubatch", r.n_ubatch},
            {"n_threads", r.n_threads},
            {"cpu_mask", "0x0"},
            {"cpu_strict", false},
            {"poll", 50},
            {"type_k", r.type_k},
            {"type_v", r.type_v},
            {"n_gpu_layers", 0},
            {"n_cpu_moe", 0},
            {"split_mode", "none"},
            {"main_gpu", 0},
            {"no_kv_offload", false},
            {"flash_attn", 1},
            {"devices", "none"},
            {"tensor_split", "0.00"},
            {"tensor_buft_overrides", "none"},
            {"load_mode", "mmap"},
            {"lazy_mode", "on"},
            {"embeddings", false},
            {"no_op_offload", 0},
            {"no_host", false},
            {"repack", r.repack},
            {"fit_target", 0},
            {"fit_min_ctx", 0},
            {"n_prompt", r.n_prompt},
            {"n_gen", r.n_gen},
            {"n_depth", r.n_depth},
            {"test_time", r.test_time},
            {"avg_ns", static_cast<uint64_t>(r.average_ns())},
            {"stddev_ns", static_cast<uint64_t>(r.deviation_ns())},
            {"avg_ts", mean(ts)},
            {"stddev_ts", deviation(ts)},
            {"n_parallel", r.n_parallel},
            {"sparsity", r.sparsity},
            {"isa", r.isa},
            {"gb_per_s", r.gb_per_s()},
            {"read_gb_per_s", r.read_bandwidth / 1e9},
            {"bytes_per_pass", r.bytes_per_pass()},
            {"bandwidth_share", r.bandwidth_share()},
            {"fma_gflops", r.fma_rate / 1e9},
            {"active_share", r.active_share},
            {"selected_share", r.selected_share},
            {"hash", fmt::format("{:016x}", r.hash)}};
}

std::string value_text(const Json& v) {
    if (v.is_string()) return v.get<std::string>();
    if (v.is_boolean()) return v.get<bool>() ? "1" : "0";
    if (v.is_number_float()) return fmt::format("{:.6f}", v.get<double>());
    return v.dump();
}

std::string quoted(const std::string& text, char quote) {
    std::string out(1, quote);
    for (const char c : text) out += c == quote ? std::string(2, quote) : std::string(1, c);
    return out + quote;
}

/// Adds an item to a text list.
void append(std::string& list, std::string_view separator, std::string_view item) {
    if (!list.empty()) list += separator;
    list += item;
}

std::string csv(const std::vector<BenchResult>& results) {
    std::string out;
    for (const BenchResult& r : results) {
        const Json f = fields(r);
        std::string head, row;
        for (const auto& [key, value] : f.items()) {
            append(head, ",", key);
            append(row, ",", quoted(value_text(value), '"'));
        }
        if (out.empty()) out = head + "\n";
        out += row + "\n";
    }
    return out;
}

std::string sql(const std::vector<BenchResult>& results) {
    std::string out;
    for (const BenchResult& r : results) {
        const Json f = fields(r);
        std::string columns, names, row;
        for (const auto& [key, value] : f.items()) {
            const char* type = value.is_number_float() ? "REAL" : value.is_string() ? "TEXT" : "INTEGER";
            append(columns, ",\n", fmt::format("  {} {}", key, type));
            append(names, ", ", key);
            append(row, ", ", quoted(value_text(value), '\''));
        }
        if (out.empty()) out = fmt::format("CREATE TABLE IF NOT EXISTS test (\n{}\n);\n\n", columns);
        out += fmt::format("INSERT INTO test ({}) VALUES ({});\n", names, row);
    }
    return out;
}

Json with_samples(const BenchResult& r) {
    Json f = fields(r);
    f["samples_ns"] = r.samples_ns;
    f["samples_ts"] = r.samples_ts();
    return f;
}

std::string json(const std::vector<BenchResult>& results) {
    Json all = Json::array();
    for (const BenchResult& r : results) all.push_back(with_samples(r));
    return all.dump(2) + "\n";
}

std::string jsonl(const std::vector<BenchResult>& results) {
    std::string out;
    for (const BenchResult& r : results) out += with_samples(r).dump() + "\n";
    return out;
}

struct Column {
    std::string head;
    int width;  ///< negative: left-aligned
    std::string (*text)(const BenchResult&);
};

std::string millions(double n) {
    return n < 1e9 ? fmt::format("{:.2f} M", n / 1e6) : fmt::format("{:.2f} B", n / 1e9);
}

std::string mebibytes(double n) {
    return n < 1024.0 * 1024 * 1024 ? fmt::format("{:.2f} MiB", n / 1024 / 1024)
                                    : fmt::format("{:.2f} GiB", n / 1024 / 1024 / 1024);
}

const Column kAlways[] = {
    {"model", -30, [](const BenchResult& r) { return r.model_type; }},
    {"size", 10, [](const BenchResult& r) { return mebibytes(static_cast<double>(r.model_size)); }},
    {"params", 10, [](const BenchResult& r) { return millions(static_cast<double>(r.model_n_params)); }},
    {"backend", -10, [](const BenchResult&) { return std::string("CPU"); }},
    {"threads", 7, [](const BenchResult& r) { return fmt::format("{}", r.n_threads); }},
};
/// Shown where they differ from the usual or from row to row.
const Column kSometimes[] = {
    {"n_batch", 7, [](const BenchResult& r) { return fmt::format("{}", r.n_batch); }},
    {"n_ubatch", 8, [](const BenchResult& r) { return fmt::format("{}", r.n_ubatch); }},
    {"repack", 6, [](const BenchResult& r) { return fmt::format("{}", r.repack ? 1 : 0); }},
    {"type_k", 6, [](const BenchResult& r) { return r.type_k; }},
    {"type_v", 6, [](const BenchResult& r) { return r.type_v; }},
};
const Column kResults[] = {
    {"sparsity", 8, [](const BenchResult& r) { return r.sparsity; }},
    {"test", 15, [](const BenchResult& r) { return r.test_name(); }},
    {"t/s", 20,
     [](const BenchResult& r) {
         const std::vector<double> ts = r.samples_ts();
         return fmt::format("{:.2f} ± {:.2f}", mean(ts), deviation(ts));
     }},
    {"GB/s", 7, [](const BenchResult& r) { return fmt::format("{:.1f}", r.gb_per_s()); }},
    {"of read", 7,
     [](const BenchResult& r) {
         return r.bandwidth_share() > 0 ? fmt::format("{:.0f} %", 100 * r.bandwidth_share()) : std::string("-");
     }},
    {"active", 7, [](const BenchResult& r) { return fmt::format("{:.1f} %", 100 * r.active_share); }},
    {"hash", 16, [](const BenchResult& r) { return fmt::format("{:016x}", r.hash); }},
};

std::string markdown(const std::vector<BenchResult>& results) {
    std::vector<Column> columns(std::begin(kAlways), std::end(kAlways));
    BenchResult usual;
    usual.n_batch = 2048;
    usual.n_ubatch = 512;
    usual.type_k = usual.type_v = "f16";
    for (const Column& c : kSometimes)
        if (std::any_of(results.begin(), results.end(), [&](const BenchResult& r) { return c.text(r) != c.text(usual); }))
            columns.push_back(c);
    columns.insert(columns.end(), std::begin(kResults), std::end(kResults));

    const auto cell = [](const Column& c, const std::string& text) {
        // "±" is two bytes and one column.
        const size_t shown = text.size() - static_cast<size_t>(std::count(text.begin(), text.end(), '\xC2'));
        const auto width = static_cast<size_t>(std::abs(c.width));
        const std::string fill(width > shown ? width - shown : 0, ' ');
        return c.width < 0 ? fmt::format(" {}{} |", text, fill) : fmt::format(" {}{} |", fill, text);
    };
    std::string out = "|", rule = "|";
    for (const Column& c : columns) {
        out += cell(c, c.head);
        const std::string dashes(static_cast<size_t>(std::abs(c.width)) - (c.width > 0 ? 1 : 0), '-');
        rule += fmt::format(" {}{}", dashes, c.width > 0 ? ": |" : " |");
    }
    out += "\n" + rule + "\n";
    for (const BenchResult& r : results) {
        out += "|";
        for (const Column& c : columns) out += cell(c, c.text(r));
        out += "\n";
    }
    return out + fmt::format("\nbuild: {} ({})\n", build_commit(), build_number());
}

}  // namespace

std::string BenchResult::test_name() const {
    std::string name;
    if (n_prompt > 0) name = fmt::format("pp{}", n_prompt);
    if (n_gen > 0) name += fmt::format("{}tg{}", name.empty() ? "" : "+", n_gen);
    if (n_depth > 0) name += fmt::format(" @ d{}", n_depth);
    if (n_parallel > 1) name += fmt::format(" x{}", n_parallel);
    return name;
}

double BenchResult::average_ns() const { return mean({samples_ns.begin(), samples_ns.end()}); }
double BenchResult::deviation_ns() const { return deviation({samples_ns.begin(), samples_ns.end()}); }

std::vector<double> BenchResult::samples_ts() const {
    std::vector<double> ts;
    for (const uint64_t ns : samples_ns)
        ts.push_back(1e9 * (n_prompt + n_gen * n_parallel) / static_cast<double>(std::max<uint64_t>(ns, 1)));
    return ts;
}

double BenchResult::gb_per_s() const { return average_ns() > 0 ? weight_bytes / average_ns() : 0; }

double BenchResult::bytes_per_pass() const { return weight_bytes / (n_gen > 0 && n_prompt == 0 ? n_gen : 1); }

double BenchResult::bandwidth_share() const {
    if (read_bandwidth <= 0 || n_prompt > 0 || static_cast<double>(model_size) < kBeyondCaches) return 0;
    return gb_per_s() * 1e9 / read_bandwidth;
}

std::string bench_report(const std::string& form, const std::vector<BenchResult>& results) {
    if (form == "csv") return csv(results);
    if (form == "json") return json(results);
    if (form == "jsonl") return jsonl(results);
    if (form == "sql") return sql(results);
    return markdown(results);
}

}  // namespace powerinfer::tools
