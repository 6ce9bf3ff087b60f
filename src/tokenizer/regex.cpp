#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <string>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace powerinfer::tokenizer {
namespace {

constexpr uint32_t kMatchLimit = 20'000'000;  // backtracking steps
constexpr uint32_t kHeapLimitKiB = 64 * 1024;
constexpr size_t kPieceAfterError = 4096;  // bytes

constexpr std::string_view kWhiteSpace =
    R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// Writes \s and \S out as explicit sets.
std::string expand_white_space(std::string_view pattern) {
    std::string out;
    bool in_class = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            const char escaped = pattern[++i];
            if (escaped == 's')
                out += in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
            else if (escaped == 'S' && !in_class)
                out += fmt::format("[^{}]", kWhiteSpace);
            else
                out.append({c, escaped});
            continue;
        }
        if (c == '[') in_class = true;
        if (c == ']') in_class = false;
        out += c;
    }
    return out;
}

struct FreeMatchData {
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};

}  // namespace

struct Regex::Compiled {
    pcre2_code* code = nullptr;
    pcre2_match_context* limits = nullptr;
    ~Compiled() {
        pcre2_match_context_free(limits);
        pcre2_code_free(code);
    }

    /// Finds a match at or behind `start`. Compiled code first; the interpreter keeps its state on the heap
    /// and gets further with deep backtracking.
    int match(std::string_view text, size_t start, pcre2_match_data* data) const {
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
        const int rc = pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, data, limits);
        if (rc != PCRE2_ERROR_JIT_STACKLIMIT) return rc;
        return pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                           limits);
    }
};

Regex::Regex(std::string_view pattern) : compiled_(std::make_unique<Compiled>()) {
    const std::string expanded = expand_white_space(pattern);
    int error = 0;
    PCRE2_SIZE at = 0;
    compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expanded.data()), expanded.size(), PCRE2_UTF,
                                    &error, &at, nullptr);
    if (compiled_->code == nullptr) {
        std::array<PCRE2_UCHAR, 128> reason{};
        pcre2_get_error_message(error, reason.data(), reason.size());
        fail(ErrorKind::internal, "The pattern '{}' does not compile: {} at position {}.", pattern,
             reinterpret_cast<const char*>(reason.data()), at);
    }
    pcre2_jit_compile(compiled_->code,
                      PCRE2_JIT_COMPLETE);  // where the platform has none, the interpreter serves
    compiled_->limits = pcre2_match_context_create(nullptr);
    if (compiled_->limits == nullptr) throw std::bad_alloc();
    pcre2_set_match_limit(compiled_->limits, kMatchLimit);
    pcre2_set_heap_limit(compiled_->limits, kHeapLimitKiB);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

void Regex::cut(std::string_view text, size_t base, std::vector<Span>& pieces) const {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
    if (!data) throw std::bad_alloc();
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
    const auto add = [&](size_t begin, size_t end, bool matched = false) {
        if (end > begin) pieces.push_back({base + begin, base + end, matched});
    };

    size_t done = 0;   // everything before is in a piece
    size_t start = 0;  // where to look for the next match
    while (start < text.size()) {
        const int rc = compiled_->match(text, start, data.get());
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) {
            size_t end = start;
            while (end < text.size() && end - start < kPieceAfterError) end += utf8_length(text, end);
            add(done, end);
            start = done = end;
        } else if (range[1] > range[0]) {
            add(done, range[0]);
            add(range[0], range[1], true);
            start = done = range[1];
        } else {  // an empty match cuts nothing
            start = range[1] < text.size() ? range[1] + utf8_length(text, range[1]) : text.size();
        }
    }
    add(done, text.size());
}

}  // namespace powerinfer::tokenizer
