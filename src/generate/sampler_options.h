// The knobs of sampling (<powerinfer/generation.h>) checked, named and read from text. Not the sampling itself
// (sampler.h) and not flag parsing (tools).
#pragma once

#include <powerinfer/generation.h>

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace powerinfer::generate {

using tokenizer::TokenId;

/// The order of PowerInfer's `main`, which still knows tail-free sampling.
std::vector<SamplerKind> powerinfer_sampler_order();

/// Throws Error{bad_argument} naming the option and its legal values.
void validate(const SamplerOptions& options, int n_vocab);

/// The name as it is written in an order ("top_k").
std::string_view name(SamplerKind kind);

/// "penalties;top_k;temperature": any case, with or without `-` and `_`. An empty text means no sampler at
/// all. Throws Error{bad_argument} for an unknown name, listing the known ones, and for a name given twice.
std::vector<SamplerKind> parse_sampler_names(std::string_view text);
/// One letter per sampler, "edskypmxt" being the default order.
std::vector<SamplerKind> parse_sampler_letters(std::string_view letters);
/// "ID+BIAS" or "ID-BIAS"; the bias may be `inf` after a minus sign.
LogitBias parse_logit_bias(std::string_view text);

/// The links of `options.order` that will change anything, in order, with what mirostat replaces left out.
std::vector<SamplerKind> active_chain(const SamplerOptions& options);

/// "logit-bias -> penalties -> top_k -> ... -> dist": what will really be applied, for the log.
std::string describe_chain(const SamplerOptions& options);

}  // namespace powerinfer::generate
