// How fast this machine computes with the weights of one number format, and what a feed-forward costs by it. Not for
// measuring: tools do, and hand the numbers over.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "model/model.h"
#include "sparsity/mode.h"

namespace powerinfer::plan {

/// With all threads that will be used.
struct KernelRates {
    double dense = 0;         ///< bytes per second: matrices read whole, one token
    double rows = 0;          ///< the same of rows picked one by one
    double sums = 0;          ///< the same of picked rows that are added up (the down projection by neuron)
    double prompt = 0;        ///< products per second of 128 tokens: all rows
    double prompt_lists = 0;  ///< rows with a list of tokens each; 0 = there is no kernel for it
};
using RatesByType = std::map<DType, KernelRates>;

std::string to_json(const RatesByType& rates, const std::string& machine);
/// Nothing when the rates are of another machine. Throws Error{bad_file} naming `label` and the field.
std::optional<RatesByType> rates_from_json(std::string_view text, const std::string& machine, const std::string& label);

/// Seconds for one token in one layer's feed-forward; 0 where a rate is not known or the mode is impossible.
struct FfnCost {
    double off = 0, exact = 0, predict = 0;
};

/// `active` is the share of neurons that fire, `predicted` the share that the predictor lets through.
FfnCost ffn_cost(const model::LayerTensors& layer, const RatesByType& rates, double active, double predicted);

/// From how many pairs (row, token) per token on a group of kRowGroup rows is computed faster for all tokens of a prompt.
double dense_from(const KernelRates& rates);

}  // namespace powerinfer::plan
