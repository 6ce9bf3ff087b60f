#include "generate/jinja_parser.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "generate/jinja_lexer.h"

namespace powerinfer::generate::jinja {

namespace {

constexpr int kMaxDepth =
    200;  ///< nesting of expressions and of blocks; keeps recursion far from the stack's end

class Parser {
  public:
    explicit Parser(std::string_view source) : tokens_(tokenize(source)) {}

    Block run() {
        Block block = statements({});
        return block;
    }

  private:
    // Tokens
    // ---------------------------------------------------------------------------------------------------

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
        explicit Deeper(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > kMaxDepth)
                fail(ErrorKind::bad_argument,
                     "The chat template is nested more than {} levels deep in line {}.", kMaxDepth,
                     parser_.now().line);
        }
        ~Deeper() { --parser_.depth_; }
        Parser& parser_;
    };

    // Statements
    // -----------------------------------------------------------------------------------------------

    /// Reads until a block tag with one of the words in `ends` begins; its word is the next token then.
    Block statements(const std::vector<std::string_view>& ends) {
        const Deeper deeper(*this);
        const int first_line = now().line;
        Block block;
        for (;;) {
            switch (now().type) {
                case TokenType::text:
                    block.push_back(make_statement(StmtKind::text));
                    block.back()->text = tokens_[at_++].text;
                    break;
                case TokenType::print_begin: {
                    block.push_back(make_statement(StmtKind::print));
                    ++at_;
                    block.back()->values.push_back(tuple_or_expression());
                    if (now().type != TokenType::print_end) wrong("'}}'");
                    ++at_;
                    break;
                }
                case TokenType::block_begin: {
                    ++at_;
                    if (now().type == TokenType::name &&
                        std::find(ends.begin(), ends.end(), now().text) != ends.end())
                        return block;
                    statement(block);
                    break;
                }
                default:
                    if (ends.empty() && now().type == TokenType::end) return block;
                    fail(ErrorKind::bad_argument,
                         "The chat template is wrong in line {}: the block that begins here is never closed "
                         "by '{}'.",
                         first_line, ends.empty() ? "" : ends.back());
            }
        }
    }

    std::unique_ptr<Stmt> make_statement(StmtKind kind) const {
        auto s = std::make_unique<Stmt>();
        s->kind = kind;
        s->line = now().line;
        return s;
    }

    Block body_until(std::string_view end) {
        expect_block_end();
        Block block = statements({end});
        ++at_;
        expect_block_end();
        return block;
    }

    void statement(Block& out) {
        const std::string word = now().type == TokenType::name ? now().text : "";
        auto s = make_statement(StmtKind::if_);
        if (word.empty()) wrong("a statement");
        if (word == "generation") {  // marks the answer for training; its contents count
            ++at_;
            Block inside = body_until("endgeneration");
            std::move(inside.begin(), inside.end(), std::back_inserter(out));
            return;
        }
        ++at_;
        if (word == "if")
            if_statement(*s);
        else if (word == "for")
            for_statement(*s);
        else if (word == "set")
            set_statement(*s);
        else if (word == "macro")
            macro_statement(*s);
        else if (word == "call")
            call_statement(*s);
        else if (word == "filter")
            filter_statement(*s);
        else if (word == "with")
            with_statement(*s);
        else if (word == "break" || word == "continue") {
            s->kind = word == "break" ? StmtKind::break_ : StmtKind::continue_;
            if (loops_ == 0) wrong(fmt::format("a for loop around '{}'", word));
            expect_block_end();
        } else {
            --at_;
            fail(ErrorKind::bad_argument,
                 "The chat template is wrong in line {}: there is no statement '{}' here.", now().line, word);
        }
        out.push_back(std::move(s));
    }

    void if_statement(Stmt& s) {
        s.values.push_back(expression());
        expect_block_end();
        for (;;) {
            s.bodies.push_back(statements({"elif", "else", "endif"}));
            const std::string word = tokens_[at_++].text;
            if (word == "elif") s.values.push_back(expression());
            expect_block_end();
            if (word == "endif") return;
            if (word != "else") continue;
            s.bodies.push_back(statements({"endif"}));
            ++at_;
            return expect_block_end();
        }
    }

    void for_statement(Stmt& s) {
        s.kind = StmtKind::for_;
        s.target = target();
        if (!take_word("in")) wrong("'in'");
        s.values.push_back(tuple_of([this] { return without_condition(); }));
        if (take_word("if")) s.filter = expression();
        if (is_word("recursive"))
            fail(ErrorKind::unsupported,
                 "The chat template uses a recursive loop in line {}, which is not supported.", now().line);
        expect_block_end();
        ++loops_;
        s.bodies.push_back(statements({"else", "endfor"}));
        --loops_;
        if (tokens_[at_++].text == "else") {
            expect_block_end();
            s.bodies.push_back(statements({"endfor"}));
            ++at_;
        }
        expect_block_end();
    }

    void set_statement(Stmt& s) {
        s.target = target();
        if (take_symbol("=")) {
            s.kind = StmtKind::set;
            s.values.push_back(tuple_or_expression());
            return expect_block_end();
        }
        s.kind = StmtKind::set_block;
        if (is_symbol("|")) s.filter = filters(nullptr);
        s.bodies.push_back(body_until("endset"));
    }

    void parameters(Stmt& s) {
        if (!take_symbol("(")) return;
        while (!take_symbol(")")) {
            if (!s.parameters.empty()) expect_symbol(",");
            if (take_symbol(")")) return;
            Parameter parameter{expect_name(), nullptr};
            if (take_symbol("=")) parameter.standard = expression();
            s.parameters.push_back(std::move(parameter));
        }
    }

    Block macro_body(std::string_view end) {
        const int loops = std::exchange(loops_, 0);
        Block block = body_until(end);
        loops_ = loops;
        return block;
    }

    void macro_statement(Stmt& s) {
        s.kind = StmtKind::macro;
        s.text = expect_name();
        parameters(s);
        s.bodies.push_back(macro_body("endmacro"));
    }

    void call_statement(Stmt& s) {
        s.kind = StmtKind::call_block;
        parameters(s);
        s.values.push_back(expression());
        if (s.values[0]->kind != ExprKind::call) wrong("a call");
        s.bodies.push_back(macro_body("endcall"));
    }

    void filter_statement(Stmt& s) {
        s.kind = StmtKind::filter_block;
        s.filter = filter_chain(nullptr);
        s.bodies.push_back(body_until("endfilter"));
    }

    void with_statement(Stmt& s) {
        s.kind = StmtKind::with;
        while (now().type != TokenType::block_end) {
            if (!s.bindings.empty()) expect_symbol(",");
            ExprPtr name = target();
            expect_symbol("=");
            s.bindings.emplace_back(std::move(name), expression());
        }
        s.bodies.push_back(body_until("endwith"));
    }

    /// A name, `namespace.attribute`, or several of them as a tuple, with or without brackets.
    ExprPtr target() {
        const auto single = [this]() -> ExprPtr {
            if (take_symbol("(")) {
                ExprPtr inner = target();
                expect_symbol(")");
                return inner;
            }
            ExprPtr e = make(ExprKind::name);
            e->text = expect_name();
            if (!take_symbol(".")) return e;
            ExprPtr attribute = make(ExprKind::attribute);
            attribute->text = expect_name();
            attribute->children.push_back(std::move(e));
            return attribute;
        };
        return tuple_of(single);
    }

    // Expressions
    // ----------------------------------------------------------------------------------------------

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
    ExprPtr tuple_or_expression() {
        return tuple_of([this] { return expression(); });
    }

    ExprPtr expression() {
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
    ExprPtr without_condition() {
        const Deeper deeper(*this);
        return or_expression();
    }

    ExprPtr or_expression() {
        ExprPtr left = and_expression();
        while (is_word("or")) {
            const int line = tokens_[at_++].line;
            left = node(ExprKind::or_, line, "", std::move(left), and_expression());
        }
        return left;
    }
    ExprPtr and_expression() {
        ExprPtr left = not_expression();
        while (is_word("and")) {
            const int line = tokens_[at_++].line;
            left = node(ExprKind::and_, line, "", std::move(left), not_expression());
        }
        return left;
    }
    ExprPtr not_expression() {
        if (!is_word("not")) return comparison();
        const Deeper deeper(*this);
        const int line = tokens_[at_++].line;
        return node(ExprKind::not_, line, "", not_expression());
    }

    ExprPtr comparison() {
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
    ExprPtr sum() {
        return left_to_right({"+", "-"}, [this] { return concatenation(); });
    }
    ExprPtr concatenation() {
        return left_to_right({"~"}, [this] { return product(); });
    }
    ExprPtr product() {
        return left_to_right({"*", "/", "//", "%"}, [this] { return power(); });
    }
    ExprPtr power() {
        return left_to_right({"**"}, [this] { return unary(true); });
    }

    ExprPtr unary(bool with_filters) {
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

    ExprPtr primary() {
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

    ExprPtr parenthesized() {
        ExprPtr empty = make(ExprKind::tuple);
        ++at_;
        if (take_symbol(")")) return empty;
        ExprPtr inner = tuple_or_expression();
        expect_symbol(")");
        return inner;
    }

    ExprPtr list() {
        ExprPtr e = make(ExprKind::list);
        ++at_;
        while (!take_symbol("]")) {
            if (!e->children.empty()) expect_symbol(",");
            if (take_symbol("]")) break;
            e->children.push_back(expression());
        }
        return e;
    }

    ExprPtr dict() {
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

    ExprPtr postfix(ExprPtr e) {
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

    ExprPtr subscript(ExprPtr object, int line) {
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

    std::vector<Argument> arguments() {
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

    ExprPtr filters(ExprPtr e) {
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
    ExprPtr one_filter(ExprPtr e) {
        const int line = now().line;
        e = node(ExprKind::filter, line, expect_name(), std::move(e));
        if (is_symbol("(")) e->arguments = arguments();
        return e;
    }
    /// The filters of `{% filter a|b %}`, where no `|` stands before the first.
    ExprPtr filter_chain(ExprPtr e) { return filters(one_filter(std::move(e))); }

    ExprPtr test(ExprPtr e) {
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

    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0;
    int loops_ = 0;  ///< for loops around the current place
};

}  // namespace

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

Block parse(std::string_view source) {
    return Parser(source).run();
}

}  // namespace powerinfer::generate::jinja
