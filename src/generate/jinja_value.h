// The values of a template: what Python would call None, bool, int, float, str, list, tuple, dict and
// callables. Not for operations on them: those are in jinja_eval.cpp and jinja_builtins.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace powerinfer::generate::jinja {

class Value;
class Evaluator;

struct List;
struct Dict;
struct Callable;

/// A name or attribute that does not exist; prints as nothing, and is an error in most other uses.
struct Undefined {
    std::string what;
};

class Value {
  public:
    Value() = default;  ///< None
    Value(bool b) : data_(b) {}
    Value(int64_t i) : data_(i) {}
    Value(double d) : data_(d) {}
    Value(std::string s) : data_(std::make_shared<const std::string>(std::move(s))) {}
    Value(std::string_view s) : Value(std::string(s)) {}
    Value(const char* s) : Value(std::string(s)) {}
    Value(Undefined u) : data_(std::move(u)) {}
    Value(std::shared_ptr<List> list) : data_(std::move(list)) {}
    Value(std::shared_ptr<Dict> dict) : data_(std::move(dict)) {}
    Value(std::shared_ptr<const Callable> callable) : data_(std::move(callable)) {}

    bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
    bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
    bool is_bool() const { return std::holds_alternative<bool>(data_); }
    bool is_int() const { return std::holds_alternative<int64_t>(data_); }
    bool is_float() const { return std::holds_alternative<double>(data_); }
    bool is_number() const { return is_int() || is_float() || is_bool(); }
    bool is_string() const { return std::holds_alternative<std::shared_ptr<const std::string>>(data_); }
    bool is_list() const { return std::holds_alternative<std::shared_ptr<List>>(data_); }
    bool is_dict() const { return std::holds_alternative<std::shared_ptr<Dict>>(data_); }
    bool is_callable() const { return std::holds_alternative<std::shared_ptr<const Callable>>(data_); }

    bool boolean() const { return std::get<bool>(data_); }
    int64_t integer() const { return is_bool() ? int64_t{boolean()} : std::get<int64_t>(data_); }
    /// Of any number.
    double number() const { return is_float() ? std::get<double>(data_) : static_cast<double>(integer()); }
    const std::string& string() const { return *std::get<std::shared_ptr<const std::string>>(data_); }
    const std::string& undefined_name() const { return std::get<Undefined>(data_).what; }
    List& list() const { return *std::get<std::shared_ptr<List>>(data_); }
    Dict& dict() const { return *std::get<std::shared_ptr<Dict>>(data_); }
    const Callable& callable() const { return *std::get<std::shared_ptr<const Callable>>(data_); }

    /// The list or dict behind this value, for comparing identities; null for others.
    const void* container() const;
    /// Moves a container that nobody else holds to `orphans`, so that deep nests are destroyed without
    /// recursion.
    void give_up(std::vector<Value>& orphans);

  private:
    std::variant<std::monostate, Undefined, bool, int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<List>, std::shared_ptr<Dict>, std::shared_ptr<const Callable>>
        data_;
};

struct List {
    std::vector<Value> items;
    bool is_tuple = false;
    List() = default;
    ~List();
};

/// Keeps the order of insertion.
struct Dict {
    std::vector<std::pair<Value, Value>> items;
    bool is_namespace = false;
    Dict() = default;
    ~Dict();

    const Value* find(std::string_view key) const;
    void set(std::string_view key, Value value);
};

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keywords;
};

struct Callable {
    std::string name;
    std::function<Value(Evaluator&, const Arguments&)> call;
};

Value make_list(std::vector<Value> items, bool is_tuple = false);
Value make_dict();
Value make_callable(std::string name, std::function<Value(Evaluator&, const Arguments&)> call);

/// "string", "list", ... for messages.
std::string_view type_name(const Value& value);
bool is_true(const Value& value);

/// JSON text to a value. Throws Error{bad_argument} naming `what` when it is not JSON.
Value from_json(std::string_view text, std::string_view what);

}  // namespace powerinfer::generate::jinja
