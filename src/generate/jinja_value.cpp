#include "generate/jinja_value.h"

namespace powerinfer::generate::jinja {

namespace {

/// Empties containers one after another; each gives its own contents to the same list.
void destroy(std::vector<Value>& orphans) {
    while (!orphans.empty()) {
        Value value = std::move(orphans.back());
        orphans.pop_back();
        if (value.is_list()) {
            for (Value& item : value.list().items) item.give_up(orphans);
        } else if (value.is_dict()) {
            for (auto& [key, item] : value.dict().items) {
                key.give_up(orphans);
                item.give_up(orphans);
            }
        }
    }
}

}  // namespace

const void* Value::container() const {
    if (is_list()) return &list();
    if (is_dict()) return &dict();
    return nullptr;
}

void Value::give_up(std::vector<Value>& orphans) {
    const bool last_owner = (is_list() && std::get<std::shared_ptr<List>>(data_).use_count() == 1) ||
                            (is_dict() && std::get<std::shared_ptr<Dict>>(data_).use_count() == 1);
    if (last_owner) orphans.push_back(std::exchange(*this, Value()));
}

List::~List() {
    std::vector<Value> orphans;
    for (Value& item : items) item.give_up(orphans);
    destroy(orphans);
}

Dict::~Dict() {
    std::vector<Value> orphans;
    for (auto& [key, item] : items) {
        key.give_up(orphans);
        item.give_up(orphans);
    }
    destroy(orphans);
}

const Value* Dict::find(std::string_view key) const {
    for (const auto& [k, v] : items)
        if (k.is_string() && k.string() == key) return &v;
    return nullptr;
}

void Dict::set(std::string_view key, Value value) {
    for (auto& [k, v] : items) {
        if (!k.is_string() || k.string() != key) continue;
        v = std::move(value);
        return;
    }
    items.emplace_back(Value(key), std::move(value));
}

Value make_list(std::vector<Value> items, bool is_tuple) {
    auto list = std::make_shared<List>();
    list->items = std::move(items);
    list->is_tuple = is_tuple;
    return Value(std::move(list));
}

Value make_dict() {
    return Value(std::make_shared<Dict>());
}

Value make_callable(std::string name, std::function<Value(Evaluator&, const Arguments&)> call) {
    auto callable = std::make_shared<Callable>();
    callable->name = std::move(name);
    callable->call = std::move(call);
    return Value(std::shared_ptr<const Callable>(std::move(callable)));
}

std::string_view type_name(const Value& value) {
    if (value.is_none()) return "none";
    if (value.is_undefined()) return "undefined";
    if (value.is_bool()) return "boolean";
    if (value.is_int()) return "integer";
    if (value.is_float()) return "float";
    if (value.is_string()) return "string";
    if (value.is_list()) return value.list().is_tuple ? "tuple" : "list";
    if (value.is_dict()) return value.dict().is_namespace ? "namespace" : "dict";
    return "function";
}

bool is_true(const Value& value) {
    if (value.is_none() || value.is_undefined()) return false;
    if (value.is_bool()) return value.boolean();
    if (value.is_number()) return value.number() != 0;
    if (value.is_string()) return !value.string().empty();
    if (value.is_list()) return !value.list().items.empty();
    if (value.is_dict()) return value.dict().is_namespace || !value.dict().items.empty();
    return true;
}

}  // namespace powerinfer::generate::jinja
