// The search behind placement: a chain of stages that run one after another, each with choices that cost time and
// memory. Finds the fastest chain that fits and proves how far from the optimum it can be. Knows nothing of models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace powerinfer::plan {

inline constexpr int kHost = -1;       ///< the processor's side; devices are 0, 1, ...
inline constexpr int kMaxDevices = 8;
inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct Choice {
    double seconds = 0;
    uint64_t bytes = 0;       ///< of the device's memory
    uint64_t host_bytes = 0;  ///< of the host's memory
    int home = kHost;         ///< where the activations are before and after the stage
    int device = kHost;       ///< whose bytes; kHost where `bytes` is 0
    uint32_t tag = 0;         ///< the caller's
};

struct ChainProblem {
    /// Every stage has a choice with home kHost and without device bytes, so that a chain exists for any capacity.
    std::vector<std::vector<Choice>> stages;
    /// Seconds from one home to the next, [from + 1][to + 1]. A chain starts and ends at the host.
    std::vector<std::vector<double>> move;
    std::vector<uint64_t> capacity;       ///< bytes of each device
    uint64_t host_capacity = kUnlimited;
    double seconds_per_excess = 0;        ///< what a byte beyond the host's capacity costs

    double excess_seconds(uint64_t host_used) const {
        return host_used > host_capacity ? static_cast<double>(host_used - host_capacity) * seconds_per_excess : 0;
    }
};

struct ChainOptions {
    double gap = 1e-4;        ///< relative distance to the optimum that must be proven
    size_t n_states = 128;    ///< partial chains kept per stage at first; four times as many until the gap is proven
    size_t most_states = 8192;
    /// Partial chains looked at per search, where there are several devices: what is not proven by then is reported as it is.
    size_t most_steps = 1000000;
    size_t exact_choices = 20000;  ///< up to so many choices in all, the optimum itself is looked for first
};

struct ChainResult {
    std::vector<uint32_t> picks;  ///< index into each stage
    double seconds = 0;
    double bound = 0;             ///< no chain that fits is faster than this
    std::vector<uint64_t> used;   ///< bytes of each device
    uint64_t host_used = 0;

    double gap() const { return seconds > 0 && bound < seconds ? (seconds - bound) / seconds : 0; }
};

/// How: prices per byte are found for which the fastest priced chain uses the capacities up (Lagrange); the priced chain
/// is a lower bound for every chain. Then partial chains are carried from stage to stage, those that cannot beat the best
/// known chain by that bound dropped, dominated ones too; what a limit on their number makes it drop lowers the bound
/// that is reported. Deterministic.
ChainResult solve_chain(const ChainProblem& problem, const ChainOptions& options = {});

/// Time of a chain: stages, moves, and what is too much for the host.
double chain_seconds(const ChainProblem& problem, const std::vector<uint32_t>& picks);

}  // namespace powerinfer::plan
