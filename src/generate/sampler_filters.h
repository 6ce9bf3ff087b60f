// The samplers that drop candidates or rescale their logits, one function each, without state.
// Not for rules that look at the text so far (sampler_penalties.h, sampler_dry.h) nor for the draw
// (sampler_draw.h).
#pragma once

#include "generate/candidates.h"

namespace powerinfer::generate {

/// Every filter leaves at least one candidate, and at least min_keep where it takes that. Values that mean
/// "off" (see SamplerOptions) leave the candidates untouched.
void keep_top_k(Candidates& candidates, int k);
/// The shortest prefix, by falling probability, that reaches a cumulated p.
void keep_top_p(Candidates& candidates, float p, size_t min_keep);
/// Those at least min_p times as likely as the likeliest.
void keep_min_p(Candidates& candidates, float min_p, size_t min_keep);
/// Those whose surprise is nearest to the entropy, until their cumulated p exceeds `p`. Leaves them in that
/// order.
void keep_typical(Candidates& candidates, float p, size_t min_keep);
/// Cuts where the accumulated curvature of the sorted probabilities exceeds z.
void keep_tail_free(Candidates& candidates, float z, size_t min_keep);
/// Forbids what lies more than n standard deviations below the largest logit.
void forbid_below_n_sigma(Candidates& candidates, float n);
/// Drops all but the last of the leading candidates with p >= threshold.
void exclude_top_choices(Candidates& candidates, float threshold, size_t min_keep);

/// Divides by the temperature; zero or less leaves the first best token alone.
void apply_temperature(Candidates& candidates, float temperature);
/// A temperature in [temperature - range, temperature + range] (not below 0) that grows with the entropy.
void apply_dynamic_temperature(Candidates& candidates, float temperature, float range, float exponent);

}  // namespace powerinfer::generate
