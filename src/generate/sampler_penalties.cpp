#include "generate/sampler_penalties.h"

#include <algorithm>
#include <limits>

namespace powerinfer::generate {

float add_capped(float x, double delta) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    const double sum = x + std::clamp(delta, -kLargest, kLargest);
    // Below the range of float a sum becomes minus infinity, which forbids the token: what was asked for.
    return static_cast<float>(std::min(sum, kLargest));
}

Penalties::Penalties(int n_vocab, int last_n, float repeat, float frequency, float presence, TokenId exempt)
    : repeat_(repeat),
      frequency_(frequency),
      presence_(presence),
      exempt_(exempt),
      window_(static_cast<size_t>(last_n)),
      counts_(static_cast<size_t>(n_vocab)) {}

void Penalties::accept(TokenId token) {
    TokenId& place = window_[n_seen_ % window_.size()];
    if (n_seen_ >= window_.size()) --counts_[static_cast<size_t>(place)];
    place = token;
    ++counts_[static_cast<size_t>(token)];
    ++n_seen_;
}

void Penalties::forget() {
    n_seen_ = 0;
    std::fill(counts_.begin(), counts_.end(), 0);
}

float Penalties::penalized(float logit, int count) const {
    constexpr double kLargest = std::numeric_limits<float>::max();
    const double scaled =
        logit > 0 ? logit / static_cast<double>(repeat_) : logit * static_cast<double>(repeat_);
    return add_capped(static_cast<float>(std::min(scaled, kLargest)),
                      -(count * static_cast<double>(frequency_) + presence_));
}

void Penalties::apply(Candidates& candidates) {
    candidates.logits_changed();
    if (!candidates.is_indexed()) {
        for (Candidate& c : candidates.items()) {
            const int count = counts_[static_cast<size_t>(c.id)];
            if (count > 0 && c.id != exempt_) c.logit = penalized(c.logit, count);
        }
        return;
    }
    // In id order only the window has to be walked. A count turns negative while its token is done.
    const size_t n = std::min(n_seen_, window_.size());
    for (size_t i = 0; i < n; ++i) {
        int& count = counts_[static_cast<size_t>(window_[i])];
        if (count <= 0) continue;
        float& logit = candidates.items()[static_cast<size_t>(window_[i])].logit;
        if (window_[i] != exempt_) logit = penalized(logit, count);
        count = -count;
    }
    for (size_t i = 0; i < n; ++i) {
        int& count = counts_[static_cast<size_t>(window_[i])];
        count = std::abs(count);
    }
}

}  // namespace powerinfer::generate
