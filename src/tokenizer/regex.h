// A compiled regular expression for cutting text, over PCRE2. Not a general matching interface.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace powerinfer::tokenizer {

/// A half-open range of bytes, and whether an expression matched it or it lay between matches.
struct Span {
    size_t begin, end;
    bool matched;
};

/// Immutable after construction; cut() may be called from several threads at once.
class Regex {
  public:
    /// `\s` and `\S` mean Unicode's White_Space property (PCRE2's own classes differ at U+180E).
    /// Throws Error{internal} if the pattern, one of ours, does not compile.
    explicit Regex(std::string_view pattern);
    ~Regex();
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;

    /// Appends the pieces of `text` (well-formed UTF-8): matches, and the stretches between them, in order
    /// and without gaps. `base` is added to all positions. Where the matcher runs out of its limits a stretch
    /// of bounded size becomes a piece and matching goes on behind it, so no text is lost.
    void cut(std::string_view text, size_t base, std::vector<Span>& pieces) const;

  private:
    struct Compiled;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace powerinfer::tokenizer
