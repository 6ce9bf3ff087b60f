// Who holds what and how each layer is computed, as printable data. Pure: numbers in, a plan out; nothing is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "model/model.h"
#include "plan/kernel_rates.h"
#include "sparsity/mode.h"

namespace powerinfer::plan {

/// What the user allows and wants.
struct Budget {
    int n_ctx = 0;               ///< positions per sequence; 0 = what the model was trained for
    int n_seq = 1;
    int n_batch = 512;           ///< tokens computed in one pass
    DType kv_type = DType::F16;  ///< F32, F16, BF16 or Q8_0
    sparsity::Mode mode = sparsity::Mode::automatic;
    uint64_t ram_bytes = 0;      ///< memory that may be used beside the mapped file; 0 = not limited
    RatesByType rates = {};      ///< of this machine; empty = not known, and nothing is chosen by expected time
    uint64_t repack_bytes = 0;   ///< memory for weights re-laid for speed, cache and buffers included; 0 = leave them mapped
};

/// How one layer's feed-forward runs.
struct LayerPlan {
    sparsity::Mode mode = sparsity::Mode::off;  ///< never automatic
    bool relay_down = false;  ///< the down projection is re-laid by neuron in memory (ordinary files, exact)
    bool repack = false;      ///< matrices are copied to memory in the order that is fastest to read
    double active_share = -1, predicted_share = -1;  ///< of neurons, as the file's profile or evaluation has it; -1 = not known
    FfnCost cost;             ///< expected, of one token; zeros where rates or shares are not known
};

struct Plan {
    int n_ctx = 0, n_seq = 1, n_batch = 512;
    DType kv_type = DType::F16;
    sparsity::Mode mode = sparsity::Mode::off;  ///< what automatic became
    std::string mode_reason;                    ///< one clause saying why
    bool repack_output = false;                 ///< LayerPlan::repack of the output matrix
    double dense_from = 7;                      ///< dense_from() of the gates; by default what was typical
    std::string share_source;                   ///< where the layers' shares come from; empty = not known
    std::vector<LayerPlan> layers;
    uint64_t weight_bytes = 0, relaid_bytes = 0, kv_bytes = 0, scratch_bytes = 0;
    uint64_t repacked_bytes = 0;  ///< of weight_bytes, those that move from the mapped file to memory of our own

    uint64_t total_bytes() const { return weight_bytes + relaid_bytes + kv_bytes + scratch_bytes; }
};

/// Throws Error{bad_argument} when a mode was asked for that the model cannot run, saying which it can, and
/// Error{out_of_memory} with need and allowance when the plan does not fit the budget.
Plan solve(const model::Model& model, const Budget& budget);

/// A few lines for people: mode, bytes by kind.
std::string summary(const Plan& plan);

/// Why the plan came out as it did: rates, per layer shares, expected times of every mode and the choice.
std::string explain(const Plan& plan, const RatesByType& rates);

}  // namespace powerinfer::plan
