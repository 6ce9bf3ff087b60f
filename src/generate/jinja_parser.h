// Tokens to a tree of statements and expressions. Not for meaning: names of filters and variables are looked
// up when the template runs (jinja_eval.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/jinja_value.h"

namespace powerinfer::generate::jinja {

enum class ExprKind {
    constant,
    name,
    list,
    tuple,
    dict,       // dict: children alternate key, value
    attribute,  // children[0].text
    item,       // children[0][children[1]]
    slice,      // children[0][a:b:c], missing parts are null
    call,       // children[0](args)
    filter,     // children[0] | text(args); children[0] is null inside a filter block
    test,       // children[0] is text(args)
    negate,
    plus,
    not_,
    and_,
    or_,
    binary,       // children[0] text children[1]
    compare,      // children[0] operators[0] children[1] operators[1] children[2] ...
    conditional,  // children: condition, then, otherwise (may be null)
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Argument {
    std::string keyword;  ///< empty: positional
    ExprPtr value;
    bool spread = false;  ///< *value
};

struct Expr {
    ExprKind kind = ExprKind::constant;
    int line = 0;
    std::string text;
    Value constant;
    std::vector<ExprPtr> children;
    std::vector<Argument> arguments;
    std::vector<std::string> operators;

    Expr() = default;
    ~Expr();  ///< without recursion: `a.b.c...` may be a very long chain
};

enum class StmtKind {
    text,
    print,
    if_,
    for_,
    set,
    set_block,
    macro,
    call_block,
    filter_block,
    with,
    break_,
    continue_
};

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct Parameter {
    std::string name;
    ExprPtr standard;  ///< null: no default
};

struct Stmt {
    StmtKind kind;
    int line;
    std::string text;  ///< literal text, or the name of a macro
    ExprPtr target;    ///< of for and set: a name, a tuple of names, or an attribute of a namespace
    std::vector<ExprPtr>
        values;      ///< print, set, for: one; if: conditions; call and filter: the call, the filters
    ExprPtr filter;  ///< for: the condition on items
    std::vector<Parameter> parameters;                  ///< macro, call
    std::vector<std::pair<ExprPtr, ExprPtr>> bindings;  ///< with
    std::vector<Block> bodies;                          ///< if: one per condition, then else; for: body, else
};

/// Throws Error{bad_argument} naming the line of what is not understood.
Block parse(std::string_view source);

}  // namespace powerinfer::generate::jinja
