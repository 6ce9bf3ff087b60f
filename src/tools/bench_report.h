// Results of the benchmark in the forms that scripts read. Not for measuring: see bench.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace powerinfer::tools {

struct BenchResult {
    std::string cpu_info, model_filename, model_type;
    uint64_t model_size = 0, model_n_params = 0;
    int n_batch = 0, n_ubatch = 0, n_threads = 0;
    std::string type_k, type_v;
    std::string sparsity;  ///< the mode that ran
    std::string isa;
    bool repack = true;
    int n_prompt = 0, n_gen = 0, n_depth = 0;
    int n_parallel = 1;    ///< sequences decoded at the same time: n_gen steps of so many tokens
    std::string test_time;  ///< UTC, ISO 8601
    std::vector<uint64_t> samples_ns;
    double weight_bytes = 0;    ///< read per repetition
    double read_bandwidth = 0;  ///< bytes per second of this machine; 0 = not measured
    double fma_rate = 0;        ///< floating point operations per second of these threads; 0 = not measured
    double active_share = 0;
    double selected_share = 0;  ///< of neurons whose gate rows were used
    uint64_t hash = 0;

    std::string test_name() const;  ///< "pp512", "tg128 @ d64", "tg16 x4"
    double average_ns() const;
    double deviation_ns() const;
    /// Tokens per second of each repetition.
    std::vector<double> samples_ts() const;
    double gb_per_s() const;
    /// Weights read per pass over the model: per step while decoding, per repetition for prompts.
    double bytes_per_pass() const;
    /// Of the measured bandwidth; 0 where that means nothing: not measured, or a model that caches can hold.
    double bandwidth_share() const;
};

/// All results in one of the forms csv, json, jsonl, md, sql.
std::string bench_report(const std::string& form, const std::vector<BenchResult>& results);

}  // namespace powerinfer::tools
