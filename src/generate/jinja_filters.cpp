// Filters: what may stand behind `|`.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "generate/code_points.h"
#include "generate/jinja_eval.h"
#include "generate/jinja_strings.h"

namespace powerinfer::generate::jinja {

namespace {

using Args = const Arguments&;

bool missing(const Value& value) {
    return value.is_undefined() || value.is_none();
}

int64_t integer_or(Evaluator& ev, std::string_view filter, const Value& value, int64_t standard) {
    if (missing(value)) return standard;
    if (!value.is_int())
        ev.wrong(fmt::format("the filter '{}' needs an integer, not a {}", filter, type_name(value)));
    return value.integer();
}

/// "a.b.0": attributes and items, one after another.
Value path(Evaluator& ev, Value object, const Value& where) {
    if (!where.is_string()) return ev.item(object, where);
    for (const std::string_view part : split_at(where.string(), ".", -1, false)) {
        int64_t place = 0;
        const auto number = std::from_chars(part.data(), part.data() + part.size(), place);
        const bool whole = number.ec == std::errc() && number.ptr == part.data() + part.size();
        object = ev.item(object, whole ? Value(place) : Value(part));
    }
    return object;
}

/// A string method as a filter: the value is made a string first.
template <char kName>
Value through_text(Evaluator& ev, const Value& self, Args arguments) {
    constexpr std::string_view kMethod = kName == 'u'   ? "upper"
                                         : kName == 'l' ? "lower"
                                         : kName == 't' ? "title"
                                         : kName == 'c' ? "capitalize"
                                         : kName == 's' ? "strip"
                                         : kName == 'L' ? "lstrip"
                                         : kName == 'R' ? "rstrip"
                                         : kName == 'r' ? "replace"
                                         : kName == 'p' ? "split"
                                         : kName == 'b' ? "startswith"
                                                        : "endswith";
    const Value text(ev.text(self));
    return find_method(text, kMethod)(ev, text, arguments);
}

Value text_filter(Evaluator& ev, const Value& self, Args) {
    return Value(ev.text(self));
}
Value escape(Evaluator& ev, const Value& self, Args) {
    const std::string text = ev.text(self);
    ev.charge(text.size() * 5);
    return Value(html_escaped(text));
}

Value length(Evaluator& ev, const Value& self, Args) {
    if (self.is_string()) {
        ev.charge(self.string().size());
        return Value(static_cast<int64_t>(count_code_points(self.string())));
    }
    if (self.is_list()) return Value(static_cast<int64_t>(self.list().items.size()));
    if (self.is_dict()) return Value(static_cast<int64_t>(self.dict().items.size()));
    if (self.is_undefined()) return Value(int64_t{0});
    ev.wrong(fmt::format("a {} has no length", type_name(self)));
}

Value standard_value(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "default", arguments, {"default_value", "boolean"});
    const bool use = self.is_undefined() || (is_true(a[1]) && !is_true(self));
    return !use ? self : a[0].is_undefined() ? Value("") : a[0];
}

Value to_int(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "int", arguments, {"default", "base"});
    const Value standard = a[0].is_undefined() ? Value(int64_t{0}) : a[0];
    if (self.is_float())
        return std::abs(self.number()) < 0x1p63 ? Value(static_cast<int64_t>(self.number())) : standard;
    if (self.is_number()) return Value(self.integer());
    if (!self.is_string()) return standard;
    std::string_view text = stripped(self.string(), "", true, true);
    const int base = static_cast<int>(std::clamp<int64_t>(integer_or(ev, "int", a[1], 10), 2, 36));
    if (text.substr(0, 1) == "+") text.remove_prefix(1);
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty()) return Value(value);
    double number = 0;
    const auto real = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good =
        real.ec == std::errc() && real.ptr == text.data() + text.size() && std::abs(number) < 0x1p63;
    return good && base == 10 ? Value(static_cast<int64_t>(number)) : standard;
}

Value to_float(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "float", arguments, {"default"});
    if (self.is_number()) return Value(self.number());
    double number = 0;
    if (self.is_string()) {
        const std::string_view text = stripped(self.string(), "", true, true);
        const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
        if (read.ec == std::errc() && read.ptr == text.data() + text.size() && !text.empty())
            return Value(number);
    }
    return a[0].is_undefined() ? Value(0.0) : a[0];
}

Value absolute(Evaluator& ev, const Value& self, Args) {
    if (!self.is_number()) ev.wrong(fmt::format("a {} has no absolute value", type_name(self)));
    if (self.is_float()) return Value(std::abs(self.number()));
    return self.integer() < 0 ? ev.binary("-", Value(int64_t{0}), self) : Value(self.integer());
}

Value round_filter(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "round", arguments, {"precision", "method"});
    if (!self.is_number()) ev.wrong(fmt::format("a {} cannot be rounded", type_name(self)));
    const double scale =
        std::pow(10.0, static_cast<double>(std::clamp<int64_t>(integer_or(ev, "round", a[0], 0), -300, 300)));
    const std::string method = a[1].is_string() ? a[1].string() : "common";
    const double scaled = self.number() * scale;
    if (method == "ceil") return Value(std::ceil(scaled) / scale);
    if (method == "floor") return Value(std::floor(scaled) / scale);
    if (method == "common" && !self.is_float() && missing(a[0])) return Value(self.integer());
    if (method != "common")
        ev.wrong(fmt::format("the filter 'round' knows common, ceil and floor, not '{}'", method));
    return Value(std::nearbyint(scaled) / scale);  // halves to even, as in Python
}

Value first(Evaluator& ev, const Value& self, Args) {
    const std::vector<Value> all = ev.items(self);
    return all.empty() ? Value(Undefined{"the first item of nothing"}) : all.front();
}
Value last(Evaluator& ev, const Value& self, Args) {
    const std::vector<Value> all = ev.items(self);
    return all.empty() ? Value(Undefined{"the last item of nothing"}) : all.back();
}
Value list(Evaluator& ev, const Value& self, Args) {
    return make_list(ev.items(self));
}

Value reverse(Evaluator& ev, const Value& self, Args) {
    std::vector<Value> all = ev.items(self);
    std::reverse(all.begin(), all.end());
    if (!self.is_string()) return make_list(std::move(all));
    std::string text;
    for (const Value& letter : all) text += letter.string();
    return Value(std::move(text));
}

Value join(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "join", arguments, {"d", "attribute"});
    const std::string separator = a[0].is_undefined() ? "" : ev.text(a[0]);
    std::string out;
    bool is_first = true;
    for (const Value& item : ev.items(self)) {
        const std::string text = ev.text(missing(a[1]) ? item : path(ev, item, a[1]));
        if (out.size() + separator.size() + text.size() > (size_t{1} << 20))
            ev.charge(out.size() + separator.size() + text.size());
        if (!is_first) out += separator;
        is_first = false;
        out += text;
    }
    ev.charge(out.size());
    return Value(std::move(out));
}

/// Strings without regard to case unless asked for.
Value sort_key(const Value& value, bool case_sensitive) {
    return value.is_string() && !case_sensitive ? Value(lower(value.string())) : value;
}

Value sort(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : ev.items(self))
        keyed.emplace_back(sort_key(missing(a[2]) ? item : path(ev, item, a[2]), is_true(a[1])), item);
    const bool falling = is_true(a[0]);
    std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
        return falling ? ev.less(y.first, x.first) : ev.less(x.first, y.first);
    });
    std::vector<Value> out;
    for (auto& entry : keyed) out.push_back(std::move(entry.second));
    return make_list(std::move(out));
}

Value dictsort(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
    if (!self.is_dict())
        ev.wrong(fmt::format("the filter 'dictsort' needs a dict, not a {}", type_name(self)));
    const bool by_value = a[1].is_string() && a[1].string() == "value";
    auto entries = self.dict().items;
    std::stable_sort(entries.begin(), entries.end(), [&](const auto& x, const auto& y) {
        const Value left = sort_key(by_value ? x.second : x.first, is_true(a[0]));
        const Value right = sort_key(by_value ? y.second : y.first, is_true(a[0]));
        return is_true(a[2]) ? ev.less(right, left) : ev.less(left, right);
    });
    std::vector<Value> out;
    for (const auto& [key, value] : entries) out.push_back(make_list({key, value}, true));
    return make_list(std::move(out));
}

template <bool kLargest>
Value extreme(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, kLargest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
    Value best(Undefined{"the extreme of nothing"}), best_key;
    for (const Value& item : ev.items(self)) {
        const Value key = sort_key(missing(a[1]) ? item : path(ev, item, a[1]), is_true(a[0]));
        if (!best.is_undefined() && !(kLargest ? ev.less(best_key, key) : ev.less(key, best_key))) continue;
        best = item;
        best_key = key;
    }
    return best;
}

Value sum(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "sum", arguments, {"attribute", "start"});
    Value total = a[1].is_undefined() ? Value(int64_t{0}) : a[1];
    for (const Value& item : ev.items(self))
        total = ev.binary("+", total, missing(a[0]) ? item : path(ev, item, a[0]));
    return total;
}

Value unique(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "unique", arguments, {"case_sensitive", "attribute"});
    std::vector<Value> keys, out;
    for (const Value& item : ev.items(self)) {
        Value key = sort_key(missing(a[1]) ? item : path(ev, item, a[1]), is_true(a[0]));
        if (std::any_of(keys.begin(), keys.end(), [&](const Value& k) { return ev.equal(k, key); })) continue;
        keys.push_back(std::move(key));
        out.push_back(item);
    }
    return make_list(std::move(out));
}

/// map('filter', arguments...) or map(attribute='name', default=...)
Value map(Evaluator& ev, const Value& self, Args arguments) {
    std::vector<Value> out;
    if (arguments.positional.empty()) {
        const auto a = bind(ev, "map", arguments, {"attribute", "default"});
        for (const Value& item : ev.items(self)) {
            Value found = path(ev, item, a[0]);
            out.push_back(found.is_undefined() && !a[1].is_undefined() ? a[1] : std::move(found));
        }
        return make_list(std::move(out));
    }
    if (!arguments.positional[0].is_string()) ev.wrong("the filter 'map' needs the name of a filter");
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin());
    for (const Value& item : ev.items(self))
        out.push_back(ev.filter(arguments.positional[0].string(), item, rest));
    return make_list(std::move(out));
}

/// select(test, arguments...), selectattr(attribute, test, arguments...) and their opposites.
template <bool kAttribute, bool kKeep>
Value choose(Evaluator& ev, const Value& self, Args arguments) {
    Arguments rest = arguments;
    Value attribute;
    if (kAttribute) {
        if (rest.positional.empty()) ev.wrong("the filter 'selectattr' needs the name of an attribute");
        attribute = rest.positional[0];
        rest.positional.erase(rest.positional.begin());
    }
    std::string test;
    if (!rest.positional.empty()) {
        if (!rest.positional[0].is_string()) ev.wrong("the filter 'select' needs the name of a test");
        test = rest.positional[0].string();
        rest.positional.erase(rest.positional.begin());
    }
    std::vector<Value> out;
    for (const Value& item : ev.items(self)) {
        const Value value = kAttribute ? path(ev, item, attribute) : item;
        if ((test.empty() ? is_true(value) : ev.test(test, value, rest)) == kKeep) out.push_back(item);
    }
    return make_list(std::move(out));
}

/// slice(n): n lists of nearly equal length; batch(n): lists of n.
template <bool kSlices>
Value grouped(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, kSlices ? "slice" : "batch", arguments, {"count", "fill_with"});
    const std::vector<Value> all = ev.items(self);
    const int64_t n = integer_or(ev, kSlices ? "slice" : "batch", a[0], 0);
    if (n < 1) ev.wrong("the filters 'slice' and 'batch' need a number above 0");
    ev.charge_items(static_cast<size_t>(n));
    std::vector<Value> groups;
    const auto size = static_cast<int64_t>(all.size());
    const int64_t n_groups = kSlices ? n : (size + n - 1) / n;
    int64_t at = 0;
    for (int64_t g = 0; g < n_groups; ++g) {
        const int64_t take = kSlices ? size / n + (g < size % n) : std::min(n, size - at);
        std::vector<Value> group(all.begin() + at, all.begin() + at + take);
        at += take;
        const int64_t full = kSlices ? size / n + (size % n != 0) : n;
        while (!missing(a[1]) && static_cast<int64_t>(group.size()) < full) group.push_back(a[1]);
        groups.push_back(make_list(std::move(group)));
    }
    return make_list(std::move(groups));
}

Value items(Evaluator& ev, const Value& self, Args arguments) {
    if (self.is_undefined()) return make_list({});
    if (!self.is_dict()) ev.wrong(fmt::format("the filter 'items' needs a dict, not a {}", type_name(self)));
    return find_method(self, "items")(ev, self, arguments);
}

Value indent(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "indent", arguments, {"width", "first", "blank"});
    std::string margin;
    if (a[0].is_string()) {
        margin = a[0].string();
    } else {
        const auto width = static_cast<size_t>(std::max<int64_t>(0, integer_or(ev, "indent", a[0], 4)));
        ev.charge(width);
        margin.assign(width, ' ');
    }
    const std::string text = ev.text(self);
    const auto lines = split_at(text, "\n", -1, false);
    size_t total = 0;
    ev.charge(__builtin_mul_overflow(lines.size(), margin.size(), &total) ? SIZE_MAX : total);
    ev.charge(total + text.size());
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) out += '\n';
        const bool wanted = i == 0 ? is_true(a[1]) : !lines[i].empty() || is_true(a[2]);
        if (wanted) out += margin;
        out += lines[i];
    }
    return Value(std::move(out));
}

Value format(Evaluator& ev, const Value& self, Args arguments) {
    return Value(percent_format(ev, ev.text(self), arguments.positional));
}

Value json(Evaluator& ev, const Value& self, Args arguments) {
    return Value(to_json(ev, self, arguments));
}

struct Row {
    std::string_view name;
    Filter function;
};

constexpr Row kFilters[] = {
    {"abs", absolute},
    {"batch", grouped<false>},
    {"capitalize", through_text<'c'>},
    {"count", length},
    {"d", standard_value},
    {"default", standard_value},
    {"dictsort", dictsort},
    {"e", escape},
    {"endswith", through_text<'e'>},
    {"escape", escape},
    {"first", first},
    {"float", to_float},
    {"format", format},
    {"indent", indent},
    {"int", to_int},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"lower", through_text<'l'>},
    {"lstrip", through_text<'L'>},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<true, false>},
    {"replace", through_text<'r'>},
    {"reverse", reverse},
    {"round", round_filter},
    {"rstrip", through_text<'R'>},
    {"safe", text_filter},
    {"select", choose<false, true>},
    {"selectattr", choose<true, true>},
    {"slice", grouped<true>},
    {"sort", sort},
    {"split", through_text<'p'>},
    {"startswith", through_text<'b'>},
    {"string", text_filter},
    {"strip", through_text<'s'>},
    {"sum", sum},
    {"title", through_text<'t'>},
    {"tojson", json},
    {"trim", through_text<'s'>},
    {"unique", unique},
    {"upper", through_text<'u'>},
};

}  // namespace

Filter find_filter(std::string_view name) {
    for (const Row& row : kFilters)
        if (row.name == name) return row.function;
    return nullptr;
}

}  // namespace powerinfer::generate::jinja
