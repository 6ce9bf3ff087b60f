// What operators and printing do with values: Python's rules, with three indulgences that chat templates rely
// on elsewhere: none or undefined + string is the string, two loop targets over a dict give keys and values,
// and a loop over none has no items.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "generate/code_points.h"
#include "generate/jinja_eval.h"

namespace powerinfer::generate::jinja {

namespace {

constexpr int kMaxNesting = 200;  ///< of lists and dicts, for printing and comparing

std::string quoted_text(const std::string& s) {
    const char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : s) {
        if (c == quote || c == '\\')
            (out += '\\') += c;
        else if (c == '\n')
            out += "\\n";
        else if (c == '\r')
            out += "\\r";
        else if (c == '\t')
            out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + quote;
}

/// Numbers in Python's order of results: an integer unless one of them is a float.
struct Numbers {
    bool floating;
    int64_t a = 0, b = 0;
    double x = 0, y = 0;
    Numbers(const Value& left, const Value& right) : floating(left.is_float() || right.is_float()) {
        x = left.number();
        y = right.number();
        if (floating) return;
        a = left.integer();
        b = right.integer();
    }
};

double floor_mod(double x, double y) {
    const double r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

Value repeated(Evaluator& ev, const Value& value, int64_t n) {
    const auto times = static_cast<size_t>(std::max<int64_t>(n, 0));
    const size_t size = value.is_string() ? value.string().size() : value.list().items.size();
    size_t total = 0;
    const size_t bytes = value.is_string() ? size : size * sizeof(Value);
    ev.charge(__builtin_mul_overflow(times, bytes, &total) ? SIZE_MAX : total);
    if (size == 0) return value;
    if (value.is_string()) {
        std::string out;
        for (size_t i = 0; i < times; ++i) out += value.string();
        return Value(std::move(out));
    }
    std::vector<Value> out;
    for (size_t i = 0; i < times; ++i)
        out.insert(out.end(), value.list().items.begin(), value.list().items.end());
    return make_list(std::move(out), value.list().is_tuple);
}

Value arithmetic(Evaluator& ev, std::string_view op, const Numbers& n) {
    int64_t result = 0;
    const auto whole = [&](bool overflow) {
        if (overflow) ev.wrong(fmt::format("the result of '{}' does not fit 64 bits", op));
        return Value(result);
    };
    if (op == "+") return n.floating ? Value(n.x + n.y) : whole(__builtin_add_overflow(n.a, n.b, &result));
    if (op == "-") return n.floating ? Value(n.x - n.y) : whole(__builtin_sub_overflow(n.a, n.b, &result));
    if (op == "*") return n.floating ? Value(n.x * n.y) : whole(__builtin_mul_overflow(n.a, n.b, &result));
    if (op == "**") {
        const double power = std::pow(n.x, n.y);
        if (n.floating || n.b < 0) return Value(power);
        result = std::abs(power) < 0x1p53 ? static_cast<int64_t>(power) : 0;
        return whole(!(std::abs(power) < 0x1p53));
    }
    if (n.y == 0) ev.wrong("division by zero");
    if (op == "/") return Value(n.x / n.y);
    if (n.floating) return Value(op == "//" ? std::floor(n.x / n.y) : floor_mod(n.x, n.y));
    if (n.b == -1)
        return op == "//" ? whole(__builtin_sub_overflow(int64_t{0}, n.a, &result)) : Value(int64_t{0});
    const int64_t remainder = n.a % n.b;
    const bool adjust = remainder != 0 && (remainder < 0) != (n.b < 0);
    if (op == "//") return Value(n.a / n.b - (adjust ? 1 : 0));
    return Value(adjust ? remainder + n.b : remainder);
}

}  // namespace

std::string float_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    const std::string scientific(buffer, end);
    const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
    if (exponent < -4 || exponent >= 16) return scientific;
    const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
    std::string fixed(buffer, fixed_end);
    if (fixed.find('.') == std::string::npos) fixed += ".0";
    return fixed;
}

void Evaluator::append_text(std::string& out, const Value& value, bool quoted, int depth) {
    if (depth > kMaxNesting) wrong(fmt::format("a value is nested more than {} deep", kMaxNesting));
    const size_t before = out.size();
    if (value.is_none())
        out += "None";
    else if (value.is_bool())
        out += value.boolean() ? "True" : "False";
    else if (value.is_int())
        out += std::to_string(value.integer());
    else if (value.is_float())
        out += float_text(value.number());
    else if (value.is_string())
        out += quoted ? quoted_text(value.string()) : value.string();
    else if (value.is_undefined())
        out += quoted ? "Undefined" : "";
    else if (value.is_callable())
        out += fmt::format("<function {}>", value.callable().name);
    charge(out.size() - before);
    if (value.is_list()) {
        const List& list = value.list();
        out += list.is_tuple ? '(' : '[';
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) out += ", ";
            append_text(out, list.items[i], true, depth + 1);
        }
        if (list.is_tuple && list.items.size() == 1) out += ',';
        out += list.is_tuple ? ')' : ']';
    } else if (value.is_dict()) {
        out += '{';
        for (const auto& [key, item_value] : value.dict().items) {
            if (&key != &value.dict().items.front().first) out += ", ";
            append_text(out, key, true, depth + 1);
            out += ": ";
            append_text(out, item_value, true, depth + 1);
        }
        out += '}';
    }
    if (out.size() > limits_.output) charge(out.size());
}

std::string Evaluator::text(const Value& value) {
    std::string out;
    append_text(out, value, false, 0);
    return out;
}

std::vector<Value> Evaluator::items(const Value& value) {
    std::vector<Value> out;
    if (value.is_list()) {
        charge_items(value.list().items.size());
        out = value.list().items;
    } else if (value.is_dict()) {
        charge_items(value.dict().items.size());
        for (const auto& entry : value.dict().items) out.push_back(entry.first);
    } else if (value.is_string()) {
        charge_items(value.string().size());
        for (const std::string_view letter : split_code_points(value.string())) out.emplace_back(letter);
    } else if (!value.is_undefined()) {
        wrong(fmt::format("a {} has no items to go through", type_name(value)));
    }
    return out;
}

bool Evaluator::equal(const Value& a, const Value& b) {
    const Deeper deeper(*this);
    charge(0);
    if (a.is_number() && b.is_number()) {
        if (!a.is_float() && !b.is_float()) return a.integer() == b.integer();
        return a.number() == b.number();
    }
    if (a.is_string() && b.is_string()) {
        charge(std::min(a.string().size(), b.string().size()));
        return a.string() == b.string();
    }
    if (a.is_none() || a.is_undefined())
        return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
    if (a.is_list() && b.is_list()) {
        const auto &x = a.list().items, &y = b.list().items;
        if (a.list().is_tuple != b.list().is_tuple || x.size() != y.size()) return false;
        for (size_t i = 0; i < x.size(); ++i)
            if (!equal(x[i], y[i])) return false;
        return true;
    }
    if (a.is_dict() && b.is_dict()) {
        if (a.container() == b.container()) return true;
        const auto &x = a.dict().items, &y = b.dict().items;
        if (x.size() != y.size() || a.dict().is_namespace || b.dict().is_namespace) return false;
        for (const auto& [key, value] : x) {
            bool found = false;
            for (size_t i = 0; i < y.size() && !found; ++i)
                found = equal(key, y[i].first) && equal(value, y[i].second);
            if (!found) return false;
        }
        return true;
    }
    return a.is_callable() && b.is_callable() && &a.callable() == &b.callable();
}

bool Evaluator::less(const Value& a, const Value& b) {
    const Deeper deeper(*this);
    charge(0);
    if (a.is_number() && b.is_number()) {
        if (!a.is_float() && !b.is_float()) return a.integer() < b.integer();
        // NaN first, so that sorting has an order to rely on.
        if (std::isnan(a.number()) || std::isnan(b.number()))
            return std::isnan(a.number()) && !std::isnan(b.number());
        return a.number() < b.number();
    }
    if (a.is_string() && b.is_string()) return a.string() < b.string();
    if (a.is_list() && b.is_list()) {
        const auto &x = a.list().items, &y = b.list().items;
        for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
            if (!equal(x[i], y[i])) return less(x[i], y[i]);
        return x.size() < y.size();
    }
    wrong(fmt::format("a {} and a {} have no order", type_name(a), type_name(b)));
}

bool Evaluator::contains(const Value& container, const Value& wanted) {
    if (container.is_string()) {
        if (!wanted.is_string()) wrong(fmt::format("a string cannot contain a {}", type_name(wanted)));
        charge(container.string().size());
        return container.string().find(wanted.string()) != std::string::npos;
    }
    if (container.is_list()) {
        for (const Value& value : container.list().items)
            if (equal(value, wanted)) return true;
        return false;
    }
    if (container.is_dict()) {
        for (const auto& entry : container.dict().items)
            if (equal(entry.first, wanted)) return true;
        return false;
    }
    if (container.is_undefined()) return false;
    wrong(fmt::format("a {} cannot contain anything", type_name(container)));
}

void Evaluator::find_cycle(const void* container, const Value& value, int depth) {
    if (value.container() == nullptr) return;
    charge(0);
    if (value.container() == container) wrong("a list, dict or namespace cannot hold itself");
    if (depth > kMaxNesting) wrong(fmt::format("a value is nested more than {} deep", kMaxNesting));
    if (value.is_list()) {
        for (const Value& inner : value.list().items) find_cycle(container, inner, depth + 1);
    } else {
        for (const auto& entry : value.dict().items) find_cycle(container, entry.second, depth + 1);
    }
}

void Evaluator::check_no_cycle(const Value& container, const Value& value) {
    find_cycle(container.container(), value, 0);
}

Value Evaluator::binary(std::string_view op, const Value& a, const Value& b) {
    if (op == "~") {
        std::string joined = text(a) + text(b);
        charge(joined.size());
        return Value(std::move(joined));
    }
    if (op == "%" && a.is_string()) {
        const bool many = b.is_list() && b.list().is_tuple;
        return Value(percent_format(*this, a.string(), many ? b.list().items : std::vector<Value>{b}));
    }
    if (a.is_number() && b.is_number()) return arithmetic(*this, op, Numbers(a, b));
    if (op == "+") {
        const bool left_empty = a.is_none() || a.is_undefined(),
                   right_empty = b.is_none() || b.is_undefined();
        if ((a.is_string() || left_empty) && (b.is_string() || right_empty) && !(left_empty && right_empty)) {
            if (left_empty) return b;
            if (right_empty) return a;
            charge(a.string().size() + b.string().size());
            return Value(a.string() + b.string());
        }
        if (a.is_list() && b.is_list()) {
            std::vector<Value> joined = items(a);
            for (Value& value : items(b)) joined.push_back(std::move(value));
            charge_items(joined.size());
            return make_list(std::move(joined), a.list().is_tuple);
        }
    }
    if (op == "*" && b.is_int() && (a.is_string() || a.is_list())) return repeated(*this, a, b.integer());
    if (op == "*" && a.is_int() && (b.is_string() || b.is_list())) return repeated(*this, b, a.integer());
    if (a.is_undefined()) wrong(a.undefined_name());
    if (b.is_undefined()) wrong(b.undefined_name());
    wrong(fmt::format("'{}' cannot be applied to a {} and a {}", op, type_name(a), type_name(b)));
}

}  // namespace powerinfer::generate::jinja
