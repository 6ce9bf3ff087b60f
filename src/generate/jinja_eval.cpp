#include "generate/jinja_eval.h"

#include <algorithm>

#include "base/error.h"
#include "generate/code_points.h"

namespace powerinfer::generate::jinja {

Evaluator::Deeper::Deeper(Evaluator& evaluator) : evaluator_(evaluator) {
    if (++evaluator_.depth_ <= evaluator_.limits_.depth) return;
    --evaluator_.depth_;
    evaluator_.wrong(
        fmt::format("calls and expressions are nested more than {} deep", evaluator_.limits_.depth));
}

void Evaluator::wrong(std::string_view sentence) const {
    fail(ErrorKind::bad_argument, "The chat template failed in line {}: {}.", line_, sentence);
}

void Evaluator::refuse(std::string_view message) const {
    fail(ErrorKind::bad_argument, "The chat template refuses this conversation (line {}): {}", line_,
         message);
}

void Evaluator::charge(size_t n) {
    if (n > limits_.output)
        wrong(fmt::format("a result of {} bytes is beyond the limit of {}", n, limits_.output));
    steps_ += 1 + n / 64;
    if (steps_ > limits_.steps) wrong(fmt::format("it needs more than {} steps", limits_.steps));
}

void Evaluator::charge_items(size_t n) {
    size_t bytes = 0;
    charge(__builtin_mul_overflow(n, sizeof(Value), &bytes) ? SIZE_MAX : bytes);
}

Value Evaluator::eval(const Expr& e) {
    const Deeper deeper(*this);
    charge(0);
    line_ = e.line;
    const auto child = [&](size_t i) { return eval(*e.children[i]); };
    switch (e.kind) {
        case ExprKind::constant:
            return e.constant;
        case ExprKind::name:
            return eval_name(e);
        case ExprKind::list:
        case ExprKind::tuple: {
            std::vector<Value> values;
            for (const ExprPtr& c : e.children) values.push_back(eval(*c));
            return make_list(std::move(values), e.kind == ExprKind::tuple);
        }
        case ExprKind::dict:
            return eval_dict(e);
        case ExprKind::attribute: {
            const Value object = child(0);
            line_ = e.line;
            return attribute(object, e.text);
        }
        case ExprKind::item: {
            const Value object = child(0);
            const Value key = child(1);
            line_ = e.line;
            return item(object, key);
        }
        case ExprKind::slice:
            return eval_slice(e);
        case ExprKind::call: {
            const Value callee = child(0);
            const Arguments arguments = eval_arguments(e.arguments);
            line_ = e.line;
            return call(callee, arguments);
        }
        case ExprKind::filter: {
            const Value value = e.children[0] ? child(0) : scope_->variables.find(kBody)->second;
            const Arguments arguments = eval_arguments(e.arguments);
            line_ = e.line;
            return filter(e.text, value, arguments);
        }
        case ExprKind::test: {
            const Value value = child(0);
            const Arguments arguments = eval_arguments(e.arguments);
            line_ = e.line;
            return Value(test(e.text, value, arguments));
        }
        case ExprKind::negate:
            return binary("-", Value(int64_t{0}), child(0));
        case ExprKind::plus:
            return binary("+", Value(int64_t{0}), child(0));
        case ExprKind::not_:
            return Value(!is_true(child(0)));
        case ExprKind::and_: {
            Value left = child(0);
            return is_true(left) ? child(1) : left;
        }
        case ExprKind::or_: {
            Value left = child(0);
            return is_true(left) ? left : child(1);
        }
        case ExprKind::binary: {
            const Value left = child(0);
            const Value right = child(1);
            line_ = e.line;
            return binary(e.text, left, right);
        }
        case ExprKind::compare:
            return eval_compare(e);
        case ExprKind::conditional:
            if (is_true(child(0))) return child(1);
            return e.children[2] ? child(2)
                                 : Value(Undefined{"the condition is false and there is no 'else'"});
    }
    return {};
}

Value Evaluator::eval_name(const Expr& e) const {
    for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent)
        if (const auto found = scope->variables.find(e.text); found != scope->variables.end())
            return found->second;
    if (const Value* input = inputs_->find(e.text)) return *input;
    return find_global(e.text);
}

Value Evaluator::eval_dict(const Expr& e) {
    Value value = make_dict();
    auto& entries = value.dict().items;
    for (size_t i = 0; i < e.children.size(); i += 2) {
        Value key = eval(*e.children[i]);
        Value item_value = eval(*e.children[i + 1]);
        if (key.container() != nullptr)
            wrong(fmt::format("a {} cannot be the key of a dict", type_name(key)));
        const auto same = std::find_if(entries.begin(), entries.end(),
                                       [&](auto& entry) { return equal(entry.first, key); });
        if (same != entries.end())
            same->second = std::move(item_value);
        else
            entries.emplace_back(std::move(key), std::move(item_value));
    }
    return value;
}

Value Evaluator::eval_compare(const Expr& e) {
    Value left = eval(*e.children[0]);
    for (size_t i = 0; i < e.operators.size(); ++i) {
        Value right = eval(*e.children[i + 1]);
        line_ = e.line;
        const std::string& op = e.operators[i];
        bool holds = false;
        if (op == "==")
            holds = equal(left, right);
        else if (op == "!=")
            holds = !equal(left, right);
        else if (op == "in")
            holds = contains(right, left);
        else if (op == "not in")
            holds = !contains(right, left);
        else if (op == "<")
            holds = less(left, right);
        else if (op == ">")
            holds = less(right, left);
        else if (op == "<=")
            holds = less(left, right) || equal(left, right);
        else
            holds = less(right, left) || equal(left, right);
        if (!holds) return Value(false);
        left = std::move(right);
    }
    return Value(true);
}

Value Evaluator::eval_slice(const Expr& e) {
    const Value object = eval(*e.children[0]);
    std::optional<int64_t> part[3];
    for (size_t i = 0; i < 3; ++i) {
        if (!e.children[i + 1]) continue;
        const Value value = eval(*e.children[i + 1]);
        line_ = e.line;
        if (value.is_none()) continue;
        if (!value.is_int()) wrong(fmt::format("a slice needs integers, not a {}", type_name(value)));
        part[i] = value.integer();
    }
    line_ = e.line;
    const int64_t step = part[2].value_or(1);
    if (step == 0) wrong("the step of a slice is 0");
    if (!object.is_string() && !object.is_list())
        wrong(fmt::format("a {} cannot be sliced", type_name(object)));

    std::vector<std::string_view> letters;
    if (object.is_string()) letters = split_code_points(object.string());
    const auto n = static_cast<int64_t>(object.is_string() ? letters.size() : object.list().items.size());
    const auto bound = [&](std::optional<int64_t> given, int64_t standard) {
        if (!given) return standard;
        const int64_t at = *given < 0 ? *given + n : *given;
        return step > 0 ? std::clamp<int64_t>(at, 0, n) : std::clamp<int64_t>(at, -1, n - 1);
    };
    const int64_t begin = bound(part[0], step > 0 ? 0 : n - 1);
    const int64_t end = bound(part[1], step > 0 ? n : -1);
    object.is_string() ? charge(object.string().size()) : charge_items(static_cast<size_t>(n));
    std::string text_result;
    std::vector<Value> list_result;
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
        if (object.is_string())
            text_result += letters[static_cast<size_t>(i)];
        else
            list_result.push_back(object.list().items[static_cast<size_t>(i)]);
        // The next place may lie beyond 64 bits; it then lies beyond the end as well.
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    if (object.is_string()) return Value(std::move(text_result));
    return make_list(std::move(list_result), object.list().is_tuple);
}

Arguments Evaluator::eval_arguments(const std::vector<Argument>& arguments) {
    Arguments result;
    for (const Argument& argument : arguments) {
        Value value = eval(*argument.value);
        if (argument.spread) {
            for (Value& part : items(value)) result.positional.push_back(std::move(part));
        } else if (argument.keyword.empty()) {
            result.positional.push_back(std::move(value));
        } else {
            result.keywords.emplace_back(argument.keyword, std::move(value));
        }
    }
    return result;
}

Value Evaluator::call(const Value& callee, const Arguments& arguments) {
    if (callee.is_undefined()) wrong(callee.undefined_name());
    if (!callee.is_callable()) wrong(fmt::format("a {} cannot be called", type_name(callee)));
    return callee.callable().call(*this, arguments);
}

Value Evaluator::filter(std::string_view name, const Value& value, const Arguments& arguments) {
    const Filter found = find_filter(name);
    if (found == nullptr) wrong(fmt::format("there is no filter '{}'", name));
    return found(*this, value, arguments);
}

bool Evaluator::test(std::string_view name, const Value& value, const Arguments& arguments) {
    const Test found = find_test(name);
    if (found == nullptr) wrong(fmt::format("there is no test '{}'", name));
    return found(*this, value, arguments);
}

Value Evaluator::attribute(const Value& object, std::string_view name) {
    if (object.is_undefined()) wrong(object.undefined_name());
    if (const Filter method = find_method(object, name)) {
        return make_callable(std::string(name),
                             [object, method](Evaluator& evaluator, const Arguments& arguments) {
                                 return method(evaluator, object, arguments);
                             });
    }
    if (object.is_dict())
        if (const Value* value = object.dict().find(name)) return *value;
    return Value(Undefined{fmt::format("a {} has no attribute '{}'", type_name(object), name)});
}

Value Evaluator::item(const Value& object, const Value& key) {
    if (object.is_undefined()) wrong(object.undefined_name());
    if (object.is_dict()) {
        for (const auto& [k, v] : object.dict().items)
            if (equal(k, key)) return v;
    } else if (key.is_int() && (object.is_list() || object.is_string())) {
        std::vector<std::string_view> letters;
        if (object.is_string()) {
            charge(object.string().size());
            letters = split_code_points(object.string());
        }
        const auto n = static_cast<int64_t>(object.is_string() ? letters.size() : object.list().items.size());
        const int64_t at = key.integer() < 0 ? key.integer() + n : key.integer();
        if (at >= 0 && at < n)
            return object.is_string() ? Value(letters[static_cast<size_t>(at)])
                                      : object.list().items[static_cast<size_t>(at)];
        return Value(
            Undefined{fmt::format("a {} of {} has no item {}", type_name(object), n, key.integer())});
    }
    if (key.is_string()) return attribute(object, key.string());
    return Value(Undefined{fmt::format("a {} has no item of this kind", type_name(object))});
}

}  // namespace powerinfer::generate::jinja
