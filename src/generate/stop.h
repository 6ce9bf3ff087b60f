// When an answer ends, and which part of its text may be shown by then.
// Not for the loop that makes the tokens (generate.h).
#pragma once

#include <powerinfer/generation.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace powerinfer::generate {

using tokenizer::TokenId;

/// "stop" or "length" would hide what happened; these are for logs ("end_of_generation", "context_full",
/// ...).
std::string_view name(FinishReason reason);

/// Looks for strings in a text that arrives in pieces, and holds back what might still become one of them,
/// and the bytes of a UTF-8 sequence until it is whole. The pieces released are the text, in order, with
/// nothing lost.
class StopStrings {
  public:
    /// Empty strings never match. keep_match: the string that ended the text belongs to it (a reverse
    /// prompt).
    explicit StopStrings(std::vector<std::string> strings, bool keep_match = false);

    /// Takes the next piece and returns what is certain by now. After a match nothing more is taken or
    /// released.
    std::string push(std::string_view piece);
    /// Returns what was held back, at the end of a text without a match; bytes of a broken sequence as they
    /// are.
    std::string finish();

    bool matched() const { return !match_.empty(); }
    const std::string& match() const { return match_; }

  private:
    std::vector<std::string> strings_;
    bool keep_match_;
    std::string held_, match_;
};

struct StopOptions {
    int n_predict = -1;  ///< tokens to make; -1: no limit; -2: until the context is full
    std::vector<std::string> strings;
    bool keep_match = false;  ///< the string that ended the text belongs to it
};

/// Throws Error{bad_argument} naming the option.
void validate(const StopOptions& options);

/// Decides after each token whether the answer is over. A natural end counts before the limit.
class StopRules {
  public:
    /// ends: tokens that end a generation; none where those are to be ignored. stop_tokens: control tokens that a
    /// stop string spells: they have no text to look in. Both in any order.
    StopRules(const StopOptions& options, std::vector<TokenId> ends, std::vector<TokenId> stop_tokens);

    /// Takes a generated token and its text; returns the text that may be shown. Precondition: !reason().
    std::string push(TokenId token, std::string_view piece);
    /// The text still held back; call it once, when no more tokens follow.
    std::string finish() { return strings_.finish(); }

    /// Why it is over, or nothing while it goes on. Set from the start when no token may be made.
    std::optional<FinishReason> reason() const { return reason_; }
    int n_generated() const { return n_generated_; }
    /// The stop string that ended the text, or empty.
    const std::string& match() const { return strings_.match(); }

  private:
    StopStrings strings_;
    std::vector<TokenId> ends_, stop_tokens_;  ///< sorted
    int n_predict_;
    int n_generated_ = 0;
    std::optional<FinishReason> reason_;
};

}  // namespace powerinfer::generate
