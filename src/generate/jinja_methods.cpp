// Methods: what may be called on a string, list or dict with a dot.
#include <algorithm>

#include "generate/code_points.h"
#include "generate/jinja_eval.h"
#include "generate/jinja_strings.h"

namespace powerinfer::generate::jinja {

namespace {

using Args = const Arguments&;

std::string_view text_argument(Evaluator& ev, std::string_view function, const Value& value) {
    if (!value.is_string()) ev.wrong(fmt::format("{} needs a string, not a {}", function, type_name(value)));
    return value.string();
}

int64_t integer_or(Evaluator& ev, std::string_view function, const Value& value, int64_t standard) {
    if (value.is_undefined() || value.is_none()) return standard;
    if (!value.is_int()) ev.wrong(fmt::format("{} needs an integer, not a {}", function, type_name(value)));
    return value.integer();
}

Value strings(Evaluator& ev, const std::vector<std::string_view>& parts) {
    ev.charge_items(parts.size());
    std::vector<Value> values(parts.begin(), parts.end());
    return make_list(std::move(values));
}

template <bool kLeft, bool kRight>
Value strip(Evaluator& ev, const Value& self, Args arguments) {
    const Value set = bind(ev, "strip", arguments, {"chars"})[0];
    ev.charge(self.string().size());
    const bool given = !set.is_undefined() && !set.is_none();
    return Value(stripped(self.string(), given ? text_argument(ev, "strip", set) : "", kLeft, kRight));
}

template <bool kFromRight>
Value split(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "split", arguments, {"sep", "maxsplit"});
    const int64_t limit = integer_or(ev, "split", a[1], -1);
    ev.charge(self.string().size());
    if (a[0].is_undefined() || a[0].is_none())
        return strings(ev, split_at_space(self.string(), limit, kFromRight));
    const std::string_view separator = text_argument(ev, "split", a[0]);
    if (separator.empty()) ev.wrong("split needs a separator that is not empty");
    return strings(ev, split_at(self.string(), separator, limit, kFromRight));
}

template <bool kEnd>
Value starts_or_ends(Evaluator& ev, const Value& self, Args arguments) {
    const Value affix = bind(ev, kEnd ? "endswith" : "startswith", arguments, {"affix"})[0];
    const std::string_view text = self.string();
    const std::vector<Value> choices = affix.is_list() ? ev.items(affix) : std::vector<Value>{affix};
    for (const Value& choice : choices) {
        const std::string_view wanted = text_argument(ev, "startswith and endswith", choice);
        if (wanted.size() > text.size()) continue;
        if (text.substr(kEnd ? text.size() - wanted.size() : 0, wanted.size()) == wanted) return Value(true);
    }
    return Value(false);
}

template <bool kEnd>
Value remove_affix(Evaluator& ev, const Value& self, Args arguments) {
    const std::string_view affix =
        text_argument(ev, "removeprefix", bind(ev, "removeprefix", arguments, {"affix"})[0]);
    const std::string_view text = self.string();
    if (affix.size() > text.size()) return self;
    if (text.substr(kEnd ? text.size() - affix.size() : 0, affix.size()) != affix) return self;
    return Value(kEnd ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

Value replace(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "replace", arguments, {"old", "new", "count"});
    const std::string_view from = text_argument(ev, "replace", a[0]), to = text_argument(ev, "replace", a[1]);
    // Refuse before the memory is taken: at most one replacement per byte (or per `from`).
    const size_t n = self.string().size() / std::max<size_t>(from.size(), 1) + 1;
    size_t bound = 0;
    const bool overflow = __builtin_mul_overflow(n, to.size(), &bound);
    size_t occurrences = n;
    if (overflow || bound > (size_t{1} << 20)) {
        occurrences = from.empty() ? n : 0;
        for (size_t i = from.empty() ? std::string::npos : self.string().find(from); i != std::string::npos;
             i = self.string().find(from, i + from.size()))
            ++occurrences;
        if (__builtin_mul_overflow(occurrences, to.size(), &bound)) bound = SIZE_MAX / 2;
    }
    ev.charge(self.string().size() + bound);
    return Value(replaced(self.string(), from, to, integer_or(ev, "replace", a[2], -1)));
}

template <bool kFromRight>
Value find(Evaluator& ev, const Value& self, Args arguments) {
    const std::string_view wanted = text_argument(ev, "find", bind(ev, "find", arguments, {"sub"})[0]);
    const std::string_view text = self.string();
    ev.charge(text.size());
    const size_t place = kFromRight ? text.rfind(wanted) : text.find(wanted);
    return Value(place == std::string_view::npos
                     ? int64_t{-1}
                     : static_cast<int64_t>(count_code_points(text.substr(0, place))));
}

Value count(Evaluator& ev, const Value& self, Args arguments) {
    const Value wanted = bind(ev, "count", arguments, {"sub"})[0];
    int64_t n = 0;
    if (self.is_list()) {
        for (const Value& item : self.list().items) n += ev.equal(item, wanted);
        return Value(n);
    }
    ev.charge(self.string().size());
    const std::string_view sub = text_argument(ev, "count", wanted);
    if (sub.empty()) return Value(static_cast<int64_t>(count_code_points(self.string())) + 1);
    return Value(static_cast<int64_t>(split_at(self.string(), sub, -1, false).size()) - 1);
}

Value join(Evaluator& ev, const Value& self, Args arguments) {
    const Value list = bind(ev, "join", arguments, {"items"})[0];
    std::string out;
    bool first = true;
    for (const Value& item : ev.items(list)) {
        if (!first) out += self.string();
        first = false;
        out += text_argument(ev, "join", item);
        ev.charge(out.size() > (size_t{1} << 20) ? out.size() : self.string().size() + item.string().size());
    }
    return Value(std::move(out));
}

/// '{} and {0} and {name}'.format(...), without conversions.
Value format(Evaluator& ev, const Value& self, Args arguments) {
    const std::string& pattern = self.string();
    std::string out;
    size_t next = 0;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
            out += c;
            ++i;
            continue;
        }
        if (c != '{') {
            out += c;
            continue;
        }
        const size_t end = pattern.find('}', i);
        if (end == std::string::npos) ev.wrong("format: a '{' is not closed");
        const std::string field = pattern.substr(i + 1, end - i - 1);
        const Value* value = nullptr;
        if (field.empty() || field.find_first_not_of("0123456789") == std::string::npos) {
            const size_t place = field.empty() ? next++ : field.size() > 4 ? SIZE_MAX : std::stoul(field);
            if (place < arguments.positional.size()) value = &arguments.positional[place];
        } else {
            for (const auto& [name, keyword_value] : arguments.keywords)
                if (name == field) value = &keyword_value;
        }
        if (value == nullptr) ev.wrong(fmt::format("format: there is no value for '{{{}}}'", field));
        out += ev.text(*value);
        ev.charge(out.size() > (size_t{1} << 20) ? out.size() : 0);
        i = end;
    }
    ev.charge(out.size());
    return Value(std::move(out));
}

template <bool (*kIs)(unsigned char)>
Value all_bytes(Evaluator& ev, const Value& self, Args) {
    ev.charge(self.string().size());
    return Value(!self.string().empty() &&
                 std::all_of(self.string().begin(), self.string().end(),
                             [](char c) { return kIs(static_cast<unsigned char>(c)); }));
}
bool is_digit(unsigned char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(unsigned char c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}
bool is_letter_or_digit(unsigned char c) {
    return is_letter(c) || is_digit(c);
}
bool is_space(unsigned char c) {
    return c == ' ' || (c >= 9 && c <= 13);
}

/// Through the filter of the same name.
template <Value (*kFunction)(Evaluator&, const Value&)>
Value simple(Evaluator& ev, const Value& self, Args) {
    ev.charge(self.is_string() ? self.string().size() : 0);
    return kFunction(ev, self);
}
Value upper_of(Evaluator&, const Value& s) {
    return Value(upper(s.string()));
}
Value lower_of(Evaluator&, const Value& s) {
    return Value(lower(s.string()));
}
Value title_of(Evaluator&, const Value& s) {
    return Value(titled(s.string()));
}
Value capitalize_of(Evaluator&, const Value& s) {
    return Value(capitalized(s.string()));
}
Value lines_of(Evaluator& ev, const Value& s) {
    return strings(ev, split_lines(s.string()));
}
Value is_upper_of(Evaluator&, const Value& s) {
    return Value(s.string() == upper(s.string()) && s.string() != lower(s.string()));
}
Value is_lower_of(Evaluator&, const Value& s) {
    return Value(s.string() == lower(s.string()) && s.string() != upper(s.string()));
}

Value append(Evaluator& ev, const Value& self, Args arguments) {
    const Value item = bind(ev, "append", arguments, {"item"})[0];
    ev.check_no_cycle(self, item);
    ev.charge_items(self.list().items.size() + 1);
    self.list().items.push_back(item);
    return {};
}

Value pop(Evaluator& ev, const Value& self, Args arguments) {
    auto& items = self.list().items;
    const auto n = static_cast<int64_t>(items.size());
    const int64_t given = integer_or(ev, "pop", bind(ev, "pop", arguments, {"index"})[0], -1);
    const int64_t place = given < 0 ? given + n : given;
    if (place < 0 || place >= n) ev.wrong(fmt::format("pop: a list of {} has no item {}", n, given));
    Value item = items[static_cast<size_t>(place)];
    items.erase(items.begin() + place);
    return item;
}

Value index(Evaluator& ev, const Value& self, Args arguments) {
    const Value wanted = bind(ev, "index", arguments, {"item"})[0];
    const auto& items = self.list().items;
    for (size_t i = 0; i < items.size(); ++i)
        if (ev.equal(items[i], wanted)) return Value(static_cast<int64_t>(i));
    ev.wrong("index: the list has no such item");
}

Value get(Evaluator& ev, const Value& self, Args arguments) {
    const auto a = bind(ev, "get", arguments, {"key", "default"});
    for (const auto& [key, value] : self.dict().items)
        if (ev.equal(key, a[0])) return value;
    return a[1].is_undefined() ? Value() : a[1];
}

Value keys(Evaluator& ev, const Value& self, Args) {
    return make_list(ev.items(self));
}

Value values(Evaluator& ev, const Value& self, Args) {
    ev.charge_items(self.dict().items.size());
    std::vector<Value> out;
    for (const auto& entry : self.dict().items) out.push_back(entry.second);
    return make_list(std::move(out));
}

Value entries(Evaluator& ev, const Value& self, Args) {
    ev.charge_items(self.dict().items.size());
    std::vector<Value> out;
    for (const auto& [key, value] : self.dict().items) out.push_back(make_list({key, value}, true));
    return make_list(std::move(out));
}

struct Method {
    std::string_view name;
    Filter function;
};

constexpr Method kStringMethods[] = {
    {"capitalize", simple<capitalize_of>},
    {"count", count},
    {"endswith", starts_or_ends<true>},
    {"find", find<false>},
    {"format", format},
    {"isalnum", all_bytes<is_letter_or_digit>},
    {"isalpha", all_bytes<is_letter>},
    {"isdigit", all_bytes<is_digit>},
    {"islower", simple<is_lower_of>},
    {"isspace", all_bytes<is_space>},
    {"isupper", simple<is_upper_of>},
    {"join", join},
    {"lower", simple<lower_of>},
    {"lstrip", strip<true, false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"rfind", find<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", simple<lines_of>},
    {"startswith", starts_or_ends<false>},
    {"strip", strip<true, true>},
    {"title", simple<title_of>},
    {"upper", simple<upper_of>},
};
constexpr Method kListMethods[] = {{"append", append}, {"count", count}, {"index", index}, {"pop", pop}};
constexpr Method kDictMethods[] = {{"get", get}, {"items", entries}, {"keys", keys}, {"values", values}};

}  // namespace

Filter find_method(const Value& object, std::string_view name) {
    const auto look = [name](const auto& table) -> Filter {
        for (const Method& method : table)
            if (method.name == name) return method.function;
        return nullptr;
    };
    if (object.is_string()) return look(kStringMethods);
    if (object.is_list()) return look(kListMethods);
    if (object.is_dict() && !object.dict().is_namespace) return look(kDictMethods);
    return nullptr;
}

}  // namespace powerinfer::generate::jinja
