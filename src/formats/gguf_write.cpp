#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/file_writer.h"
#include "formats/gguf.h"
#include "formats/gguf_parse.h"
#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

struct Declared {
    std::string name;
    TensorView view;  // no data
    uint64_t offset;  // in the data part
};

template <class T>
void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_text(std::string& out, std::string_view text) {
    append(out, uint64_t{text.size()});
    out += text;
}

/// Narrows a held number to its stored type. A value that does not fit is a mistake of the caller.
template <class Stored, class Held>
void append_number(std::string& out, Held held, std::string_view key) {
    const auto stored = static_cast<Stored>(held);
    if constexpr (std::is_integral_v<Stored>) {
        if (static_cast<Held>(stored) != held)
            fail(ErrorKind::bad_argument, "key '{}': the value {} does not fit its stored type of {} bytes",
                 shown(key), held, sizeof(Stored));
    }
    append(out, stored);
}

template <class Held>
void append_as(std::string& out, GgufType type, Held held, std::string_view key) {
    if constexpr (std::is_same_v<Held, uint64_t>) {
        switch (type) {
            case GgufType::u8:
                return append_number<uint8_t>(out, held, key);
            case GgufType::u16:
                return append_number<uint16_t>(out, held, key);
            case GgufType::u32:
                return append_number<uint32_t>(out, held, key);
            case GgufType::u64:
                return append_number<uint64_t>(out, held, key);
            default:
                break;
        }
    } else if constexpr (std::is_same_v<Held, int64_t>) {
        switch (type) {
            case GgufType::i8:
                return append_number<int8_t>(out, held, key);
            case GgufType::i16:
                return append_number<int16_t>(out, held, key);
            case GgufType::i32:
                return append_number<int32_t>(out, held, key);
            case GgufType::i64:
                return append_number<int64_t>(out, held, key);
            default:
                break;
        }
    } else if constexpr (std::is_same_v<Held, double>) {
        if (type == GgufType::f32) return append_number<float>(out, held, key);
        if (type == GgufType::f64) return append_number<double>(out, held, key);
    } else if constexpr (std::is_same_v<Held, bool>) {
        if (type == GgufType::boolean) return append(out, static_cast<uint8_t>(held));
    }
    fail(ErrorKind::bad_argument, "key '{}': its value cannot be stored as {}", shown(key), name(type));
}

void append_value(std::string& out, const GgufValue& value, std::string_view key) {
    append(out, static_cast<uint32_t>(value.type));
    const auto wrong_kind = [&] {
        fail(ErrorKind::bad_argument, "key '{}': its value cannot be stored as {}", shown(key),
             type_text(value));
    };
    std::visit(
        [&]<class Held>(const Held& held) {
            if constexpr (std::is_same_v<Held, std::string>) {
                if (value.type != GgufType::string) wrong_kind();
                append_text(out, held);
            } else if constexpr (std::is_arithmetic_v<Held>) {
                append_as(out, value.type, held, key);
            } else {
                if (value.type != GgufType::array) wrong_kind();
                append(out, static_cast<uint32_t>(value.element));
                append(out, uint64_t{held.size()});
                for (const auto& element : held) {
                    if constexpr (std::is_same_v<Held, std::vector<std::string>>) {
                        if (value.element != GgufType::string) wrong_kind();
                        append_text(out, element);
                    } else {
                        append_as<typename Held::value_type>(out, value.element, element, key);
                    }
                }
            }
        },
        value.data);
}

}  // namespace

struct GgufWriter::State {
    State(const std::string& path_, GgufMagic magic_, uint64_t alignment_)
        : path(path_), magic(magic_), alignment(alignment_), out(path_) {}

    std::string path;
    GgufMagic magic;
    uint64_t alignment;
    FileWriter out;
    std::vector<std::pair<std::string, GgufValue>> keys;
    std::map<std::string, size_t, std::less<>> key_index;
    std::vector<Declared> tensors;
    std::set<std::string, std::less<>> tensor_names;
    uint64_t data_bytes = 0;  // with padding
    bool header_written = false;
    size_t current = 0;    // tensor being written
    uint64_t written = 0;  // bytes of it

    void check_read_back() const;
};

GgufWriter::GgufWriter(const std::string& path, GgufMagic magic, uint64_t alignment) {
    if (!std::has_single_bit(alignment) || alignment < 8 || alignment > 1u << 20)
        fail(ErrorKind::bad_argument,
             "cannot write '{}' with alignment {}, expected a power of two from 8 to 2^20", path, alignment);
    state_ = std::make_unique<State>(path, magic, alignment);
    if (alignment != 32) {
        state_->key_index.emplace("general.alignment", 0);
        state_->keys.emplace_back("general.alignment", GgufValue::of_u32(static_cast<uint32_t>(alignment)));
    }
}

GgufWriter::~GgufWriter() = default;

void GgufWriter::set(const std::string& key, GgufValue value) {
    State& s = *state_;
    if (s.header_written)
        fail(ErrorKind::internal, "'{}': key '{}' was set after the header was written", s.path, shown(key));
    if (key.empty() || key.size() > kGgufMaxKeyBytes)
        fail(ErrorKind::bad_argument, "'{}': key '{}' has {} bytes, expected 1 to {}", s.path, shown(key),
             key.size(), kGgufMaxKeyBytes);
    if (key == "general.alignment") return;
    const auto [it, added] = s.key_index.emplace(key, s.keys.size());
    if (added)
        s.keys.emplace_back(key, std::move(value));
    else
        s.keys[it->second].second = std::move(value);
}

void GgufWriter::add_tensor(const std::string& name, DType type, const std::array<int64_t, 4>& ne) {
    State& s = *state_;
    if (s.header_written)
        fail(ErrorKind::internal, "'{}': tensor '{}' was added after the header was written", s.path,
             shown(name));
    if (name.empty() || name.size() > kGgufMaxNameBytes)
        fail(ErrorKind::bad_argument, "'{}': the tensor name '{}' has {} bytes, expected 1 to {}", s.path,
             shown(name), name.size(), kGgufMaxNameBytes);
    if (!s.tensor_names.insert(name).second)
        fail(ErrorKind::bad_argument, "'{}': tensor '{}' was added twice", s.path, shown(name));
    const bool empty_list = s.magic == GgufMagic::pwri && type == DType::I32 && ne[0] == 0 && ne[1] == 1 &&
                            ne[2] == 1 && ne[3] == 1;
    uint64_t n_bytes = static_cast<uint64_t>(info(type).bytes);
    bool fits = ne[0] % info(type).block == 0;
    for (size_t d = 0; d < 4; ++d) {
        fits = fits && (ne[d] >= 1 || empty_list) &&
               !__builtin_mul_overflow(
                   n_bytes, static_cast<uint64_t>(d == 0 ? ne[d] / info(type).block : ne[d]), &n_bytes);
    }
    if (!fits || n_bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - s.data_bytes)
        fail(ErrorKind::bad_argument, "'{}': tensor '{}' of type {} cannot have the shape {}", s.path,
             shown(name), info(type).name, shape_text(ne));
    s.tensors.push_back({name, TensorView{nullptr, type, ne}, s.data_bytes});
    s.data_bytes += (n_bytes + s.alignment - 1) / s.alignment * s.alignment;
}

void GgufWriter::begin_data() {
    State& s = *state_;
    if (s.header_written) fail(ErrorKind::internal, "'{}': the header was written twice", s.path);
    s.header_written = true;
    std::string header = s.magic == GgufMagic::pwri ? "PWRI" : "GGUF";
    append(header, uint32_t{3});
    append(header, uint64_t{s.tensors.size()});
    append(header, uint64_t{s.keys.size()});
    for (const auto& [key, value] : s.keys) {
        append_text(header, key);
        append_value(header, value, key);
    }
    for (const Declared& t : s.tensors) {
        uint32_t n_dims = 4;
        while (n_dims > 1 && t.view.ne[n_dims - 1] == 1) --n_dims;
        append_text(header, t.name);
        append(header, n_dims);
        for (uint32_t d = 0; d < n_dims; ++d) append(header, static_cast<uint64_t>(t.view.ne[d]));
        append(header, GgufParser::element_id(s.magic, t.view.type));
        append(header, t.offset);
    }
    s.out.write(header.data(), header.size());
    s.out.pad_to(s.alignment);
}

void GgufWriter::write(const void* data, size_t size) {
    State& s = *state_;
    if (!s.header_written) fail(ErrorKind::internal, "'{}': data was written before the header", s.path);
    while (s.current < s.tensors.size() && s.tensors[s.current].view.n_bytes() == 0) ++s.current;
    if (size == 0) return;
    const uint64_t wanted =
        s.current < s.tensors.size() ? s.tensors[s.current].view.n_bytes() - s.written : 0;
    if (size > wanted)
        fail(ErrorKind::internal, "'{}': {} bytes were written where tensor '{}' has {} bytes left", s.path,
             size, s.current < s.tensors.size() ? shown(s.tensors[s.current].name) : "(none)", wanted);
    s.out.write(data, size);
    s.written += size;
    if (size == wanted) {
        s.out.pad_to(s.alignment);
        ++s.current;
        s.written = 0;
    }
}

void GgufWriter::State::check_read_back() const {
    const MappedFile mapped(out.temporary_path());
    const GgufFile back = GgufFile::parse(mapped.bytes(), path);
    bool same = back.magic() == magic && back.alignment() == alignment && back.keys().size() == keys.size() &&
                back.tensors().size() == tensors.size() && back.n_bytes() == out.position();
    for (size_t i = 0; same && i < keys.size(); ++i)
        same = back.keys()[i].first == keys[i].first &&
               type_text(back.keys()[i].second) == type_text(keys[i].second);
    for (size_t i = 0; same && i < tensors.size(); ++i) {
        const GgufTensor& t = back.tensors()[i];
        same = t.name == tensors[i].name && t.view.type == tensors[i].view.type &&
               t.view.ne == tensors[i].view.ne;
    }
    if (!same)
        fail(ErrorKind::io,
             "'{}' could not be read back as it was written; the disk or its file system is faulty", path);
}

void rewrite_keys(const std::string& path, const std::vector<std::pair<std::string, GgufValue>>& values) {
    const GgufFile file = GgufFile::open(path);
    std::vector<std::pair<uint64_t, std::string>> patches;
    for (const auto& [key, value] : values) {
        const GgufValue* old = file.find(key);
        const bool fixed = value.type != GgufType::string && value.type != GgufType::array;
        if (!old || old->type != value.type || !fixed)
            fail(ErrorKind::bad_argument, "'{}': key '{}' is {} and cannot be rewritten as {}", path, shown(key),
                 old ? type_text(*old) : "missing", type_text(value));
        std::string bytes;
        append_value(bytes, value, key);
        patches.emplace_back(file.value_offset(key), bytes.substr(sizeof(uint32_t)));  // the type stays
    }
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    for (const auto& [offset, bytes] : patches) {
        out.seekp(static_cast<std::streamoff>(offset));
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        out.flush();
    }
    if (!out) fail(ErrorKind::io, "'{}' cannot be written: {}", path, std::strerror(errno));
}

void GgufWriter::finish() {
    State& s = *state_;
    if (!s.header_written) begin_data();
    while (s.current < s.tensors.size() && s.tensors[s.current].view.n_bytes() == 0) ++s.current;
    if (s.current < s.tensors.size())
        fail(ErrorKind::internal, "'{}': the file was finished after {} of {} bytes of tensor '{}'", s.path,
             s.written, s.tensors[s.current].view.n_bytes(), shown(s.tensors[s.current].name));
    s.out.flush();
    s.check_read_back();
    s.out.commit();
}

}  // namespace powerinfer::formats
