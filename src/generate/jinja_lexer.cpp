#include "generate/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace powerinfer::generate::jinja {

namespace {

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

constexpr std::array<std::string_view, 7> kTwoCharSymbols = {"**", "//", "==", "!=", ">=", "<=", "->"};
constexpr std::string_view kOneCharSymbols = "+-*/%~()[]{}<>=.:|,";

class Lexer {
  public:
    explicit Lexer(std::string_view source) {
        // Newlines of any kind count as one; a single one at the very end is not part of the template.
        for (size_t i = 0; i < source.size(); ++i) {
            if (source[i] != '\r')
                source_ += source[i];
            else if (i + 1 == source.size() || source[i + 1] != '\n')
                source_ += '\n';
        }
        if (!source_.empty() && source_.back() == '\n') source_.pop_back();
    }

    std::vector<Token> run() {
        while (at_ < source_.size()) {
            const size_t tag = find_tag(at_);
            text_before_tag(tag);
            if (tag == source_.size()) break;
            const char kind = source_[tag + 1];
            move_to(tag + 2);
            if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
            if (kind == '#')
                skip_comment();
            else if (kind == '%' && is_raw())
                raw_block();
            else
                tag_contents(kind == '%');
        }
        add(TokenType::end, "");
        return std::move(tokens_);
    }

  private:
    [[noreturn]] void wrong(std::string_view what) const {
        fail(ErrorKind::bad_argument, "The chat template is wrong in line {}: {}.", line_, what);
    }

    size_t find_tag(size_t from) const {
        for (size_t i = source_.find('{', from); i != std::string::npos; i = source_.find('{', i + 1))
            if (i + 1 < source_.size() &&
                (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
                return i;
        return source_.size();
    }

    void move_to(size_t place) {
        line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                             source_.begin() + static_cast<ptrdiff_t>(place), '\n'));
        at_ = place;
    }

    void add(TokenType type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }

    /// Literal text up to a tag, minus what the tag's left side strips.
    void text_before_tag(size_t tag) {
        std::string_view text = std::string_view(source_).substr(at_, tag - at_);
        if (tag < source_.size()) {
            const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
            if (sign == '-') {
                while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
            } else if (sign != '+' && source_[tag + 1] != '{') {
                const size_t newline = text.rfind('\n');
                const bool has_newline = newline != std::string_view::npos;
                const std::string_view indent = text.substr(has_newline ? newline + 1 : 0);
                if ((has_newline || line_starting_) && std::all_of(indent.begin(), indent.end(), is_space))
                    text.remove_suffix(indent.size());
            }
        }
        if (!text.empty()) add(TokenType::text, std::string(text));
        move_to(tag);
    }

    /// Steps over the end of a tag and what its right side strips. place: the end's own first character after
    /// a sign.
    void end_tag(size_t place, char sign, bool trims_newline) {
        size_t end = place + 2;
        if (sign == '-') {
            while (end < source_.size() && is_space(source_[end])) ++end;
        } else if (trims_newline && sign != '+' && end < source_.size() && source_[end] == '\n') {
            ++end;
        }
        move_to(end);
        line_starting_ = source_[end - 1] == '\n';
    }

    void skip_comment() {
        const size_t end = source_.find("#}", at_);
        if (end == std::string::npos) wrong("a comment is not closed by '#}'");
        const char sign = end > at_ ? source_[end - 1] : ' ';
        end_tag(end, sign, true);
    }

    bool is_raw() const {
        size_t i = at_;
        while (i < source_.size() && is_space(source_[i])) ++i;
        if (source_.compare(i, 3, "raw") != 0) return false;
        i += 3;
        while (i < source_.size() && is_space(source_[i])) ++i;
        return source_.compare(i, 2, "%}") == 0 || source_.compare(i, 3, "-%}") == 0;
    }

    void raw_block() {
        const size_t open_end = source_.find("%}", at_);
        end_tag(open_end, source_[open_end - 1], true);
        for (size_t tag = source_.find("{%", at_); tag != std::string::npos;
             tag = source_.find("{%", tag + 2)) {
            size_t i = tag + 2;
            if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
            while (i < source_.size() && is_space(source_[i])) ++i;
            if (source_.compare(i, 6, "endraw") != 0) continue;
            const size_t end = source_.find("%}", i);
            if (end == std::string::npos) break;
            text_before_tag(tag);
            end_tag(end, source_[end - 1], true);
            return;
        }
        wrong("a raw block is not closed by 'endraw'");
    }

    void tag_contents(bool block) {
        add(block ? TokenType::block_begin : TokenType::print_begin, "");
        const std::string_view closing = block ? "%}" : "}}";
        int depth = 0;
        for (;;) {
            size_t i = at_;
            while (i < source_.size() && is_space(source_[i])) ++i;
            move_to(i);
            if (at_ == source_.size())
                wrong(block ? "a tag is not closed by '%}'" : "a tag is not closed by '}}'");
            if (depth == 0) {
                const char sign = source_[at_];
                const bool signed_end = (sign == '-' || (sign == '+' && block));
                const size_t place = at_ + signed_end;
                if (source_.compare(place, 2, closing) == 0) {
                    add(block ? TokenType::block_end : TokenType::print_end, "");
                    end_tag(place, signed_end ? sign : ' ', block);
                    return;
                }
            }
            const char c = source_[at_];
            if (is_name_start(c))
                name();
            else if (is_digit(c))
                number();
            else if (c == '"' || c == '\'')
                string(c);
            else
                symbol(depth);
        }
    }

    void name() {
        size_t end = at_;
        while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
        add(TokenType::name, source_.substr(at_, end - at_));
        at_ = end;
    }

    void number() {
        std::string digits;
        bool floating = false;
        for (; at_ < source_.size(); ++at_) {
            const char c = source_[at_];
            const char next = at_ + 1 < source_.size() ? source_[at_ + 1] : ' ';
            if (c == '_' && is_digit(next)) continue;
            if (c == '.' && !floating && is_digit(next)) {
                floating = true;
            } else if ((c == 'e' || c == 'E') && (is_digit(next) || next == '-' || next == '+')) {
                floating = true;
                digits += c;
                if (!is_digit(next)) digits += source_[++at_];
                continue;
            } else if (!is_digit(c)) {
                break;
            }
            digits += c;
        }
        add(floating ? TokenType::floating : TokenType::integer, std::move(digits));
    }

    void string(char quote) {
        std::string value;
        size_t i = at_ + 1;
        for (; i < source_.size() && source_[i] != quote; ++i) {
            if (source_[i] == '\\' && i + 1 < source_.size())
                i = escape(i + 1, value);
            else
                value += source_[i];
        }
        if (i >= source_.size()) wrong("a string is not closed");
        add(TokenType::string, std::move(value));
        move_to(i + 1);
    }

    /// Decodes the escape whose letter is at i; returns the place of its last character.
    size_t escape(size_t i, std::string& value) const {
        constexpr std::string_view kLetters = "abfnrtv\\'\"\n", kMeanings = "\a\b\f\n\r\t\v\\'\"";
        const char c = source_[i];
        if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
            if (c != '\n') value += kMeanings[known];
            return i;
        }
        const size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        uint32_t code = 0;
        size_t n = 0;
        for (; n < n_digits && i + 1 + n < source_.size(); ++n) {
            const char d = source_[i + 1 + n];
            if (is_digit(d))
                code = code * 16 + static_cast<uint32_t>(d - '0');
            else if ((d | 32) >= 'a' && (d | 32) <= 'f')
                code = code * 16 + static_cast<uint32_t>((d | 32) - 'a' + 10);
            else
                break;
        }
        if (n_digits == 0) {
            value += '\\';
            value += c;
            return i;
        }
        if (n < n_digits || code > 0x10FFFF) wrong("a string has an incomplete escape");
        tokenizer::append_utf8(value, code);
        return i + n_digits;
    }

    void symbol(int& depth) {
        for (const std::string_view two : kTwoCharSymbols) {
            if (source_.compare(at_, 2, two) != 0) continue;
            add(TokenType::symbol, std::string(two));
            at_ += 2;
            return;
        }
        const char c = source_[at_];
        if (kOneCharSymbols.find(c) == std::string_view::npos)
            wrong(fmt::format("the character '{}' has no meaning in a tag", c));
        if (c == '(' || c == '[' || c == '{') ++depth;
        if ((c == ')' || c == ']' || c == '}') && --depth < 0) wrong(fmt::format("'{}' closes nothing", c));
        add(TokenType::symbol, std::string(1, c));
        ++at_;
    }

    std::string source_;
    size_t at_ = 0;
    int line_ = 1;
    bool line_starting_ = true;  ///< only white space was removed since the last newline
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
    return Lexer(source).run();
}

}  // namespace powerinfer::generate::jinja
