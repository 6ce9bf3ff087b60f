#include "generate/candidates.h"

#include <cassert>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace powerinfer::generate {

Candidates::Candidates(int n_vocab)
    : items_(static_cast<size_t>(n_vocab)),
      p_(static_cast<size_t>(n_vocab)),
      scratch_(static_cast<size_t>(n_vocab)) {}

void Candidates::reset(std::span<const float> logits) {
    if (logits.size() != items_.size())
        fail(ErrorKind::internal, "The model gave {} logits for a vocabulary of {} tokens.", logits.size(),
             items_.size());
    constexpr float kLargest = std::numeric_limits<float>::max();
    n_ = items_.size();
    bool bad = false;
    bool any_finite = false;
    for (size_t i = 0; i < n_; ++i) {
        const float x = logits[i];
        bad |= !(x <= kLargest);
        any_finite |= x >= -kLargest;
        items_[i] = {x, static_cast<TokenId>(i)};
    }
    if (bad || !any_finite) {
        const auto culprit =
            std::find_if(logits.begin(), logits.end(), [](float x) { return !(x <= kLargest); });
        if (culprit == logits.end())
            fail(ErrorKind::internal, "The model gave minus infinity for every logit.");
        fail(ErrorKind::internal, "The model gave the logit {} for token {}; every logit must be a number.",
             *culprit, culprit - logits.begin());
    }
    n_sorted_ = 0;
    indexed_ = true;
}

void Candidates::truncate(size_t n) {
    assert(n >= 1 && n <= n_);
    if (n != n_) indexed_ = false;
    n_ = n;
    n_sorted_ = std::min(n_sorted_, n);
}

void Candidates::drop_front(size_t n) {
    assert(n < n_);
    if (n == 0) return;
    std::copy(items_.begin() + static_cast<ptrdiff_t>(n), items_.begin() + static_cast<ptrdiff_t>(n_),
              items_.begin());
    n_ -= n;
    n_sorted_ -= std::min(n, n_sorted_);
    indexed_ = false;
}

void Candidates::sort_best(size_t n) {
    if (n <= n_sorted_) return;
    sort_first(n, is_better);
    n_sorted_ = n;
}

float Candidates::max_logit() const {
    float best = items_[0].logit;
    if (n_sorted_ == 0)
        for (size_t i = 1; i < n_; ++i) best = std::max(best, items_[i].logit);
    if (best == -std::numeric_limits<float>::infinity())
        fail(ErrorKind::bad_argument,
             "The logit biases and penalties of this request leave no token to choose.");
    return best;
}

std::span<const float> Candidates::softmax() {
    const float best = max_logit();
    double sum = 0;
    for (size_t i = 0; i < n_; ++i) {
        p_[i] = std::exp(items_[i].logit - best);
        sum += p_[i];
    }
    for (size_t i = 0; i < n_; ++i) p_[i] = static_cast<float>(p_[i] / sum);
    return {p_.data(), n_};
}

double Candidates::entropy(std::span<const float> p) {
    double h = 0;
    for (const float x : p)
        if (x > 0) h -= static_cast<double>(x) * std::log(static_cast<double>(x));
    return h;
}

}  // namespace powerinfer::generate
