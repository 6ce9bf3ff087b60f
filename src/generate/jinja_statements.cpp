// The statements of a template: output, branches, loops, assignments, macros. Expressions are in
// jinja_eval.cpp.
#include <algorithm>

#include "generate/jinja_eval.h"

namespace powerinfer::generate::jinja {

/// A new scope for the life of the guard, below `parent`.
class Evaluator::ScopeGuard {
  public:
    ScopeGuard(Evaluator& evaluator, Scope* parent)
        : evaluator_(evaluator), before_(evaluator.scope_), scope_(std::make_unique<Scope>()) {
        scope_->parent = parent;
        evaluator_.scope_ = scope_.get();
    }
    ~ScopeGuard() {
        evaluator_.scope_ = before_;
        if (scope_->captured) evaluator_.captured_.push_back(std::move(scope_));
    }

  private:
    Evaluator& evaluator_;
    Scope* before_;
    std::unique_ptr<Scope> scope_;
};

std::string Evaluator::run(const Block& template_body, const Value& variables) {
    std::string result;
    steps_ = 0;
    out_ = &result;
    inputs_ = &variables.dict();
    {
        const ScopeGuard root(*this, nullptr);
        run_block(template_body);
    }
    captured_.clear();
    return result;
}

void Evaluator::emit(std::string_view text) {
    charge(out_->size() + text.size() > limits_.output ? out_->size() + text.size() : text.size());
    *out_ += text;
}

std::string Evaluator::rendered(const Block& block) {
    std::string text;
    std::string* const before = std::exchange(out_, &text);
    const struct Restore {
        std::string*& out;
        std::string* before;
        ~Restore() { out = before; }
    } restore{out_, before};
    run_block(block);
    return text;
}

/// Applies the filters of a block tag, whose first one has no expression in front of it.
Value Evaluator::filtered(const Expr& filters, std::string body) {
    const ScopeGuard scope(*this, scope_);
    scope_->variables[std::string(kBody)] = Value(std::move(body));
    return eval(filters);
}

Evaluator::Flow Evaluator::run_block(const Block& block) {
    const Deeper deeper(*this);
    for (const auto& statement : block)
        if (const Flow flow = run_statement(*statement); flow != Flow::normal) return flow;
    return Flow::normal;
}

Evaluator::Flow Evaluator::run_statement(const Stmt& s) {
    line_ = s.line;
    switch (s.kind) {
        case StmtKind::text:
            emit(s.text);
            break;
        case StmtKind::print:
            emit(text(eval(*s.values[0])));
            break;
        case StmtKind::if_:
            return run_if(s);
        case StmtKind::for_:
            return run_for(s);
        case StmtKind::set:
            assign(*s.target, eval(*s.values[0]));
            break;
        case StmtKind::set_block: {
            std::string body;
            {
                const ScopeGuard scope(*this, scope_);
                body = rendered(s.bodies[0]);
            }
            assign(*s.target, s.filter ? filtered(*s.filter, std::move(body)) : Value(std::move(body)));
            break;
        }
        case StmtKind::macro:
            scope_->variables[s.text] = make_macro(s);
            break;
        case StmtKind::call_block:
            run_call(s);
            break;
        case StmtKind::filter_block: {
            const ScopeGuard scope(*this, scope_);
            emit(text(filtered(*s.filter, rendered(s.bodies[0]))));
            break;
        }
        case StmtKind::with: {
            std::vector<Value> values;
            for (const auto& binding : s.bindings) values.push_back(eval(*binding.second));
            const ScopeGuard scope(*this, scope_);
            for (size_t i = 0; i < values.size(); ++i) assign(*s.bindings[i].first, values[i]);
            return run_block(s.bodies[0]);
        }
        case StmtKind::break_:
            return Flow::break_;
        case StmtKind::continue_:
            return Flow::continue_;
    }
    return Flow::normal;
}

Evaluator::Flow Evaluator::run_if(const Stmt& s) {
    for (size_t i = 0; i < s.values.size(); ++i)
        if (is_true(eval(*s.values[i]))) return run_block(s.bodies[i]);
    return s.bodies.size() > s.values.size() ? run_block(s.bodies.back()) : Flow::normal;
}

Evaluator::Flow Evaluator::run_for(const Stmt& s) {
    const Value source = eval(*s.values[0]);
    std::vector<Value> all;
    const bool wants_pairs = s.target->kind == ExprKind::tuple && s.target->children.size() == 2;
    if (source.is_dict() && wants_pairs) {
        for (const auto& [key, value] : source.dict().items) all.push_back(make_list({key, value}, true));
        charge_items(all.size());
    } else if (!source.is_none()) {
        all = items(source);
    }
    if (s.filter) {
        std::vector<Value> kept;
        for (Value& value : all) {
            const ScopeGuard scope(*this, scope_);
            assign(*s.target, value);
            if (is_true(eval(*s.filter))) kept.push_back(std::move(value));
        }
        all = std::move(kept);
    }
    if (all.empty()) {
        if (s.bodies.size() < 2) return Flow::normal;
        const ScopeGuard scope(*this, scope_);
        return run_block(s.bodies[1]);
    }
    const auto n = static_cast<int64_t>(all.size());
    for (int64_t i = 0; i < n; ++i) {
        charge(512);  // the loop variable is a dict of its own
        const ScopeGuard scope(*this, scope_);
        const auto place = static_cast<size_t>(i);
        Value loop = make_dict();
        Dict& fields = loop.dict();
        const auto field = [&](const char* name, Value value) {
            fields.items.emplace_back(Value(name), std::move(value));
        };
        field("index", Value(i + 1));
        field("index0", Value(i));
        field("revindex", Value(n - i));
        field("revindex0", Value(n - i - 1));
        field("first", Value(i == 0));
        field("last", Value(i == n - 1));
        field("length", Value(n));
        field("previtem", i > 0 ? all[place - 1] : Value(Undefined{"there is no previous item"}));
        field("nextitem", i + 1 < n ? all[place + 1] : Value(Undefined{"there is no next item"}));
        scope_->variables["loop"] = std::move(loop);
        assign(*s.target, all[place]);
        if (run_block(s.bodies[0]) == Flow::break_) break;
        line_ = s.line;
    }
    return Flow::normal;
}

void Evaluator::assign(const Expr& target, const Value& value) {
    line_ = target.line;
    if (target.kind == ExprKind::name) {
        scope_->variables[target.text] = value;
        return;
    }
    if (target.kind == ExprKind::attribute) {
        const Value object = eval(*target.children[0]);
        if (!object.is_dict() || !object.dict().is_namespace)
            wrong(fmt::format("only attributes of a namespace can be set, not '{}' of a {}", target.text,
                              type_name(object)));
        check_no_cycle(object, value);
        object.dict().set(target.text, value);
        return;
    }
    const std::vector<Value> parts = items(value);
    if (parts.size() != target.children.size())
        wrong(fmt::format("{} values cannot be given to {} names", parts.size(), target.children.size()));
    for (size_t i = 0; i < parts.size(); ++i) assign(*target.children[i], parts[i]);
}

void Evaluator::run_call(const Stmt& s) {
    const Expr& call_expression = *s.values[0];
    const Value callee = eval(*call_expression.children[0]);
    Arguments arguments = eval_arguments(call_expression.arguments);
    arguments.keywords.emplace_back("caller", make_macro(s));
    emit(text(call(callee, arguments)));
}

Value Evaluator::make_macro(const Stmt& s) {
    for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent)
        scope->captured = true;
    Scope* const home = scope_;
    return make_callable(s.text, [&s, home](Evaluator& evaluator, const Arguments& arguments) {
        return evaluator.call_macro(s, home, arguments);
    });
}

Value Evaluator::call_macro(const Stmt& s, Scope* home, const Arguments& arguments) {
    const Deeper deeper(*this);
    const int line = line_;
    const ScopeGuard scope(*this, home);
    if (arguments.positional.size() > s.parameters.size())
        wrong(fmt::format("the macro '{}' takes {} arguments, not {}", s.text, s.parameters.size(),
                          arguments.positional.size()));
    auto& variables = scope_->variables;
    for (size_t i = 0; i < arguments.positional.size(); ++i)
        variables[s.parameters[i].name] = arguments.positional[i];
    for (const auto& keyword : arguments.keywords) {
        const std::string& name = keyword.first;
        const bool known =
            name == "caller" || std::any_of(s.parameters.begin(), s.parameters.end(),
                                            [&n = name](const Parameter& p) { return p.name == n; });
        if (!known) wrong(fmt::format("the macro '{}' has no parameter '{}'", s.text, name));
        variables[name] = keyword.second;
    }
    for (const Parameter& p : s.parameters)
        if (variables.find(p.name) == variables.end())
            variables[p.name] =
                p.standard ? eval(*p.standard)
                           : Value(Undefined{fmt::format("the parameter '{}' was not given", p.name)});
    Value result(rendered(s.bodies[0]));
    line_ = line;
    return result;
}

}  // namespace powerinfer::generate::jinja
