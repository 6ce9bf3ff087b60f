// Tests: what may stand behind `is`.
#include "generate/jinja_eval.h"
#include "generate/jinja_strings.h"

namespace powerinfer::generate::jinja {

namespace {

using Args = const Arguments&;

const Value& operand(Evaluator& ev, Args arguments) {
    if (arguments.positional.size() != 1) ev.wrong("this test compares with exactly one value");
    return arguments.positional[0];
}

int64_t whole(Evaluator& ev, const Value& value) {
    if (!value.is_int() && !value.is_bool())
        ev.wrong(fmt::format("this test needs an integer, not a {}", type_name(value)));
    return value.integer();
}

bool is_same(Evaluator& ev, const Value& a, Args arguments) {
    const Value& b = operand(ev, arguments);
    if (a.container() != nullptr) return a.container() == b.container();
    return type_name(a) == type_name(b) && ev.equal(a, b);
}

struct Row {
    std::string_view name;
    Test function;
};

constexpr Row kTests[] = {
    {"!=", [](Evaluator& ev, const Value& v, Args a) { return !ev.equal(v, operand(ev, a)); }},
    {"<", [](Evaluator& ev, const Value& v, Args a) { return ev.less(v, operand(ev, a)); }},
    {"<=", [](Evaluator& ev, const Value& v, Args a) { return !ev.less(operand(ev, a), v); }},
    {"==", [](Evaluator& ev, const Value& v, Args a) { return ev.equal(v, operand(ev, a)); }},
    {">", [](Evaluator& ev, const Value& v, Args a) { return ev.less(operand(ev, a), v); }},
    {">=", [](Evaluator& ev, const Value& v, Args a) { return !ev.less(v, operand(ev, a)); }},
    {"boolean", [](Evaluator&, const Value& v, Args) { return v.is_bool(); }},
    {"callable", [](Evaluator&, const Value& v, Args) { return v.is_callable(); }},
    {"defined", [](Evaluator&, const Value& v, Args) { return !v.is_undefined(); }},
    {"divisibleby",
     [](Evaluator& ev, const Value& v, Args a) { return !is_true(ev.binary("%", v, operand(ev, a))); }},
    {"eq", [](Evaluator& ev, const Value& v, Args a) { return ev.equal(v, operand(ev, a)); }},
    {"equalto", [](Evaluator& ev, const Value& v, Args a) { return ev.equal(v, operand(ev, a)); }},
    {"even", [](Evaluator& ev, const Value& v, Args) { return whole(ev, v) % 2 == 0; }},
    {"false", [](Evaluator&, const Value& v, Args) { return v.is_bool() && !v.boolean(); }},
    {"filter",
     [](Evaluator&, const Value& v, Args) { return v.is_string() && find_filter(v.string()) != nullptr; }},
    {"float", [](Evaluator&, const Value& v, Args) { return v.is_float(); }},
    {"ge", [](Evaluator& ev, const Value& v, Args a) { return !ev.less(v, operand(ev, a)); }},
    {"greaterthan", [](Evaluator& ev, const Value& v, Args a) { return ev.less(operand(ev, a), v); }},
    {"gt", [](Evaluator& ev, const Value& v, Args a) { return ev.less(operand(ev, a), v); }},
    {"in", [](Evaluator& ev, const Value& v, Args a) { return ev.contains(operand(ev, a), v); }},
    {"integer", [](Evaluator&, const Value& v, Args) { return v.is_int(); }},
    // An undefined value can be gone through as well: it has no items.
    {"iterable", [](Evaluator&, const Value& v,
                    Args) { return v.container() != nullptr || v.is_string() || v.is_undefined(); }},
    {"le", [](Evaluator& ev, const Value& v, Args a) { return !ev.less(operand(ev, a), v); }},
    {"lessthan", [](Evaluator& ev, const Value& v, Args a) { return ev.less(v, operand(ev, a)); }},
    {"lower", [](Evaluator& ev, const Value& v, Args) { return ev.text(v) == lower(ev.text(v)); }},
    {"lt", [](Evaluator& ev, const Value& v, Args a) { return ev.less(v, operand(ev, a)); }},
    {"mapping", [](Evaluator&, const Value& v, Args) { return v.is_dict() && !v.dict().is_namespace; }},
    {"ne", [](Evaluator& ev, const Value& v, Args a) { return !ev.equal(v, operand(ev, a)); }},
    {"none", [](Evaluator&, const Value& v, Args) { return v.is_none(); }},
    {"number", [](Evaluator&, const Value& v, Args) { return v.is_number(); }},
    {"odd", [](Evaluator& ev, const Value& v, Args) { return whole(ev, v) % 2 != 0; }},
    {"sameas", is_same},
    {"sequence", [](Evaluator&, const Value& v,
                    Args) { return v.container() != nullptr || v.is_string() || v.is_undefined(); }},
    {"string", [](Evaluator&, const Value& v, Args) { return v.is_string(); }},
    {"test",
     [](Evaluator&, const Value& v, Args) { return v.is_string() && find_test(v.string()) != nullptr; }},
    {"true", [](Evaluator&, const Value& v, Args) { return v.is_bool() && v.boolean(); }},
    {"undefined", [](Evaluator&, const Value& v, Args) { return v.is_undefined(); }},
    {"upper", [](Evaluator& ev, const Value& v, Args) { return ev.text(v) == upper(ev.text(v)); }},
};

}  // namespace

Test find_test(std::string_view name) {
    for (const Row& row : kTests)
        if (row.name == name) return row.function;
    return nullptr;
}

}  // namespace powerinfer::generate::jinja
