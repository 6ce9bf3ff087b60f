// Functions that a template may call by name, and the binding of arguments to parameters.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "generate/jinja_eval.h"

namespace powerinfer::generate::jinja {

namespace {

using Args = const Arguments&;

Value range(Evaluator& ev, Args arguments) {
    const auto& given = arguments.positional;
    if (given.empty() || given.size() > 3 || !arguments.keywords.empty())
        ev.wrong("range takes one to three integers");
    for (const Value& value : given)
        if (!value.is_int()) ev.wrong(fmt::format("range takes integers, not a {}", type_name(value)));
    const int64_t begin = given.size() > 1 ? given[0].integer() : 0;
    const int64_t end = given.size() > 1 ? given[1].integer() : given[0].integer();
    const int64_t step = given.size() > 2 ? given[2].integer() : 1;
    if (step == 0) ev.wrong("the step of range is 0");
    const double wanted = (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(step);
    ev.charge_items(wanted <= 0 ? 0 : wanted > 0x1p60 ? SIZE_MAX : static_cast<size_t>(wanted));
    std::vector<Value> values;
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
        values.emplace_back(i);
        if (__builtin_add_overflow(i, step, &i)) break;
    }
    return make_list(std::move(values));
}

/// dict(...) and namespace(...): an optional dict or list of pairs, then keywords.
Value filled_dict(Evaluator& ev, Args arguments) {
    Value result = make_dict();
    for (const Value& source : arguments.positional) {
        if (source.is_dict()) {
            result.dict().items = source.dict().items;
            ev.charge_items(source.dict().items.size());
            continue;
        }
        for (const Value& pair : ev.items(source)) {
            const std::vector<Value> parts = ev.items(pair);
            if (parts.size() != 2) ev.wrong("dict needs pairs of a key and a value");
            if (parts[0].is_string())
                result.dict().set(parts[0].string(), parts[1]);
            else
                result.dict().items.emplace_back(parts[0], parts[1]);
        }
    }
    for (const auto& [name, value] : arguments.keywords) result.dict().set(name, value);
    return result;
}

Value make_namespace(Evaluator& ev, Args arguments) {
    Value result = filled_dict(ev, arguments);
    result.dict().is_namespace = true;
    return result;
}

Value raise_exception(Evaluator& ev, Args arguments) {
    ev.refuse(ev.text(bind(ev, "raise_exception", arguments, {"message"})[0]));
}

Value strftime_now(Evaluator& ev, Args arguments) {
    const Value format = bind(ev, "strftime_now", arguments, {"format"})[0];
    if (!format.is_string() || format.string().size() > 256)
        ev.wrong("strftime_now needs a format of up to 256 bytes");
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    localtime_r(&now, &parts);
    std::string text(4096, '\0');
    // A leading letter tells an empty result from a failure.
    text.resize(std::strftime(text.data(), text.size(), ("x" + format.string()).c_str(), &parts));
    if (text.empty()) ev.wrong("strftime_now could not write the time in this format");
    return Value(text.substr(1));
}

Value tojson(Evaluator& ev, Args arguments) {
    if (arguments.positional.empty()) ev.wrong("tojson needs a value");
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin());
    return Value(to_json(ev, arguments.positional[0], rest));
}

}  // namespace

Value find_global(std::string_view name) {
    if (name == "range") return make_callable("range", range);
    if (name == "dict") return make_callable("dict", filled_dict);
    if (name == "namespace") return make_callable("namespace", make_namespace);
    if (name == "raise_exception") return make_callable("raise_exception", raise_exception);
    if (name == "strftime_now") return make_callable("strftime_now", strftime_now);
    if (name == "tojson") return make_callable("tojson", tojson);
    return Value(Undefined{fmt::format("'{}' is not defined", name)});
}

std::vector<Value> bind(Evaluator& evaluator, std::string_view function, const Arguments& arguments,
                        std::initializer_list<std::string_view> parameters) {
    if (arguments.positional.size() > parameters.size())
        evaluator.wrong(fmt::format("'{}' takes up to {} arguments, not {}", function, parameters.size(),
                                    arguments.positional.size()));
    std::vector<Value> values = arguments.positional;
    for (size_t i = values.size(); i < parameters.size(); ++i)
        values.emplace_back(
            Undefined{fmt::format("'{}' was not given its argument '{}'", function, parameters.begin()[i])});
    for (const auto& [name, value] : arguments.keywords) {
        const auto place = std::find(parameters.begin(), parameters.end(), name);
        if (place == parameters.end())
            evaluator.wrong(fmt::format("'{}' has no parameter '{}'", function, name));
        values[static_cast<size_t>(place - parameters.begin())] = value;
    }
    return values;
}

std::string percent_format(Evaluator& evaluator, const std::string& format,
                           const std::vector<Value>& values) {
    std::string out;
    size_t next = 0;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        if (++i == format.size()) evaluator.wrong("a format ends with a single '%'");
        if (format[i] == '%') {
            out += '%';
            continue;
        }
        int digits = 6;
        if (format[i] == '.' && i + 2 < format.size() && format[i + 1] >= '0' && format[i + 1] <= '9') {
            digits = format[i + 1] - '0';
            i += 2;
        }
        if (next >= values.size()) evaluator.wrong("a format has more places than values");
        const Value& value = values[next++];
        const char kind = format[i];
        if (kind == 's')
            out += evaluator.text(value);
        else if ((kind == 'd' || kind == 'i') && value.is_number())
            out += fmt::format("{:.0f}", std::trunc(value.number()));
        else if (kind == 'f' && value.is_number())
            out += fmt::format("{:.{}f}", value.number(), digits);
        else
            evaluator.wrong(fmt::format("a format cannot write a {} as '%{}'", type_name(value), kind));
    }
    evaluator.charge(out.size());
    return out;
}

}  // namespace powerinfer::generate::jinja
