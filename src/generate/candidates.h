// The tokens still in the race during one sampling step, and the small operations that every sampler is made
// of. Not for rules: those are in sampler_filters.h, sampler_penalties.h, sampler_dry.h and sampler_draw.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace powerinfer::generate {

using tokenizer::TokenId;

struct Candidate {
    float logit;
    TokenId id;
};

/// Falling logit, then rising id: a total order, so that equal logits never depend on a sorting algorithm.
inline bool is_better(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// Buffers of n_vocab entries that live as long as the sampler; a step allocates nothing. Never empty in a
/// step.
class Candidates {
  public:
    explicit Candidates(int n_vocab);

    /// Starts a step with all tokens in id order. Throws Error{internal} for NaN, plus infinity or nothing
    /// finite.
    void reset(std::span<const float> logits);

    std::span<Candidate> items() { return {items_.data(), n_}; }
    std::span<const Candidate> items() const { return {items_.data(), n_}; }
    size_t size() const { return n_; }
    bool is_sorted() const { return n_sorted_ >= n_; }
    /// True while items()[i].id == i, so that a token can be looked up directly.
    bool is_indexed() const { return indexed_; }
    void logits_changed() { n_sorted_ = 0; }

    /// Keeps the first n; the caller has put them there. 1 <= n <= size().
    void truncate(size_t n);
    /// Drops the first n. 0 <= n < size().
    void drop_front(size_t n);
    /// Puts the n best first, in order; the rest stays behind them in any order.
    void sort_best(size_t n);
    void sort() { sort_best(n_); }
    /// Brings an order of its own: the first n by `before`, which must be a total order.
    template <class Before>
    void sort_first(size_t n, Before before);
    template <class Keep>
    void keep_if(Keep keep);

    /// Throws Error{bad_argument} when the user's bias and penalties have forbidden every token.
    float max_logit() const;
    /// Fills and returns probabilities parallel to items(): exp(logit - max), in float, divided by their sum.
    std::span<const float> softmax();
    /// -sum p ln p of softmax(), in nats.
    static double entropy(std::span<const float> p);

    std::span<double> scratch() {
        return {scratch_.data(), n_};
    }  ///< doubles for any use, parallel to items()

  private:
    std::vector<Candidate> items_;
    std::vector<float> p_;
    std::vector<double> scratch_;
    size_t n_ = 0;
    size_t n_sorted_ = 0;  ///< so many are in front by is_better, in order, and none behind is better
    bool indexed_ = false;
};

template <class Before>
void Candidates::sort_first(size_t n, Before before) {
    Candidate* const begin = items_.data();
    // A heap of the n best touches most of a large vocabulary only once, in order.
    if (n * 8 < n_) {
        std::partial_sort(begin, begin + n, begin + n_, before);
    } else {
        if (n < n_) std::nth_element(begin, begin + n, begin + n_, before);
        std::sort(begin, begin + n, before);
    }
    n_sorted_ = 0;
    indexed_ = false;
}

template <class Keep>
void Candidates::keep_if(Keep keep) {
    const bool was_sorted = is_sorted();
    size_t n = 0;
    for (size_t i = 0; i < n_; ++i)
        if (keep(items_[i])) items_[n++] = items_[i];
    if (n != n_) indexed_ = false;
    n_ = n;
    n_sorted_ = was_sorted ? n : 0;
}

}  // namespace powerinfer::generate
