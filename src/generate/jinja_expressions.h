// The half of the template parser that reads expressions. Statements are in jinja_parser.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "generate/jinja_lexer.h"
#include "generate/jinja_parser.h"

namespace powerinfer::generate::jinja {

/// Nesting of expressions and of blocks; keeps recursion far from the stack's end.
inline constexpr int kMaxParseDepth = 200;

/// Reads a list of tokens from front to back, by recursive descent: one function per level of precedence.
class ExpressionParser {
  public:
    explicit ExpressionParser(std::string_view source) : tokens_(tokenize(source)) {}

  protected:
    const Token& now() const { return tokens_[at_]; }
    const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    bool is_symbol(std::string_view s) const { return now().type == TokenType::symbol && now().text == s; }
    bool is_word(std::string_view s) const { return now().type == TokenType::name && now().text == s; }
    bool take_symbol(std::string_view s) {
        if (!is_symbol(s)) return false;
        ++at_;
        return true;
    }
    bool take_word(std::string_view s) {
        if (!is_word(s)) return false;
        ++at_;
        return true;
    }

    [[noreturn]] void wrong(std::string_view expected) const {
        const std::string_view found = now().type == TokenType::end         ? "the end of the template"
                                       : now().type == TokenType::block_end ? "'%}'"
                                       : now().type == TokenType::print_end ? "'}}'"
                                                                            : std::string_view(now().text);
        fail(ErrorKind::bad_argument, "The chat template is wrong in line {}: expected {}, found {}.",
             now().line, expected, found.empty() ? "text" : found);
    }

    void expect_symbol(std::string_view s) {
        if (!take_symbol(s)) wrong(fmt::format("'{}'", s));
    }
    std::string expect_name() {
        if (now().type != TokenType::name) wrong("a name");
        return tokens_[at_++].text;
    }
    void expect_block_end() {
        if (now().type != TokenType::block_end) wrong("'%}'");
        ++at_;
    }

    struct Deeper {
        explicit Deeper(ExpressionParser& parser) : parser_(parser) {
            if (++parser_.depth_ > kMaxParseDepth)
                fail(ErrorKind::bad_argument,
                     "The chat template is nested more than {} levels deep in line {}.", kMaxParseDepth,
                     parser_.now().line);
        }
        ~Deeper() { --parser_.depth_; }
        ExpressionParser& parser_;
    };

    ExprPtr make(ExprKind kind) const {
        auto e = std::make_unique<Expr>();
        e->kind = kind;
        e->line = now().line;
        return e;
    }

    ExprPtr constant(Value value) const {
        ExprPtr e = make(ExprKind::constant);
        e->constant = std::move(value);
        return e;
    }

    template <class... Children>
    ExprPtr node(ExprKind kind, int line, std::string text, Children... children) const {
        auto e = std::make_unique<Expr>();
        e->kind = kind;
        e->line = line;
        e->text = std::move(text);
        (e->children.push_back(std::move(children)), ...);
        return e;
    }

    /// One item, or a tuple of them when a comma follows.
    template <class Item>
    ExprPtr tuple_of(Item item) {
        ExprPtr first = item();
        if (!is_symbol(",")) return first;
        ExprPtr tuple = make(ExprKind::tuple);
        tuple->children.push_back(std::move(first));
        while (take_symbol(",")) {
            const bool ends = now().type == TokenType::print_end || now().type == TokenType::block_end ||
                              is_symbol(")") || is_symbol("=") || is_word("in");
            if (ends) break;
            tuple->children.push_back(item());
        }
        return tuple;
    }

    ExprPtr tuple_or_expression();
    ExprPtr expression();
    ExprPtr without_condition();
    ExprPtr or_expression();
    ExprPtr and_expression();
    ExprPtr not_expression();
    ExprPtr comparison();

    template <class Next>
    ExprPtr left_to_right(std::initializer_list<std::string_view> operators, Next next) {
        ExprPtr left = next();
        for (;;) {
            const auto found =
                std::find_if(operators.begin(), operators.end(), [&](auto s) { return is_symbol(s); });
            if (found == operators.end()) return left;
            const int line = tokens_[at_++].line;
            left = node(ExprKind::binary, line, std::string(*found), std::move(left), next());
        }
    }

    ExprPtr sum();
    ExprPtr concatenation();
    ExprPtr product();
    ExprPtr power();
    ExprPtr unary(bool with_filters);
    ExprPtr primary();

    template <class Number>
    ExprPtr number() {
        Number n = 0;
        const std::string& text = now().text;
        if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc())
            wrong("a number that fits 64 bits");
        ExprPtr e = constant(Value(n));
        ++at_;
        return e;
    }

    ExprPtr parenthesized();
    ExprPtr list();
    ExprPtr dict();
    ExprPtr postfix(ExprPtr e);
    ExprPtr subscript(ExprPtr object, int line);
    std::vector<Argument> arguments();
    ExprPtr filters(ExprPtr e);
    ExprPtr one_filter(ExprPtr e);

    /// The filters of `{% filter a|b %}`, where no `|` stands before the first.
    ExprPtr filter_chain(ExprPtr e);
    ExprPtr test(ExprPtr e);

    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace powerinfer::generate::jinja
