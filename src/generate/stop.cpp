#include "generate/stop.h"

#include <algorithm>

#include "base/error.h"

namespace powerinfer::generate {

namespace {

/// Where a UTF-8 sequence begins that the end of the text cuts off; text.size() if there is none.
size_t unfinished_sequence(std::string_view text) {
    for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if ((byte & 0xC0) == 0x80) continue;
        const size_t length = byte >= 0xF0 && byte <= 0xF4 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
        return byte <= 0xF4 && length > back ? text.size() - back : text.size();
    }
    return text.size();
}

}  // namespace

std::string_view name(FinishReason reason) {
    switch (reason) {
        case FinishReason::end_of_generation:
            return "end_of_generation";
        case FinishReason::stop_string:
            return "stop_string";
        case FinishReason::length:
            return "length";
        case FinishReason::context_full:
            return "context_full";
        case FinishReason::cancelled:
            return "cancelled";
    }
    return "?";
}

StopStrings::StopStrings(std::vector<std::string> strings, bool keep_match)
    : strings_(std::move(strings)), keep_match_(keep_match) {
    std::erase_if(strings_, [](const std::string& s) { return s.empty(); });
}

std::string StopStrings::push(std::string_view piece) {
    if (matched()) return {};
    held_ += piece;
    size_t first = std::string::npos;
    for (const std::string& stop : strings_) {
        const size_t place = held_.find(stop);
        if (place >= first) continue;  // npos is the largest
        first = place;
        match_ = stop;
    }
    if (matched()) {
        std::string released = held_.substr(0, first + (keep_match_ ? match_.size() : 0));
        held_.clear();
        return released;
    }
    // The earliest place from which the text so far could grow into a stop string.
    size_t certain = unfinished_sequence(held_);
    for (const std::string& stop : strings_) {
        const size_t longest = std::min(held_.size(), stop.size() - 1);
        for (size_t n = longest; n > held_.size() - certain; --n) {
            if (held_.compare(held_.size() - n, n, stop, 0, n) != 0) continue;
            certain = held_.size() - n;
            break;
        }
    }
    std::string released = held_.substr(0, certain);
    held_.erase(0, certain);
    return released;
}

std::string StopStrings::finish() {
    std::string rest;
    rest.swap(held_);
    return rest;
}

void validate(const StopOptions& options) {
    if (options.n_predict < -2)
        fail(ErrorKind::bad_argument,
             "The option n_predict is {}; it must be -2 (until the context is full), -1 (no limit) or a "
             "number of "
             "tokens.",
             options.n_predict);
}

StopRules::StopRules(const StopOptions& options, std::vector<TokenId> ends, std::vector<TokenId> stop_tokens)
    : strings_(options.strings, options.keep_match),
      ends_(std::move(ends)),
      stop_tokens_(std::move(stop_tokens)),
      n_predict_(options.n_predict) {
    validate(options);
    std::sort(ends_.begin(), ends_.end());
    std::sort(stop_tokens_.begin(), stop_tokens_.end());
    if (n_predict_ == 0) reason_ = FinishReason::length;
}

std::string StopRules::push(TokenId token, std::string_view piece) {
    ++n_generated_;
    if (std::binary_search(ends_.begin(), ends_.end(), token)) {
        reason_ = FinishReason::end_of_generation;
        return {};
    }
    if (std::binary_search(stop_tokens_.begin(), stop_tokens_.end(), token)) {
        reason_ = FinishReason::stop_string;
        return {};
    }
    std::string released = strings_.push(piece);
    if (strings_.matched())
        reason_ = FinishReason::stop_string;
    else if (n_generated_ == n_predict_)
        reason_ = FinishReason::length;
    return released;
}

}  // namespace powerinfer::generate
