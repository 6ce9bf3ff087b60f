// Runs a parsed template over its variables. Everything is counted: steps, nesting and bytes, so that no
// template can hang or exhaust memory.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/jinja_parser.h"
#include "generate/jinja_value.h"

namespace powerinfer::generate::jinja {

struct Limits {
    size_t steps = 2'000'000;          ///< evaluated nodes, plus one for every 64 bytes copied
    size_t output = size_t{16} << 20;  ///< bytes of the result, and of any string or list on the way
    int depth = 1000;                  ///< nested evaluations, macros included
};

/// Where filter blocks keep their text; no name of a template can look like this.
inline constexpr std::string_view kBody = "$body";

struct Scope {
    std::map<std::string, Value, std::less<>> variables;
    Scope* parent = nullptr;
    bool captured = false;  ///< a macro was defined in it or below: it must outlive its block
};

class Evaluator {
  public:
    explicit Evaluator(const Limits& limits = {}) : limits_(limits) {}

    /// variables: a dict. Throws Error{bad_argument} naming the line.
    std::string run(const Block& template_body, const Value& variables);

    // For built-in functions

    [[noreturn]] void wrong(std::string_view sentence) const;
    /// The template's own refusal (raise_exception).
    [[noreturn]] void refuse(std::string_view message) const;
    /// Counts work on `n` bytes, and refuses results larger than the limit.
    void charge(size_t n);
    /// The same for a list of n values.
    void charge_items(size_t n);

    Value attribute(const Value& object, std::string_view name);
    Value item(const Value& object, const Value& key);
    Value call(const Value& callee, const Arguments& arguments);
    Value filter(std::string_view name, const Value& value, const Arguments& arguments);
    bool test(std::string_view name, const Value& value, const Arguments& arguments);
    Value binary(std::string_view op, const Value& a, const Value& b);

    /// As Python's str() would: None, True, 1.5, ['a', 1].
    std::string text(const Value& value);
    /// What a for loop would visit.
    std::vector<Value> items(const Value& value);
    bool equal(const Value& a, const Value& b);
    bool less(const Value& a, const Value& b);
    bool contains(const Value& container, const Value& item);
    /// Refuses to store a value inside itself.
    void check_no_cycle(const Value& container, const Value& value);

  private:
    enum class Flow { normal, break_, continue_ };
    /// Counts nesting for the life of the guard.
    struct Deeper {
        explicit Deeper(Evaluator& evaluator);
        ~Deeper() { --evaluator_.depth_; }
        Evaluator& evaluator_;
    };
    class ScopeGuard;

    Flow run_block(const Block& block);
    Flow run_statement(const Stmt& s);
    Flow run_if(const Stmt& s);
    Flow run_for(const Stmt& s);
    void run_call(const Stmt& s);
    std::string rendered(const Block& block);
    Value filtered(const Expr& filters, std::string body);
    void assign(const Expr& target, const Value& value);
    Value make_macro(const Stmt& s);
    Value call_macro(const Stmt& s, Scope* home, const Arguments& arguments);
    void emit(std::string_view text);

    Value eval(const Expr& e);
    Value eval_name(const Expr& e) const;
    Value eval_compare(const Expr& e);
    Value eval_slice(const Expr& e);
    Value eval_dict(const Expr& e);
    Arguments eval_arguments(const std::vector<Argument>& arguments);
    void append_text(std::string& out, const Value& value, bool quoted, int depth);
    void find_cycle(const void* container, const Value& value, int depth);

    Limits limits_;
    size_t steps_ = 0;
    int depth_ = 0;
    int line_ = 0;
    std::string* out_ = nullptr;
    const Dict* inputs_ = nullptr;
    Scope* scope_ = nullptr;
    std::vector<std::unique_ptr<Scope>> captured_;
};

// Tables of built-in names, each in its own file. Null where there is no such name.
using Filter = Value (*)(Evaluator&, const Value& self, const Arguments&);
using Test = bool (*)(Evaluator&, const Value& self, const Arguments&);
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
/// A method of strings, lists or dicts.
Filter find_method(const Value& object, std::string_view name);
/// range, namespace, raise_exception, ...; undefined for other names.
Value find_global(std::string_view name);

std::string to_json(Evaluator& evaluator, const Value& value, const Arguments& options);
/// A float as Python prints it: the shortest digits that read back the same.
std::string float_text(double value);
/// "%s and %d" % (a, b)
std::string percent_format(Evaluator& evaluator, const std::string& format, const std::vector<Value>& values);

/// The values of named parameters; missing ones are undefined. Refuses too many and unknown ones.
std::vector<Value> bind(Evaluator& evaluator, std::string_view function, const Arguments& arguments,
                        std::initializer_list<std::string_view> parameters);

}  // namespace powerinfer::generate::jinja
