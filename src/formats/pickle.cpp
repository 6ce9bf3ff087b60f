#include "formats/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "base/error.h"
#include "formats/byte_reader.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxBytes = 16u << 20;  ///< of a pickle; those of whole models take a few hundred kB
constexpr size_t kMaxValues = 2'000'000;

/// Storage classes and the dtype of their elements.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kStorages = {{
    {"torch.FloatStorage", "F32"},
    {"torch.HalfStorage", "F16"},
    {"torch.BFloat16Storage", "BF16"},
    {"torch.DoubleStorage", "F64"},
    {"torch.LongStorage", "I64"},
    {"torch.IntStorage", "I32"},
    {"torch.ShortStorage", "I16"},
    {"torch.CharStorage", "I8"},
    {"torch.ByteStorage", "U8"},
    {"torch.BoolStorage", "BOOL"},
}};
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

std::string_view dtype_of_storage(std::string_view global) {
    for (const auto& [name, dtype] : kStorages) {
        if (name == global) return dtype;
    }
    return {};
}

/// Names as in the pickletools module.
enum Opcode : uint8_t {
    kProto = 0x80,
    kFrame = 0x95,
    kStop = '.',
    kMark = '(',
    kPop = '0',
    kPopMark = '1',
    kNone = 'N',
    kNewtrue = 0x88,
    kNewfalse = 0x89,
    kBinint = 'J',
    kBinint1 = 'K',
    kBinint2 = 'M',
    kLong1 = 0x8A,
    kLong4 = 0x8B,
    kBinfloat = 'G',
    kBinunicode = 'X',
    kShortBinunicode = 0x8C,
    kBinunicode8 = 0x8D,
    kBinstring = 'T',
    kShortBinstring = 'U',
    kBinbytes = 'B',
    kShortBinbytes = 'C',
    kEmptyTuple = ')',
    kEmptyList = ']',
    kEmptyDict = '}',
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kTuple = 't',
    kList = 'l',
    kAppend = 'a',
    kAppends = 'e',
    kSetitem = 's',
    kSetitems = 'u',
    kBinput = 'q',
    kLongBinput = 'r',
    kMemoize = 0x94,
    kBinget = 'h',
    kLongBinget = 'j',
    kGlobal = 'c',
    kStackGlobal = 0x93,
    kBinpersid = 'Q',
    kReduce = 'R',
    kBuild = 'b',
};

class Machine {
  public:
    Machine(std::span<const uint8_t> bytes, const std::string& label)
        : label_(label), reader_(bytes, label) {}
    Pickle run();

  private:
    static constexpr std::string_view kWhere = "the pickle";

    [[noreturn]] void damaged(std::string_view what) const {
        fail(ErrorKind::bad_file, "'{}': the pickle is damaged at byte {}: {}", label_, reader_.position(),
             what);
    }
    const PickleValue& value(uint32_t i) const { return pickle_.values[i]; }
    PickleValue& value(uint32_t i) { return pickle_.values[i]; }

    void push(uint32_t i) {
        if (stack_.size() >= kMaxValues) damaged("its stack is too deep");
        stack_.push_back(i);
    }
    void push(PickleValue v) {
        if (pickle_.values.size() >= kMaxValues)
            fail(ErrorKind::bad_file, "'{}': the pickle holds more than {} values", label_, kMaxValues);
        pickle_.values.push_back(std::move(v));
        push(static_cast<uint32_t>(pickle_.values.size() - 1));
    }
    void push_integer(int64_t n) { push(PickleValue{Kind::integer, n}); }
    void push_text(uint64_t size) {
        push(PickleValue{Kind::text, 0, std::string(reader_.text(size, kWhere))});
    }

    uint32_t pop() {
        if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("its stack is empty");
        const uint32_t i = stack_.back();
        stack_.pop_back();
        return i;
    }
    uint32_t top() {
        const uint32_t i = pop();
        stack_.push_back(i);
        return i;
    }
    std::vector<uint32_t> pop_to_mark() {
        if (marks_.empty()) damaged("a mark is missing");
        const auto from = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
        std::vector<uint32_t> items(from, stack_.end());
        stack_.erase(from, stack_.end());
        marks_.pop_back();
        return items;
    }
    void make_tuple(size_t n) {
        PickleValue tuple{Kind::tuple};
        for (size_t i = 0; i < n; ++i) tuple.items.push_back(pop());
        std::reverse(tuple.items.begin(), tuple.items.end());
        push(std::move(tuple));
    }
    void add_items(Kind kind, const std::vector<uint32_t>& items) {
        PickleValue& container = value(top());
        if (container.kind != kind) damaged("items are added to what is no container of their kind");
        if (kind == Kind::dict && items.size() % 2 != 0) damaged("a key has no value");
        container.items.insert(container.items.end(), items.begin(), items.end());
    }
    void remember(uint64_t slot) { memo_[slot] = top(); }
    void recall(uint64_t slot) {
        const auto it = memo_.find(slot);
        if (it == memo_.end()) damaged(fmt::format("it recalls slot {}, which is empty", slot));
        push(it->second);
    }

    bool step(uint8_t opcode);
    std::string_view line();
    void push_long(uint64_t size);
    void push_global(std::string_view module, std::string_view name);
    void load_storage();
    void call();
    void set_state();

    std::string label_;
    ByteReader reader_;
    Pickle pickle_;
    std::vector<uint32_t> stack_;
    std::vector<size_t> marks_;
    std::unordered_map<uint64_t, uint32_t> memo_;
};

std::string_view Machine::line() {
    const auto rest = reader_.text(0, kWhere);  // where the line starts
    size_t n = 0;
    while (n < reader_.left() && rest.data()[n] != '\n') ++n;
    if (n == reader_.left() || n > 1024) damaged("a name has no end");
    const std::string_view text = reader_.text(n, kWhere);
    reader_.take(1, kWhere);
    return text;
}

void Machine::push_long(uint64_t size) {
    const auto bytes = reader_.take(size, kWhere);
    if (size > 8) return push(PickleValue{});  // a random seed, say: no tensor needs it
    uint64_t n = 0;
    for (size_t i = 0; i < size; ++i) n |= uint64_t{bytes[i]} << 8 * i;
    if (size > 0 && size < 8 && (bytes[size - 1] & 0x80u)) n |= ~uint64_t{0} << 8 * size;
    push_integer(static_cast<int64_t>(n));
}

void Machine::push_global(std::string_view module, std::string_view name) {
    std::string global = fmt::format("{}.{}", module, name);
    if (global != kRebuildTensor && global != kRebuildParameter && global != kOrderedDict &&
        dtype_of_storage(global).empty())
        fail(ErrorKind::unsupported,
             "'{}': its pickle asks for '{}', which tensors do not need and which is refused for safety; "
             "save only "
             "the state dict: torch.save(model.state_dict(), path)",
             label_, shown(global));
    push(PickleValue{Kind::global, 0, std::move(global)});
}

/// ('storage', class, key, device, number of elements)
void Machine::load_storage() {
    const PickleValue id = value(pop());
    const bool sound = id.kind == Kind::tuple && id.items.size() == 5 &&
                       value(id.items[0]).text == "storage" && value(id.items[1]).kind == Kind::global &&
                       value(id.items[2]).kind == Kind::text && value(id.items[4]).kind == Kind::integer &&
                       value(id.items[4]).integer >= 0;
    const std::string_view dtype = sound ? dtype_of_storage(value(id.items[1]).text) : std::string_view();
    if (dtype.empty()) damaged("a persistent id is not a storage");
    push(PickleValue{Kind::storage, value(id.items[4]).integer, value(id.items[2]).text, dtype});
}

void Machine::call() {
    const uint32_t args_index = pop();
    const uint32_t callee_index = pop();
    const PickleValue& callee = value(callee_index);
    const PickleValue& args = value(args_index);
    if (callee.kind != Kind::global || args.kind != Kind::tuple)
        damaged("a call has no function or no arguments");
    if (callee.text == kOrderedDict && args.items.empty()) return push(PickleValue{Kind::dict});
    if (callee.text == kRebuildTensor && args.items.size() >= 6 &&
        value(args.items[0]).kind == Kind::storage && value(args.items[1]).kind == Kind::integer &&
        value(args.items[2]).kind == Kind::tuple && value(args.items[3]).kind == Kind::tuple)
        return push(PickleValue{Kind::tensor, 0, "", "", {args.items.begin(), args.items.begin() + 4}});
    if (callee.text == kRebuildParameter && !args.items.empty() && value(args.items[0]).kind == Kind::tensor)
        return push(args.items[0]);
    damaged(fmt::format("'{}' is called with the wrong arguments", callee.text));
}

/// The attributes of a state dict (its `_metadata`) are of no use here; nothing else may have any.
void Machine::set_state() {
    pop();
    if (value(top()).kind != Kind::dict)
        fail(ErrorKind::unsupported,
             "'{}': its pickle sets the state of an object, which is refused for safety", label_);
}

/// Returns false at the end.
bool Machine::step(uint8_t opcode) {
    switch (opcode) {
        case kProto: {
            const auto protocol = reader_.number<uint8_t>(kWhere);
            if (protocol < 2 || protocol > 5)
                fail(ErrorKind::unsupported, "'{}': its pickle has protocol {}, expected 2 to 5", label_,
                     protocol);
            break;
        }
        case kFrame:
            reader_.take(8, kWhere);
            break;
        case kStop:
            return false;
        case kMark:
            marks_.push_back(stack_.size());
            break;
        case kPop:
            pop();
            break;
        case kPopMark:
            pop_to_mark();
            break;
        case kNone:
            push(PickleValue{});
            break;
        case kNewtrue:
            push(PickleValue{Kind::boolean, 1});
            break;
        case kNewfalse:
            push(PickleValue{Kind::boolean, 0});
            break;
        case kBinint:
            push_integer(reader_.number<int32_t>(kWhere));
            break;
        case kBinint1:
            push_integer(reader_.number<uint8_t>(kWhere));
            break;
        case kBinint2:
            push_integer(reader_.number<uint16_t>(kWhere));
            break;
        case kLong1:
            push_long(reader_.number<uint8_t>(kWhere));
            break;
        case kLong4:
            push_long(reader_.number<uint32_t>(kWhere));
            break;
        case kBinfloat:
            reader_.take(8, kWhere), push(PickleValue{});
            break;
        case kBinunicode:
            push_text(reader_.number<uint32_t>(kWhere));
            break;
        case kShortBinunicode:
            push_text(reader_.number<uint8_t>(kWhere));
            break;
        case kBinunicode8:
            push_text(reader_.number<uint64_t>(kWhere));
            break;
        case kBinstring:
            push_text(reader_.number<uint32_t>(kWhere));
            break;
        case kShortBinstring:
            push_text(reader_.number<uint8_t>(kWhere));
            break;
        case kBinbytes:
            push_text(reader_.number<uint32_t>(kWhere));
            break;
        case kShortBinbytes:
            push_text(reader_.number<uint8_t>(kWhere));
            break;
        case kEmptyTuple:
            push(PickleValue{Kind::tuple});
            break;
        case kEmptyList:
            push(PickleValue{Kind::list});
            break;
        case kEmptyDict:
            push(PickleValue{Kind::dict});
            break;
        case kTuple1:
            make_tuple(1);
            break;
        case kTuple2:
            make_tuple(2);
            break;
        case kTuple3:
            make_tuple(3);
            break;
        case kTuple:
            push(PickleValue{Kind::tuple, 0, "", "", pop_to_mark()});
            break;
        case kList:
            push(PickleValue{Kind::list, 0, "", "", pop_to_mark()});
            break;
        case kAppend:
            add_items(Kind::list, {pop()});
            break;
        case kAppends:
            add_items(Kind::list, pop_to_mark());
            break;
        case kSetitem: {
            const uint32_t item = pop(), key = pop();
            add_items(Kind::dict, {key, item});
            break;
        }
        case kSetitems:
            add_items(Kind::dict, pop_to_mark());
            break;
        case kBinput:
            remember(reader_.number<uint8_t>(kWhere));
            break;
        case kLongBinput:
            remember(reader_.number<uint32_t>(kWhere));
            break;
        case kMemoize:
            remember(memo_.size());
            break;
        case kBinget:
            recall(reader_.number<uint8_t>(kWhere));
            break;
        case kLongBinget:
            recall(reader_.number<uint32_t>(kWhere));
            break;
        case kGlobal: {
            const std::string_view module = line();
            push_global(module, line());
            break;
        }
        case kStackGlobal: {
            const std::string name = value(pop()).text, module = value(pop()).text;
            push_global(module, name);
            break;
        }
        case kBinpersid:
            load_storage();
            break;
        case kReduce:
            call();
            break;
        case kBuild:
            set_state();
            break;
        default:
            fail(ErrorKind::unsupported, "'{}': its pickle uses opcode {:#04x}, which tensors do not need",
                 label_, opcode);
    }
    return true;
}

Pickle Machine::run() {
    if (reader_.left() > kMaxBytes)
        fail(ErrorKind::bad_file, "'{}': its pickle has {} bytes, more than the {} that are read", label_,
             reader_.left(), kMaxBytes);
    while (step(reader_.number<uint8_t>(kWhere))) {
    }
    if (!marks_.empty()) damaged("it ends inside a container");
    pickle_.root = pop();
    return std::move(pickle_);
}

}  // namespace

Pickle read_pickle(std::span<const uint8_t> bytes, const std::string& label) {
    return Machine(bytes, label).run();
}

}  // namespace powerinfer::formats
