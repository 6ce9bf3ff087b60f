#include "generate/jinja_expressions.h"

namespace powerinfer::generate::jinja {

namespace {

void release(Expr& e, std::vector<ExprPtr>& orphans) {
    for (ExprPtr& child : e.children)
        if (child) orphans.push_back(std::move(child));
    for (Argument& argument : e.arguments)
        if (argument.value) orphans.push_back(std::move(argument.value));
}

}  // namespace

Expr::~Expr() {
    std::vector<ExprPtr> orphans;
    release(*this, orphans);
    while (!orphans.empty()) {
        const ExprPtr e = std::move(orphans.back());
        orphans.pop_back();
        release(*e, orphans);
    }
}

ExprPtr ExpressionParser::tuple_or_expression() {
    return tuple_of([this] { return expression(); });
}

ExprPtr ExpressionParser::expression() {
    const Deeper deeper(*this);
    ExprPtr value = or_expression();
    while (is_word("if")) {
        const int line = now().line;
        ++at_;
        ExprPtr condition = or_expression();
        ExprPtr otherwise = take_word("else") ? expression() : nullptr;
        value = node(ExprKind::conditional, line, "", std::move(condition), std::move(value),
                     std::move(otherwise));
    }
    return value;
}

ExprPtr ExpressionParser::without_condition() {
    const Deeper deeper(*this);
    return or_expression();
}

ExprPtr ExpressionParser::or_expression() {
    ExprPtr left = and_expression();
    while (is_word("or")) {
        const int line = tokens_[at_++].line;
        left = node(ExprKind::or_, line, "", std::move(left), and_expression());
    }
    return left;
}

ExprPtr ExpressionParser::and_expression() {
    ExprPtr left = not_expression();
    while (is_word("and")) {
        const int line = tokens_[at_++].line;
        left = node(ExprKind::and_, line, "", std::move(left), not_expression());
    }
    return left;
}

ExprPtr ExpressionParser::not_expression() {
    if (!is_word("not")) return comparison();
    const Deeper deeper(*this);
    const int line = tokens_[at_++].line;
    return node(ExprKind::not_, line, "", not_expression());
}

ExprPtr ExpressionParser::comparison() {
    ExprPtr first = sum();
    ExprPtr chain;
    for (;;) {
        std::string op;
        for (const std::string_view s : {"==", "!=", "<", "<=", ">", ">="})
            if (is_symbol(s)) op = s;
        if (is_word("in")) op = "in";
        if (is_word("not") && after().type == TokenType::name && after().text == "in") {
            op = "not in";
            ++at_;
        }
        if (op.empty()) return chain ? std::move(chain) : std::move(first);
        if (!chain) chain = node(ExprKind::compare, now().line, "", std::move(first));
        ++at_;
        chain->operators.push_back(op);
        chain->children.push_back(sum());
    }
}

ExprPtr ExpressionParser::sum() {
    return left_to_right({"+", "-"}, [this] { return concatenation(); });
}

ExprPtr ExpressionParser::concatenation() {
    return left_to_right({"~"}, [this] { return product(); });
}

ExprPtr ExpressionParser::product() {
    return left_to_right({"*", "/", "//", "%"}, [this] { return power(); });
}

ExprPtr ExpressionParser::power() {
    return left_to_right({"**"}, [this] { return unary(true); });
}

ExprPtr ExpressionParser::unary(bool with_filters) {
    const Deeper deeper(*this);
    const int line = now().line;
    ExprPtr e;
    if (take_symbol("-"))
        e = node(ExprKind::negate, line, "", unary(false));
    else if (take_symbol("+"))
        e = node(ExprKind::plus, line, "", unary(false));
    else
        e = postfix(primary());
    return with_filters ? filters(std::move(e)) : std::move(e);
}

ExprPtr ExpressionParser::primary() {
    const Token& token = now();
    switch (token.type) {
        case TokenType::name: {
            const std::string& word = token.text;
            ExprPtr e;
            if (word == "true" || word == "True")
                e = constant(Value(true));
            else if (word == "false" || word == "False")
                e = constant(Value(false));
            else if (word == "none" || word == "None")
                e = constant(Value());
            else {
                e = make(ExprKind::name);
                e->text = word;
            }
            ++at_;
            return e;
        }
        case TokenType::string: {
            std::string value = token.text;
            while (after().type == TokenType::string) value += tokens_[++at_].text;
            ExprPtr e = constant(Value(std::move(value)));
            ++at_;
            return e;
        }
        case TokenType::integer:
            return number<int64_t>();
        case TokenType::floating:
            return number<double>();
        case TokenType::symbol:
            if (token.text == "(") return parenthesized();
            if (token.text == "[") return list();
            if (token.text == "{") return dict();
            break;
        default:
            break;
    }
    wrong("an expression");
}

ExprPtr ExpressionParser::parenthesized() {
    ExprPtr empty = make(ExprKind::tuple);
    ++at_;
    if (take_symbol(")")) return empty;
    ExprPtr inner = tuple_or_expression();
    expect_symbol(")");
    return inner;
}

ExprPtr ExpressionParser::list() {
    ExprPtr e = make(ExprKind::list);
    ++at_;
    while (!take_symbol("]")) {
        if (!e->children.empty()) expect_symbol(",");
        if (take_symbol("]")) break;
        e->children.push_back(expression());
    }
    return e;
}

ExprPtr ExpressionParser::dict() {
    ExprPtr e = make(ExprKind::dict);
    ++at_;
    while (!take_symbol("}")) {
        if (!e->children.empty()) expect_symbol(",");
        if (take_symbol("}")) break;
        e->children.push_back(expression());
        expect_symbol(":");
        e->children.push_back(expression());
    }
    return e;
}

ExprPtr ExpressionParser::postfix(ExprPtr e) {
    for (;;) {
        const int line = now().line;
        if (take_symbol(".")) {
            if (now().type == TokenType::integer) {
                e = node(ExprKind::item, line, "", std::move(e), number<int64_t>());
            } else {
                e = node(ExprKind::attribute, line, expect_name(), std::move(e));
            }
        } else if (take_symbol("[")) {
            e = subscript(std::move(e), line);
        } else if (is_symbol("(")) {
            e = node(ExprKind::call, line, "", std::move(e));
            e->arguments = arguments();
        } else {
            return e;
        }
    }
}

ExprPtr ExpressionParser::subscript(ExprPtr object, int line) {
    const auto part = [this]() -> ExprPtr {
        return is_symbol(":") || is_symbol("]") ? nullptr : tuple_or_expression();
    };
    ExprPtr begin = part();
    if (take_symbol("]")) {
        if (!begin) wrong("an index");
        return node(ExprKind::item, line, "", std::move(object), std::move(begin));
    }
    expect_symbol(":");
    ExprPtr end = part();
    ExprPtr step = take_symbol(":") ? part() : nullptr;
    expect_symbol("]");
    return node(ExprKind::slice, line, "", std::move(object), std::move(begin), std::move(end),
                std::move(step));
}

std::vector<Argument> ExpressionParser::arguments() {
    expect_symbol("(");
    std::vector<Argument> list;
    while (!take_symbol(")")) {
        if (!list.empty()) expect_symbol(",");
        if (take_symbol(")")) break;
        Argument argument;
        argument.spread = take_symbol("*");
        if (now().type == TokenType::name && after().type == TokenType::symbol && after().text == "=") {
            argument.keyword = expect_name();
            ++at_;
        } else if (!list.empty() && !list.back().keyword.empty()) {
            wrong("a named argument after a named argument");
        }
        argument.value = expression();
        list.push_back(std::move(argument));
    }
    return list;
}

ExprPtr ExpressionParser::filters(ExprPtr e) {
    for (;;) {
        if (take_symbol("|")) {
            e = one_filter(std::move(e));
        } else if (is_word("is")) {
            e = test(std::move(e));
        } else if (is_symbol("(")) {
            const int line = now().line;
            e = node(ExprKind::call, line, "", std::move(e));
            e->arguments = arguments();
        } else {
            return e;
        }
    }
}

ExprPtr ExpressionParser::one_filter(ExprPtr e) {
    const int line = now().line;
    e = node(ExprKind::filter, line, expect_name(), std::move(e));
    if (is_symbol("(")) e->arguments = arguments();
    return e;
}

ExprPtr ExpressionParser::filter_chain(ExprPtr e) {
    return filters(one_filter(std::move(e)));
}

ExprPtr ExpressionParser::test(ExprPtr e) {
    const int line = tokens_[at_++].line;
    const bool negated = take_word("not");
    ExprPtr result = node(ExprKind::test, line, expect_name(), std::move(e));
    const bool is_operator_word = is_word("else") || is_word("or") || is_word("and") || is_word("if") ||
                                  is_word("in") || is_word("not") || is_word("is");
    const bool takes_value = (now().type == TokenType::name && !is_operator_word) ||
                             now().type == TokenType::string || now().type == TokenType::integer ||
                             now().type == TokenType::floating || is_symbol("[") || is_symbol("{");
    if (is_symbol("(")) {
        result->arguments = arguments();
    } else if (takes_value) {
        Argument argument;
        argument.value = postfix(primary());
        result->arguments.push_back(std::move(argument));
    }
    return negated ? node(ExprKind::not_, line, "", std::move(result)) : std::move(result);
}

}  // namespace powerinfer::generate::jinja
