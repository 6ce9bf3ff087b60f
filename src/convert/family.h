// What a converter must know about one family of checkpoints, as data: which keys of config.json become which
// metadata, and which stored tensor becomes which tensor of the file, in what shape and layout. One file per
// family in families/; families.cpp lists them. Not for reading weights: see convert.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "convert/hf_config.h"
#include "formats/gguf.h"
#include "model/spec.h"

namespace powerinfer::convert {

/// How the rows of a stored tensor are laid in the file.
enum class RowLayout {
    as_stored,
    head_pairs,  ///< rows of each head from halves to adjacent pairs (rotary embedding of neighbours)
    transposed,  ///< rows become columns
};

/// One tensor of the file. Either it has a source in the checkpoint or computed values.
struct TensorPlan {
    std::string name;            ///< in the file
    std::string source;          ///< in the checkpoint
    std::vector<int64_t> shape;  ///< stored shape expected in the checkpoint, slowest dimension first
    RowLayout layout = RowLayout::as_stored;
    int64_t n_head = 0;  ///< for head_pairs
    bool required = true;
    std::vector<float> values = {};  ///< computed: one row of F32, `source` is empty then
};

/// What the checkpoint's config means.
struct Blueprint {
    std::string architecture;  ///< `general.architecture`
    int64_t n_embd = 0, n_ff = 0, n_layer = 0, n_vocab = 0;
    model::Activation activation = model::Activation::silu;
    std::vector<std::pair<std::string, formats::GgufValue>> keys;  ///< all under the architecture's prefix
    std::vector<TensorPlan> tensors;                               ///< in the order of the file

    void set(std::string_view suffix, formats::GgufValue value) {
        keys.emplace_back(architecture + "." + std::string(suffix), std::move(value));
    }
};

struct FamilyInput {
    const HfConfig& config;
    bool with_predictors;                         ///< the file gets a transposed down projection
    bool has_output;                              ///< the checkpoint holds `lm_head.weight`
    std::optional<model::Activation> activation;  ///< the user's choice, wins over the config
    LogSink log;
};

struct Family {
    std::string_view hf_name;  ///< in `architectures` of config.json
    Blueprint (*describe)(const FamilyInput&);
};

/// The family of a config. Throws Error{unsupported} naming what was found and what is known.
const Family& find_family(const HfConfig& config);

/// The activation that the config names in `hidden_act` or `hidden_activation`, or `custom` where it must be
/// that; the user's choice wins and a difference is logged. Throws where nothing usable is stated.
model::Activation choose_activation(const FamilyInput& input, std::optional<model::Activation> custom);

/// Sets the rope.* keys of the blueprint. For llama3 scaling the result holds the divisor of each frequency
/// [n_dims / 2], which belongs into a tensor; otherwise it is empty.
std::vector<float> set_rope_keys(Blueprint& blueprint, const HfConfig& config, int64_t n_dims, int64_t n_ctx,
                                 const LogSink& log);

}  // namespace powerinfer::convert
