// JSON into template values, and values out as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "generate/jinja_eval.h"

namespace powerinfer::generate::jinja {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxNesting = 200;

Value from(const Json& json, int depth, std::string_view what) {
    if (depth > kMaxNesting)
        fail(ErrorKind::bad_argument, "The JSON of {} is nested more than {} deep.", what, kMaxNesting);
    if (json.is_null()) return {};
    if (json.is_boolean()) return Value(json.get<bool>());
    if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
        return Value(json.get<double>());
    if (json.is_number_integer()) return Value(json.get<int64_t>());
    if (json.is_number()) return Value(json.get<double>());
    if (json.is_string()) return Value(json.get<std::string>());
    if (json.is_array()) {
        std::vector<Value> items;
        for (const Json& item : json) items.push_back(from(item, depth + 1, what));
        return make_list(std::move(items));
    }
    Value dict = make_dict();
    for (const auto& [key, item] : json.items())
        dict.dict().items.emplace_back(Value(key), from(item, depth + 1, what));
    return dict;
}

struct Writer {
    Evaluator& ev;
    std::string item_separator, key_separator, indent;  ///< indent: one level, empty with `compact`
    bool compact = true, sort_keys = false, ascii = false;
    std::string out;

    void newline(int depth) {
        if (compact) return;
        out += '\n';
        for (int i = 0; i < depth; ++i) out += indent;
    }

    void string(const std::string& s) {
        ev.charge(s.size());
        // Bytes that are not UTF-8 would make the library throw; they become the replacement character.
        out += Json(s).dump(-1, ' ', ascii, Json::error_handler_t::replace);
    }

    void write(const Value& value, int depth) {
        if (depth > kMaxNesting)
            ev.wrong(fmt::format("tojson: a value is nested more than {} deep", kMaxNesting));
        ev.charge(out.size() > (size_t{1} << 20) ? out.size() : 0);
        if (value.is_none())
            out += "null";
        else if (value.is_bool())
            out += value.boolean() ? "true" : "false";
        else if (value.is_int())
            out += std::to_string(value.integer());
        else if (value.is_float())
            number(value.number());
        else if (value.is_string())
            string(value.string());
        else if (value.is_list())
            list(value.list().items, depth);
        else if (value.is_dict())
            dict(value.dict(), depth);
        else if (value.is_undefined())
            ev.wrong(fmt::format("tojson: {}", value.undefined_name()));
        else
            ev.wrong("a function has no JSON form");
    }

    void number(double x) {
        if (std::isnan(x))
            out += "NaN";
        else if (std::isinf(x))
            out += x > 0 ? "Infinity" : "-Infinity";
        else
            out += float_text(x);
    }

    void list(const std::vector<Value>& items, int depth) {
        out += '[';
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out += item_separator;
            newline(depth + 1);
            write(items[i], depth + 1);
        }
        if (!items.empty()) newline(depth);
        out += ']';
    }

    void dict(const Dict& dict, int depth) {
        std::vector<const std::pair<Value, Value>*> entries;
        for (const auto& entry : dict.items) entries.push_back(&entry);
        if (sort_keys)
            std::stable_sort(entries.begin(), entries.end(),
                             [this](const auto* a, const auto* b) { return ev.less(a->first, b->first); });
        out += '{';
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i > 0) out += item_separator;
            newline(depth + 1);
            const Value& key = entries[i]->first;
            if (key.is_string())
                string(key.string());
            else if (key.is_none())
                out += "\"null\"";
            else if (key.is_bool())
                out += key.boolean() ? "\"true\"" : "\"false\"";
            else
                string(ev.text(key));
            out += key_separator;
            write(entries[i]->second, depth + 1);
        }
        if (!entries.empty()) newline(depth);
        out += '}';
    }
};

}  // namespace

Value from_json(std::string_view text, std::string_view what) {
    // A callback that refuses deep nests keeps the library's own recursion (in its destructors) bounded.
    bool too_deep = false;
    const auto depth_check = [&](int depth, Json::parse_event_t, Json&) {
        too_deep |= depth > kMaxNesting;
        return !too_deep;
    };
    Json json;
    try {
        json = Json::parse(text, depth_check);
    } catch (const Json::exception& e) {
        fail(ErrorKind::bad_argument, "{} is not JSON: {}.", what, e.what());
    }
    if (too_deep)
        fail(ErrorKind::bad_argument, "The JSON of {} is nested more than {} deep.", what, kMaxNesting);
    return from(json, 0, what);
}

std::string to_json(Evaluator& evaluator, const Value& value, const Arguments& options) {
    const auto a = bind(evaluator, "tojson", options, {"indent", "ensure_ascii", "separators", "sort_keys"});
    Writer writer{evaluator, ", ", ": ", "", true, is_true(a[3]), is_true(a[1]), ""};
    if (a[0].is_int() || a[0].is_string()) {
        writer.compact = false;
        writer.item_separator.assign(1, ',');
        const int64_t width = a[0].is_int() ? std::clamp<int64_t>(a[0].integer(), 0, 64) : 0;
        writer.indent = a[0].is_string() ? a[0].string() : std::string(static_cast<size_t>(width), ' ');
    }
    if (!a[2].is_undefined() && !a[2].is_none()) {
        const std::vector<Value> separators = evaluator.items(a[2]);
        if (separators.size() != 2 || !separators[0].is_string() || !separators[1].is_string())
            evaluator.wrong("tojson: separators must be two strings");
        writer.item_separator = separators[0].string();
        writer.key_separator = separators[1].string();
    }
    writer.write(value, 0);
    evaluator.charge(writer.out.size());
    return std::move(writer.out);
}

}  // namespace powerinfer::generate::jinja
