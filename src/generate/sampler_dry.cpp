#include "generate/sampler_dry.h"

#include <algorithm>
#include <cmath>

#include "generate/sampler_penalties.h"

namespace powerinfer::generate {

namespace {

constexpr size_t kMaxBreakerBytes = 40;
constexpr size_t kMaxTailTokens = 20;
constexpr float kLogOfLargestFloat = 88.7228391f;

}  // namespace

DryBreakers find_dry_breakers(std::span<const std::string> breakers, std::span<const std::string> pieces,
                              const std::function<std::vector<TokenId>(std::string_view)>& encode) {
    DryBreakers found;
    for (const std::string& whole : breakers) {
        const std::string_view breaker = std::string_view(whole).substr(0, kMaxBreakerBytes);
        if (breaker.empty()) continue;
        for (size_t id = 0; id < pieces.size(); ++id) {
            const std::string_view piece = pieces[id];
            std::vector<std::vector<TokenId>>* tails = nullptr;
            const auto add = [&](std::vector<TokenId> tail) {
                if (tails == nullptr) tails = &found[static_cast<TokenId>(id)];
                if (std::find(tails->begin(), tails->end(), tail) == tails->end())
                    tails->push_back(std::move(tail));
            };
            if (piece.find(breaker) != std::string_view::npos) {
                add({});
                continue;
            }
            // Every length of the breaker's start that this piece may end with.
            for (size_t n = std::min(piece.size(), breaker.size() - 1); n >= 1; --n) {
                if (piece.substr(piece.size() - n) != breaker.substr(0, n)) continue;
                std::vector<TokenId> tail = encode(breaker.substr(n));
                tail.resize(std::min(tail.size(), kMaxTailTokens));
                add(std::move(tail));
            }
        }
    }
    return found;
}

Dry::Dry(int last_n, float multiplier, float base, int allowed_length, DryBreakers breakers, int n_vocab)
    : multiplier_(multiplier),
      base_(base),
      allowed_length_(allowed_length),
      largest_exponent_(base > 1.000001f ? static_cast<int>(kLogOfLargestFloat / std::log(base)) : -1),
      breakers_(std::move(breakers)),
      window_(static_cast<size_t>(last_n)),
      newest_first_(window_.size()),
      common_(window_.size()),
      longest_(static_cast<size_t>(n_vocab), -1) {
    found_.reserve(window_.size());
}

void Dry::accept(TokenId token) {
    window_[n_seen_ % window_.size()] = token;
    ++n_seen_;
}

void Dry::forget() { n_seen_ = 0; }

bool Dry::is_breaker(TokenId token) const {
    const auto entry = breakers_.find(token);
    if (entry == breakers_.end()) return false;
    return std::any_of(entry->second.begin(), entry->second.end(),
                       [](const auto& tail) { return tail.empty(); });
}

/// Repetitions may not reach over the newest complete breaker.
int Dry::repeat_limit(std::span<const TokenId> newest_first) const {
    for (size_t i = 0; i < newest_first.size(); ++i) {
        const auto entry = breakers_.find(newest_first[i]);
        if (entry == breakers_.end()) continue;
        int longest = -1;
        for (const std::vector<TokenId>& tail : entry->second) {
            if (static_cast<int>(tail.size()) <= longest || tail.size() > i) continue;
            bool same = true;
            for (size_t j = 0; j < tail.size(); ++j) same &= tail[j] == newest_first[i - 1 - j];
            if (same) longest = static_cast<int>(tail.size());
        }
        if (longest >= 0) return static_cast<int>(i) - longest;
    }
    return static_cast<int>(newest_first.size());
}

void Dry::apply(Candidates& candidates) {
    const size_t n = std::min(n_seen_, window_.size());
    if (static_cast<int64_t>(n) <= allowed_length_) return;
    for (size_t i = 0; i < n; ++i) newest_first_[i] = window_[(n_seen_ - 1 - i) % window_.size()];
    const std::span<const TokenId> text(newest_first_.data(), n);
    const int limit = repeat_limit(text);
    if (limit < allowed_length_) return;

    // The Z-function: common_[i] = how many tokens text[i...] shares with text[0...]. [left, right) is the
    // match that reaches farthest; inside it earlier results are copied, so that the whole is linear.
    found_.clear();
    size_t left = 0, right = 0;
    for (size_t i = 1; i < n; ++i) {
        size_t length = 0;
        if (i < right) length = std::min(right - i, static_cast<size_t>(common_[i - left]));
        while (i + length < n && text[length] == text[i + length]) ++length;
        if (i + length > right) {
            left = i;
            right = i + length;
        }
        common_[i] = static_cast<int>(length);
        const int repeated = std::min(common_[i], limit);
        if (repeated < allowed_length_) continue;
        int& longest = longest_[static_cast<size_t>(text[i - 1])];
        if (longest < 0) found_.push_back(text[i - 1]);
        longest = std::max(longest, repeated);
    }
    const auto lower = [this](Candidate& c) {
        const int longest = longest_[static_cast<size_t>(c.id)];
        if (longest < 0 || is_breaker(c.id)) return;
        int exponent = longest - allowed_length_;
        if (largest_exponent_ > 0) exponent = std::min(exponent, largest_exponent_);
        c.logit = add_capped(
            c.logit, -static_cast<double>(multiplier_) * std::pow(static_cast<double>(base_), exponent));
    };
    if (candidates.is_indexed())
        for (const TokenId id : found_) lower(candidates.items()[static_cast<size_t>(id)]);
    else
        for (Candidate& c : candidates.items()) lower(c);
    for (const TokenId id : found_) longest_[static_cast<size_t>(id)] = -1;
    candidates.logits_changed();
}

}  // namespace powerinfer::generate
