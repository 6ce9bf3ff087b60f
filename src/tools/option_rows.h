// Short ways to write a row of the option table. Included by the option families only.
#pragma once

#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/numbers.h"
#include "tools/options.h"

/// A place in Arguments: FIELD(context.n_batch).
#define FIELD(path) [](powerinfer::tools::Arguments& a) -> auto& { return a.path; }

namespace powerinfer::tools {

inline constexpr int kAnyInt = std::numeric_limits<int>::max();
inline constexpr double kAnyNumber = 3e38;

/// "-a, --b" -> {"-a", "--b"}; also for lists of choices.
std::vector<std::string> split_list(std::string_view text, std::string_view separators = ", ");

template <class T>
struct Unwrapped {
    using type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
    using type = T;
};

/// The text of a value for the help.
template <class T>
std::string value_text(const T& v) {
    if constexpr (std::is_same_v<T, std::string>) return v;
    else if constexpr (std::is_same_v<T, bool>) return v ? "on" : "off";
    else return fmt::format("{}", v);
}
template <class T>
std::string value_text(const std::optional<T>& v) {
    return v ? value_text(*v) : std::string();
}

/// Number formats of the KV cache, by the words that name them.
const std::vector<std::pair<std::string, DType>>& cache_types();

template <class Field>
std::string field_text(Field field, const Arguments& a) {
    return value_text(field(const_cast<Arguments&>(a)));  // only read; FIELD gives a mutable place
}

template <class Field>
Option integer(std::string_view names, std::string value, Field field, int64_t low, int64_t high,
               std::string help) {
    Option o;
    o.names = split_list(names);
    o.value = std::move(value);
    o.help = std::move(help);
    o.set = [=](Arguments& a, const std::string& word) {
        using T = typename Unwrapped<std::remove_reference_t<decltype(field(a))>>::type;
        field(a) = static_cast<T>(parse_integer(word, low, high));
    };
    o.show = [=](const Arguments& a) { return field_text(field, a); };
    return o;
}

template <class Field>
Option number(std::string_view names, std::string value, Field field, double low, double high,
              std::string help) {
    Option o;
    o.names = split_list(names);
    o.value = std::move(value);
    o.help = std::move(help);
    o.set = [=](Arguments& a, const std::string& word) {
        field(a) = static_cast<float>(parse_number(word, low, high));
    };
    o.show = [=](const Arguments& a) { return field_text(field, a); };
    return o;
}

template <class Field>
Option text(std::string_view names, std::string value, Field field, std::string help) {
    Option o;
    o.names = split_list(names);
    o.value = std::move(value);
    o.help = std::move(help);
    o.set = [=](Arguments& a, const std::string& word) { field(a) = word; };
    o.show = [=](const Arguments& a) { return field_text(field, a); };
    return o;
}

/// A text that may be given several times.
template <class Field>
Option texts(std::string_view names, std::string value, Field field, std::string help) {
    Option o;
    o.names = split_list(names);
    o.value = std::move(value);
    o.help = std::move(help);
    o.repeatable = true;
    o.set = [=](Arguments& a, const std::string& word) { field(a).push_back(word); };
    return o;
}

/// An option without a value; `off_names` are the words that turn it off.
template <class Field>
Option flag(std::string_view names, std::string_view off_names, Field field, std::string help) {
    Option o;
    o.names = split_list(names);
    o.off_names = split_list(off_names);
    o.takes = Takes::nothing;
    o.help = std::move(help);
    o.set = [=](Arguments& a, const std::string& word) { field(a) = word == "on"; };
    o.show = [=](const Arguments& a) { return field_text(field, a); };
    return o;
}

/// One of several words. `rows` pairs each word with its value.
template <class Field, class T>
Option choice(std::string_view names, Field field, std::vector<std::pair<std::string, T>> rows,
              std::string help) {
    Option o;
    o.names = split_list(names);
    for (const auto& [word, value] : rows) o.value += (o.value.empty() ? "" : "|") + word;
    o.help = std::move(help);
    o.set = [=](Arguments& a, const std::string& word) {
        for (const auto& [name, value] : rows)
            if (name == word) return static_cast<void>(field(a) = value);
        std::string all;
        for (const auto& [name, value] : rows) all += (all.empty() ? "" : ", ") + name;
        fail(ErrorKind::bad_argument, "'{}' is not one of {}", word, all);
    };
    o.show = [=](const Arguments& a) {
        for (const auto& [name, value] : rows)
            if (field(const_cast<Arguments&>(a)) == value) return name;
        return std::string();
    };
    return o;
}

/// Anything else: the setter does the reading.
Option custom(std::string_view names, std::string value, std::string help,
              std::function<void(Arguments&, const std::string&)> set);

/// on, off or auto, where the word may be left out (meaning on).
template <class Field>
Option maybe_switch(std::string_view names, std::string_view off_names, Field field, std::string help) {
    Option o = choice(names, field,
                      std::vector<std::pair<std::string, Switch>>{
                          {"on", Switch::on}, {"off", Switch::off}, {"auto", Switch::automatic}},
                      std::move(help));
    o.off_names = split_list(off_names);
    o.takes = Takes::maybe;
    o.choices = {"on", "off", "auto"};
    return o;
}

}  // namespace powerinfer::tools
