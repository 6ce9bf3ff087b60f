#include "formats/gguf_parse.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "formats/recognise.h"

namespace powerinfer::formats {
namespace {

constexpr uint64_t kHeaderBytes = 24;
constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;  // length, one byte of name, type, one byte of value
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;  // length, one byte of name, n_dims, type, offset
constexpr uint64_t kLeastAlignment = 8, kMostAlignment = 1u << 20;

/// Bytes that one value takes in the file at least; 0 for types outside the table and for arrays.
uint64_t stored_bytes(uint32_t type) {
    switch (static_cast<GgufType>(type)) {
        case GgufType::u8:
        case GgufType::i8:
        case GgufType::boolean:
            return 1;
        case GgufType::u16:
        case GgufType::i16:
            return 2;
        case GgufType::u32:
        case GgufType::i32:
        case GgufType::f32:
            return 4;
        case GgufType::u64:
        case GgufType::i64:
        case GgufType::f64:
        case GgufType::string:
            return 8;
        case GgufType::array:
            return 0;
    }
    return 0;
}

/// What one element of an array takes in memory.
uint64_t held_bytes(GgufType type) {
    return type == GgufType::string ? sizeof(std::string) : type == GgufType::boolean ? 1 : 8;
}

std::string dims_text(const GgufTensor& t) {
    return fmt::format("{} {}", info(t.view.type).name, shape_text(t.view.ne));
}

}  // namespace

std::optional<DType> GgufParser::element_type(GgufMagic magic, uint32_t id) {
    // PowerInfer files number their integer types as GGML did before IQ2_XXS, IQ2_XS and IQ3_XXS took these
    // ids.
    if (magic == GgufMagic::pwri && id >= 16 && id <= 18) {
        constexpr DType kOld[] = {DType::I8, DType::I16, DType::I32};
        return kOld[id - 16];
    }
    return find_dtype(id);
}

uint32_t GgufParser::element_id(GgufMagic magic, DType type) {
    if (magic == GgufMagic::pwri) {
        if (type == DType::I8) return 16;
        if (type == DType::I16) return 17;
        if (type == DType::I32) return 18;
    }
    return static_cast<uint32_t>(type);
}

GgufFile GgufParser::run() {
    file_.path_ = label_;
    file_.image_bytes_ = image_.size();
    read_header();
    read_keys();
    read_alignment();
    read_tensors();
    place_tensors();
    check_overlap();
    return std::move(file_);
}

void GgufParser::charge(uint64_t bytes, std::string_view where) {
    if (bytes > kGgufMaxMetadataBytes - charged_)
        fail(ErrorKind::bad_file, "'{}': {} brings the metadata to more than the {} MiB that are read",
             label_, where, kGgufMaxMetadataBytes >> 20);
    charged_ += bytes;
}

void GgufParser::read_header() {
    if (image_.empty()) fail(ErrorKind::bad_file, "'{}' is empty, expected a GGUF file", label_);
    if (image_.size() < 4)
        fail(ErrorKind::bad_file, "'{}' is {} bytes long, too short for a GGUF file", label_, image_.size());
    const std::string_view magic = reader_.text(4, "the magic");
    if (magic == "PWRI")
        file_.magic_ = GgufMagic::pwri;
    else if (magic != "GGUF")
        fail(ErrorKind::bad_file, "'{}' is not a GGUF file: {}", label_, describe_start(image_));
    if (image_.size() < kHeaderBytes)
        fail(ErrorKind::bad_file, "'{}' is {} bytes long, too short for the {} bytes of a GGUF header",
             label_, image_.size(), kHeaderBytes);

    const auto version = reader_.number<uint32_t>("the version");
    const uint32_t swapped =
        version >> 24 | (version >> 8 & 0xFF00u) | (version << 8 & 0xFF0000u) | version << 24;
    if (version > 3 && swapped >= 1 && swapped <= 3)
        fail(ErrorKind::unsupported,
             "'{}' is a big-endian file (its version reads {:#010x}); only little-endian files are read",
             label_, version);
    if (version != 2 && version != 3)
        fail(ErrorKind::unsupported, "'{}' has GGUF version {}, but only versions 2 and 3 are read", label_,
             version);
    file_.version_ = version;

    n_tensors_ = reader_.number<uint64_t>("the number of tensors");
    n_keys_ = reader_.number<uint64_t>("the number of keys");
    const auto bound = [&](uint64_t n, uint64_t least_bytes, std::string_view what) {
        if (n > reader_.left() / least_bytes)
            fail(ErrorKind::bad_file,
                 "'{}': the header counts {} {}, but the {} bytes that follow hold at most {}", label_, n,
                 what, reader_.left(), reader_.left() / least_bytes);
    };
    bound(n_keys_, kLeastKeyBytes, "keys");
    bound(n_tensors_, kLeastTensorBytes, "tensors");
}

void GgufParser::read_keys() {
    for (uint64_t i = 0; i < n_keys_; ++i) {
        const std::string number = fmt::format("the name of key {} of {}", i + 1, n_keys_);
        const auto length = reader_.number<uint64_t>(number);
        if (length == 0) fail(ErrorKind::bad_file, "'{}': {} is empty", label_, number);
        if (length > kGgufMaxKeyBytes)
            fail(ErrorKind::bad_file, "'{}': {} is {} bytes long, more than the {} allowed", label_, number,
                 length, kGgufMaxKeyBytes);
        const std::string key(reader_.text(length, number));
        const std::string where = fmt::format("key '{}'", shown(key));
        // A key is held twice (list and index), with the bookkeeping of both.
        charge(2 * key.size() + 256, where);
        if (file_.has(key)) fail(ErrorKind::bad_file, "'{}': {} occurs twice", label_, where);
        file_.value_offsets_.push_back(reader_.position() + sizeof(uint32_t));  // after the type
        GgufValue value = read_value(where);
        file_.key_index_.emplace(key, file_.keys_.size());
        file_.keys_.emplace_back(key, std::move(value));
    }
}

GgufValue GgufParser::read_value(const std::string& where) {
    const auto id = reader_.number<uint32_t>(where);
    if (id > static_cast<uint32_t>(GgufType::f64))
        fail(ErrorKind::bad_file, "'{}': {} has value type {}, expected 0 to 12", label_, where, id);
    GgufValue value;
    value.type = static_cast<GgufType>(id);
    switch (value.type) {
        case GgufType::u8:
            value.data = uint64_t{reader_.number<uint8_t>(where)};
            break;
        case GgufType::u16:
            value.data = uint64_t{reader_.number<uint16_t>(where)};
            break;
        case GgufType::u32:
            value.data = uint64_t{reader_.number<uint32_t>(where)};
            break;
        case GgufType::u64:
            value.data = reader_.number<uint64_t>(where);
            break;
        case GgufType::i8:
            value.data = int64_t{reader_.number<int8_t>(where)};
            break;
        case GgufType::i16:
            value.data = int64_t{reader_.number<int16_t>(where)};
            break;
        case GgufType::i32:
            value.data = int64_t{reader_.number<int32_t>(where)};
            break;
        case GgufType::i64:
            value.data = reader_.number<int64_t>(where);
            break;
        case GgufType::f32:
            value.data = double{reader_.number<float>(where)};
            break;
        case GgufType::f64:
            value.data = reader_.number<double>(where);
            break;
        case GgufType::boolean: {
            const auto byte = reader_.number<uint8_t>(where);
            if (byte > 1)
                fail(ErrorKind::bad_file, "'{}': {} is a bool with the value {}, expected 0 or 1", label_,
                     where, byte);
            value.data = byte == 1;
            break;
        }
        case GgufType::string: {
            const auto size = reader_.number<uint64_t>(where);
            charge(std::min<uint64_t>(size, reader_.left()), where);
            value.data = std::string(reader_.text(size, where));
            break;
        }
        case GgufType::array:
            read_array(value, where);
            break;
    }
    return value;
}

void GgufParser::read_array(GgufValue& value, const std::string& where) {
    const auto id = reader_.number<uint32_t>(where);
    if (id == static_cast<uint32_t>(GgufType::array))
        fail(ErrorKind::unsupported, "'{}': {} is an array of arrays, which is not supported", label_, where);
    const uint64_t least = stored_bytes(id);
    if (least == 0)
        fail(ErrorKind::bad_file, "'{}': {} is an array of element type {}, expected 0 to 12", label_, where,
             id);
    value.element = static_cast<GgufType>(id);
    const auto n = reader_.number<uint64_t>(where);
    if (n > reader_.left() / least)
        fail(ErrorKind::bad_file,
             "'{}': {} is an array of {} elements of type {}, but the {} bytes that are left hold at most {}",
             label_, where, n, name(value.element), reader_.left(), reader_.left() / least);
    charge(n * held_bytes(value.element), where);

    const auto numbers = [&]<class Stored, class Held>(std::type_identity<Stored>, std::vector<Held> held) {
        const auto bytes = reader_.take(n * sizeof(Stored), where);
        held.resize(n);
        for (size_t i = 0; i < n; ++i) {
            Stored stored;
            std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
            held[i] = stored;
        }
        value.data = std::move(held);
    };
    using U = std::vector<uint64_t>;
    using I = std::vector<int64_t>;
    using D = std::vector<double>;
    switch (value.element) {
        case GgufType::u8:
            numbers(std::type_identity<uint8_t>{}, U{});
            break;
        case GgufType::u16:
            numbers(std::type_identity<uint16_t>{}, U{});
            break;
        case GgufType::u32:
            numbers(std::type_identity<uint32_t>{}, U{});
            break;
        case GgufType::u64:
            numbers(std::type_identity<uint64_t>{}, U{});
            break;
        case GgufType::i8:
            numbers(std::type_identity<int8_t>{}, I{});
            break;
        case GgufType::i16:
            numbers(std::type_identity<int16_t>{}, I{});
            break;
        case GgufType::i32:
            numbers(std::type_identity<int32_t>{}, I{});
            break;
        case GgufType::i64:
            numbers(std::type_identity<int64_t>{}, I{});
            break;
        case GgufType::f32:
            numbers(std::type_identity<float>{}, D{});
            break;
        case GgufType::f64:
            numbers(std::type_identity<double>{}, D{});
            break;
        case GgufType::boolean: {
            std::vector<bool> held(n);
            const auto bytes = reader_.take(n, where);
            for (size_t i = 0; i < n; ++i) {
                if (bytes[i] > 1)
                    fail(ErrorKind::bad_file, "'{}': {} holds a bool with the value {}, expected 0 or 1",
                         label_, where, bytes[i]);
                held[i] = bytes[i] == 1;
            }
            value.data = std::move(held);
            break;
        }
        case GgufType::string: {
            std::vector<std::string> held;
            held.reserve(n);
            for (uint64_t i = 0; i < n; ++i) {
                const auto size = reader_.number<uint64_t>(where);
                charge(std::min<uint64_t>(size, reader_.left()), where);
                held.emplace_back(reader_.text(size, where));
            }
            value.data = std::move(held);
            break;
        }
        case GgufType::array:
            break;  // refused above
    }
}

void GgufParser::read_alignment() {
    const GgufValue* value = file_.find("general.alignment");
    if (value == nullptr) return;
    if (value->type != GgufType::u32)
        fail(ErrorKind::bad_file, "'{}': key 'general.alignment' has type {}, expected u32", label_,
             type_text(*value));
    const uint64_t alignment = std::get<uint64_t>(value->data);
    if (!std::has_single_bit(alignment) || alignment < kLeastAlignment || alignment > kMostAlignment)
        fail(ErrorKind::bad_file,
             "'{}': key 'general.alignment' is {}, expected a power of two from {} to {}", label_, alignment,
             kLeastAlignment, kMostAlignment);
    file_.alignment_ = alignment;
}

void GgufParser::read_tensors() {
    for (uint64_t i = 0; i < n_tensors_; ++i) {
        const std::string number = fmt::format("the name of tensor {} of {}", i + 1, n_tensors_);
        const auto length = reader_.number<uint64_t>(number);
        if (length == 0) fail(ErrorKind::bad_file, "'{}': {} is empty", label_, number);
        GgufTensor tensor;
        if (length > kGgufMaxNameBytes) {
            const std::string_view start = reader_.text(std::min<uint64_t>(length, reader_.left()), number);
            fail(ErrorKind::bad_file, "'{}': {} ('{}...') is {} bytes long, more than the {} allowed", label_,
                 number, shown(start.substr(0, 64)), length, kGgufMaxNameBytes);
        }
        tensor.name = std::string(reader_.text(length, number));
        const std::string where = fmt::format("tensor '{}'", shown(tensor.name));
        charge(2 * tensor.name.size() + 256, where);
        if (file_.find_tensor(tensor.name) != nullptr)
            fail(ErrorKind::bad_file, "'{}': {} occurs twice", label_, where);
        read_shape(tensor, where);
        file_.tensor_index_.emplace(tensor.name, file_.tensors_.size());
        file_.tensors_.push_back(std::move(tensor));
    }
}

void GgufParser::read_shape(GgufTensor& tensor, const std::string& where) {
    const auto n_dims = reader_.number<uint32_t>(where);
    if (n_dims > 4)
        fail(ErrorKind::bad_file, "'{}': {} has {} dimensions, expected at most 4", label_, where, n_dims);
    auto& ne = tensor.view.ne;
    ne = {1, 1, 1, 1};
    uint64_t n_elements = 1;
    for (uint32_t d = 0; d < n_dims; ++d) {
        const auto dim = reader_.number<uint64_t>(where);
        constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
        if (dim > kMost || __builtin_mul_overflow(n_elements, dim, &n_elements) || n_elements > kMost)
            fail(ErrorKind::bad_file,
                 "'{}': {} has dimension {} = {}, so its number of elements exceeds 2^63 - 1", label_, where,
                 d, dim);
        ne[d] = static_cast<int64_t>(dim);
    }
    const auto id = reader_.number<uint32_t>(where);
    const auto type = element_type(file_.magic_, id);
    if (!type)
        fail(ErrorKind::unsupported, "'{}': {} has element type {} ({}), which this engine does not read",
             label_, where, id, dtype_id_name(id));
    tensor.view.type = *type;
    for (uint32_t d = 0; d < n_dims; ++d) {
        // A GPU index keeps an empty list for a layer that has nothing on the GPU.
        const bool empty_list = file_.magic_ == GgufMagic::pwri && n_dims == 1 && *type == DType::I32;
        if (ne[d] == 0 && !empty_list)
            fail(ErrorKind::bad_file, "'{}': {} has dimension {} = 0, expected at least 1", label_, where, d);
    }
    if (ne[0] % info(*type).block != 0)
        fail(ErrorKind::bad_file,
             "'{}': {} has rows of {} elements, expected a multiple of the {} of a {} block", label_, where,
             ne[0], info(*type).block, info(*type).name);
    uint64_t n_bytes = 0;
    if (__builtin_mul_overflow(n_elements / static_cast<uint64_t>(info(*type).block),
                               static_cast<uint64_t>(info(*type).bytes), &n_bytes))
        fail(ErrorKind::bad_file, "'{}': {} ({}) takes more than 2^64 bytes", label_, where,
             dims_text(tensor));
    tensor.offset = reader_.number<uint64_t>(where);
    if (tensor.offset % file_.alignment_ != 0)
        fail(ErrorKind::bad_file, "'{}': {} has offset {}, expected a multiple of the alignment {}", label_,
             where, tensor.offset, file_.alignment_);
}

void GgufParser::place_tensors() {
    const uint64_t mask = file_.alignment_ - 1;
    const uint64_t data_start = (reader_.position() + mask) & ~mask;  // position < 2^63, alignment <= 2^20
    const uint64_t data_bytes = image_.size() > data_start ? image_.size() - data_start : 0;
    for (GgufTensor& t : file_.tensors_) {
        const uint64_t n_bytes = t.view.n_bytes();
        if (n_bytes == 0) {  // an empty list lies nowhere
            t.offset = image_.size();
            t.view.data = image_.data();
            continue;
        }
        const uint64_t available = t.offset < data_bytes ? data_bytes - t.offset : 0;
        if (n_bytes > available)
            fail(ErrorKind::bad_file,
                 "'{}': tensor '{}' ({}) needs {} bytes at offset {} of the data part, but only {} are "
                 "there; the "
                 "file is cut short or damaged",
                 label_, shown(t.name), dims_text(t), n_bytes, t.offset, available);
        t.offset += data_start;
        t.view.data = image_.data() + t.offset;
    }
}

void GgufParser::check_overlap() const {
    std::vector<const GgufTensor*> order;
    for (const GgufTensor& t : file_.tensors_) {
        if (t.view.n_bytes() > 0) order.push_back(&t);
    }
    std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); ++i) {
        const GgufTensor& a = *order[i - 1];
        const GgufTensor& b = *order[i];
        if (a.view.n_bytes() > b.offset - a.offset)
            fail(ErrorKind::bad_file,
                 "'{}': tensor '{}' ({}) needs {} bytes, but tensor '{}' starts {} bytes after it; the "
                 "types, shapes "
                 "or offsets are damaged",
                 label_, shown(a.name), dims_text(a), a.view.n_bytes(), shown(b.name), b.offset - a.offset);
    }
}

}  // namespace powerinfer::formats
