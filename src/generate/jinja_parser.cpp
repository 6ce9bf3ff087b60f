#include "generate/jinja_parser.h"

#include "generate/jinja_expressions.h"

namespace powerinfer::generate::jinja {

namespace {

class Parser : public ExpressionParser {
  public:
    using ExpressionParser::ExpressionParser;

    Block run() { return statements({}); }

  private:
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

    int loops_ = 0;  ///< for loops around the current place
};

}  // namespace

Block parse(std::string_view source) {
    return Parser(source).run();
}

}  // namespace powerinfer::generate::jinja
